"""Records that come folded are records that come as they are: two shards take the same bundles and do the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.duration import Duration
from fanlight.model.semantics import LateBy, LateSessions, Semantics
from fanlight.model.sessions import Session
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.triggers import Every
from fanlight.model.watermarks import Explicit
from fanlight.model.windows import TimeDomain
from fanlight.operators.folded import Folded
from fanlight.operators.folding import folding_of
from fanlight.operators.intake import with_times
from fanlight.operators.panes import Signal
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.state.memory import MemoryStore
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies import AGGREGATES, among, common_triggers, lasting_triggers, semantics
from fanlight.testing.strategies_kinds import EVENT, KINDS, Kind
from fanlight.testing.strategies_scripts import cut

from .laws import SCHEMA, patient

FOLDED = {name: KINDS[name] for name in ("plain", "cumulating", "session", "session_own_gaps")}
ROUNDED = (agg.variance("v"), agg.stddev("v"))
EXACT = [one for one in AGGREGATES if not one.needs_messages and not isinstance(one, tuple(map(type, ROUNDED)))]
"""Quarters and whole numbers add up to the same in any order."""

often = settings(patient, max_examples=3 * settings().max_examples)
"""Few bundles have records that just meet each other or the watermark."""


class Shard:
    """A shard that takes the records of a step as they are, or folded as far as they may be."""

    def __init__(self, spec: WindowSpec) -> None:
        self.plan = Plan.bind(spec, SCHEMA)
        self.shard = ShardOperator(self.plan, MemoryStore())
        self.signal = Signal()

    def step(self, step: Step, tasks: list[tuple[Record, ...]] | None = None, ahead: int = 0) -> dict[str, Any]:
        """What a step gives. With `tasks` each of these folds its part, told a watermark that may be `ahead`."""
        self.signal = replace(self.signal, said=False)
        if step.signal is not None or step.finish:
            on = self.signal.on if step.signal is None else step.signal
            self.signal = Signal(on, step.finish, said=step.signal is True)
        if step.end:
            return self.outcome(self.shard.end(self.signal))
        folded: Folded | None = None
        rows = batch_of(step.records)
        if tasks is not None:
            horizon = min(self.shard.watermark + ahead, END_OF_TIME)
            rows, folded = self.fold(tasks, START_OF_TIME if self.shard.watermark == START_OF_TIME else horizon)
        self.shard.accounting.received += len(rows) + (0 if folded is None else folded.records)
        watermark = START_OF_TIME if step.watermark is None else step.watermark
        clock = START_OF_TIME if step.clock is None else step.clock
        bundle = self.bundle(rows) if len(rows) else None
        return self.outcome(self.shard.step(bundle, watermark, clock, self.signal, folded=folded))

    def fold(self, tasks: list[tuple[Record, ...]], horizon: Timestamp) -> tuple[pa.RecordBatch, Folded | None]:
        """What the tasks send: records that may be dead letters, and the others folded."""
        folding = folding_of(self.plan)
        assert folding is not None
        rows, chunks = [batch_of(())], []
        for records in tasks:
            batch = batch_of(records)
            times, slots, doubtful = folding.divide(batch, horizon)
            sure = np.ones(len(batch), np.bool_) if doubtful is None else ~doubtful
            rows.append(batch.filter(pa.array(~sure)))
            chunks.append(folding.fold(batch.filter(pa.array(sure)), times[sure], slots[sure])[0])
        folded = folding.read(chunks)
        assert folded is None or folding.expired(folded, self.shard.watermark) == 0
        return pa.concat_batches(rows), folded

    def bundle(self, rows: pa.RecordBatch) -> Bundle:
        shard = self.shard
        judged = shard.watermark
        batch, times = with_times(shard.plan, rows, shard.letters, shard.accounting, judged, 0, shard.arrived)
        return Bundle(batch, times, np.array([judged]))

    def outcome(self, firings: list[pa.RecordBatch]) -> dict[str, Any]:
        """Everything that can be seen of a step."""
        assert self.shard.accounting.adds_up
        return {
            "firings": pa.Table.from_batches(firings, schema=self.plan.result).to_pylist(),
            "letters": sorted(str(letter) for letter in self.shard.letters.take().to_pylist()),
            "accounting": self.shard.accounting.as_dict(),
            "content": [
                (phase, held.windows.tolist(), held.rows.tolist(), [column.to_pylist() for column in held.values])
                for phase, held in self.shard.content()
            ],
        }


def batch_of(records: tuple[Record, ...]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(record) for record in records], schema=SCHEMA)


def may_fold(answers: Semantics) -> Semantics:
    return replace(answers, late_by=LateBy.WINDOW, holds=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FOLDED.values(), ids=FOLDED)
@often
@given(data=st.data())
def test_nothing_tells_folded_records_from_others(kind: Kind, data: st.DataObject) -> None:
    """Several tasks fold their parts of each bundle by a watermark that the shard has not passed."""
    some = st.lists(st.sampled_from(EXACT), min_size=1, max_size=4)
    drawn = kind.pipelines(
        window=kind.windows(EVENT),
        keys=st.sampled_from([("k",), ()]),
        aggregates=some.map(lambda chosen: tuple((f"a{place}", one) for place, one in enumerate(chosen))),
        trigger=among(common_triggers(), lasting_triggers()),
        semantics=semantics().map(may_fold),
        watermark=Explicit(),
    )
    spec, steps = data.draw(drawn.filter(lambda pipeline: folding_of(Plan.bind(pipeline[0], SCHEMA)) is not None))
    plain, folded = Shard(spec), Shard(spec)
    for place, step in enumerate(steps):
        tasks, ahead = data.draw(st.just([step.records]) | cut(step.records)), data.draw(st.sampled_from([0, 0, 0, 5]))
        right, ours = plain.step(step), folded.step(step, tasks, ahead)
        assert same(ours, right), f"step {place}\nfolded: {ours}\nplain:  {right}"


def session(late: LateSessions, *aggregates: Aggregate) -> WindowSpec:
    return WindowSpec(
        time="ts",
        window=Session(Duration(10)),
        aggregates=tuple((str(place), one) for place, one in enumerate(aggregates or (agg.count(), agg.sum("v")))),
        keys=("k",),
        semantics=Semantics(late_sessions=late),
        watermark=Explicit(),
    )


def record(time: int, key: str = "a") -> Record:
    return {"ts": time, "k": key, "v": time, "f": None, "b": None}


@pytest.mark.parametrize(("late", "counts", "letters"), [(LateSessions.MERGED, [3], 0), (LateSessions.OWN, [2], 1)])
def test_a_late_record_is_judged_with_what_came_folded(late: LateSessions, counts: list[int], letters: int) -> None:
    """At 20 the record of 5 alone has expired (at 15); with those of 14 and 22, which came folded, it ends at 32.

    5        14  15      22  24        32
    [--------)---)                            the late one
             [-------)---)
                     [-------------)          folded
    """
    shard = Shard(session(late))
    shard.step(Step(watermark=20))
    given_back = shard.step(Step(), [(record(5),), (record(22), record(14))])
    assert len(given_back["letters"]) == letters
    ended = shard.step(Step(end=True))
    assert [row["0"] for row in ended["firings"]] == counts


@pytest.mark.parametrize("late", LateSessions)
def test_a_record_is_not_sure_once_a_watermark_is_where_its_interval_ends(late: LateSessions) -> None:
    """The interval of 5 ends at 15: at 14 nothing has expired it, at 15 it may be a dead letter."""
    folding = folding_of(Plan.bind(session(late), SCHEMA))
    assert folding is not None
    batch = batch_of((record(5), record(6)))
    assert folding.divide(batch, 14)[2] is None
    doubtful = folding.divide(batch, 15)[2]
    assert doubtful is not None
    assert doubtful.tolist() == [True, False]


def test_a_period_counts_from_the_first_record_that_came_folded() -> None:
    """Of 3 and 12 the first is remembered, so a period of 10 is over at 11."""
    shard = Shard(replace(session(LateSessions.MERGED), trigger=Every(Duration(10), TimeDomain.EVENT)))
    fired = shard.step(Step(watermark=11), [(record(12), record(3))])
    assert [row["0"] for row in fired["firings"]] == [2]


@pytest.mark.parametrize(("touching", "counts"), [(False, [1, 1]), (True, [2])])
def test_records_a_gap_apart_are_folded_together_only_where_sessions_that_meet_are_one(
    touching: bool, counts: list[int]
) -> None:
    spec = replace(session(LateSessions.MERGED), window=Session(Duration(10), touching=touching))
    for tasks in ([(record(1), record(11))], [(record(1),), (record(11),)]):
        shard = Shard(spec)
        shard.step(Step(), tasks)
        assert [row["0"] for row in shard.step(Step(end=True))["firings"]] == counts


def test_parts_of_a_session_that_several_tasks_fold_are_one() -> None:
    shard = Shard(session(LateSessions.MERGED))
    shard.step(Step(), [(record(0), record(18)), (record(9), record(1, "b")), (record(40),)])
    ended = shard.step(Step(end=True))
    assert [(row["k"], row["0"], row["1"]) for row in ended["firings"]] == [("b", 1, 1), ("a", 3, 27), ("a", 1, 40)]


@pytest.mark.parametrize(("late", "dead"), [(LateSessions.MERGED, 0), (LateSessions.OWN, 2)])
def test_rows_that_should_not_have_been_folded_are_found(late: LateSessions, dead: int) -> None:
    """Folded by a watermark of 0, read by a shard at 12: the record of 1 has expired, and its session has not."""
    plan = Plan.bind(session(late), SCHEMA)
    folding = folding_of(plan)
    assert folding is not None
    batch = batch_of((record(1), record(9), record(30, "b")))
    times, slots, doubtful = folding.divide(batch, 0)
    assert doubtful is None
    folded = folding.read([folding.fold(batch, times, slots)[0]])
    assert folded is not None
    assert folding.expired(folded, 12) == dead
    assert folding.expired(folded, 19) == 2
    assert folding.expired(folded, 10) == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"window": Session(Duration(10), max_count=3)},
        {"window": Session(gap_from="v"), "semantics": Semantics(late_sessions=LateSessions.OWN)},
        {"semantics": Semantics(late_by=LateBy.RECORD)},
        {"semantics": Semantics(holds=True)},
        {"aggregates": (("all", agg.list("v")),)},
    ],
    ids=["limits", "own gaps judged alone", "late by record", "holds", "messages"],
)
def test_records_travel_as_they_are_where_one_of_them_decides(changed: dict[str, Any]) -> None:
    spec = session(LateSessions.MERGED)
    assert folding_of(Plan.bind(spec, SCHEMA)) is not None
    assert folding_of(Plan.bind(replace(spec, **changed), SCHEMA)) is None
