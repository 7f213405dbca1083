"""Records that come folded are records that come as they are: two shards take the same bundles and do the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.driven import Driven

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import LateBy, LateSessions, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import Every
from fanlight.model.windows.session import Session
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.inputs import Signal
from fanlight.operators.preaggregator import PreAggregated
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregator import preaggregator_of
from fanlight.state.memory import MemoryStore
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.changes import changelogs
from fanlight.testing.strategies.kinds import EVENT, KINDS, Kind
from fanlight.testing.strategies.scripts import cut
from fanlight.testing.strategies.specs import AGGREGATES, among, common_triggers, lasting_triggers, semantics

from .laws import SCHEMA, patient

PREAGGREGATED = {name: KINDS[name] for name in ("plain", "cumulating", "session", "session_own_gaps")}
ROUNDED = (agg.variance("v"), agg.stddev("v"))
EXACT = [one for one in AGGREGATES if not one.needs_messages and not isinstance(one, tuple(map(type, ROUNDED)))]
"""Quarters and whole numbers add up to the same in any order."""

often = settings(patient, max_examples=3 * settings().max_examples)
"""Few bundles have records that just meet each other or the watermark."""


class Shard:
    """A shard that takes the records of a step as they are, or folded as far as they may be."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema = SCHEMA) -> None:
        self.plan = Plan.bind(spec, schema)
        self.shard = Driven(self.plan, MemoryStore())
        self.signal = Signal()

    def step(self, step: Step, tasks: list[tuple[Record, ...]] | None = None, ahead: int = 0) -> dict[str, Any]:
        """What a step gives. With `tasks` each of these folds its part, told a watermark that may be `ahead`."""
        self.signal = replace(self.signal, said=False)
        if step.signal is not None or step.finish:
            on = self.signal.on if step.signal is None else step.signal
            self.signal = Signal(on, step.finish, said=step.signal is True)
        if step.end:
            return self.outcome(self.shard.end(self.signal))
        folded: PreAggregated | None = None
        rows = batch_of(step.records, self.plan.schema)
        if tasks is not None:
            horizon = min(self.shard.watermark + ahead, END_OF_TIME)
            rows, folded = self.fold(tasks, START_OF_TIME if self.shard.watermark == START_OF_TIME else horizon)
        self.shard.books.receive(len(rows) + (0 if folded is None else folded.records))
        watermark = START_OF_TIME if step.watermark is None else step.watermark
        clock = START_OF_TIME if step.clock is None else step.clock
        bundle = self.bundle(rows) if len(rows) else None
        return self.outcome(self.shard.step(bundle, watermark, clock, self.signal, preaggregated=folded))

    def fold(self, tasks: list[tuple[Record, ...]], horizon: Timestamp) -> tuple[pa.RecordBatch, PreAggregated | None]:
        """What the tasks send: records that may be dead letters, and the others folded."""
        preaggregator = preaggregator_of(self.plan)
        assert preaggregator is not None
        rows, chunks = [batch_of((), self.plan.schema)], []
        for records in tasks:
            batch = batch_of(records, self.plan.schema)
            times, slots, doubtful = preaggregator.divide(batch, horizon)
            sure = np.ones(len(batch), np.bool_) if doubtful is None else ~doubtful
            rows.append(batch.filter(pa.array(~sure)))
            chunks.append(preaggregator.aggregate(batch.filter(pa.array(sure)), times[sure], slots[sure])[0])
        folded = preaggregator.read(chunks)
        assert folded is None or preaggregator.expired(folded, self.shard.watermark) == 0
        return pa.concat_batches(rows), folded

    def bundle(self, rows: pa.RecordBatch) -> Bundle:
        shard = self.shard
        judged = shard.watermark
        batch, times = TimeReader.of(shard.plan.spec).read(rows, shard.books, judged, 0, shard.arrived)
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


def batch_of(records: tuple[Record, ...], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(record) for record in records], schema=schema)


def may_fold(answers: Semantics) -> Semantics:
    return replace(answers, late_by=LateBy.WINDOW, holds=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PREAGGREGATED.values(), ids=PREAGGREGATED)
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
    spec, steps = data.draw(drawn.filter(lambda pipeline: preaggregator_of(Plan.bind(pipeline[0], SCHEMA)) is not None))
    plain, folded = Shard(spec), Shard(spec)
    for place, step in enumerate(steps):
        tasks, ahead = data.draw(st.just([step.records]) | cut(step.records)), data.draw(st.sampled_from([0, 0, 0, 5]))
        right, ours = plain.step(step), folded.step(step, tasks, ahead)
        assert same(ours, right), f"step {place}\nfolded: {ours}\nplain:  {right}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "cumulating"])
@patient
@given(data=st.data())
def test_changes_are_folded_too(kind: str, data: st.DataObject) -> None:
    """Aggregates that take deletes back directly; a record whose operation is none is not folded."""
    direct = st.lists(
        st.sampled_from([agg.count(), agg.count("f"), agg.sum("v"), agg.avg("v")]), min_size=1, max_size=3
    )
    drawn = KINDS[kind].pipelines(
        window=KINDS[kind].windows(EVENT),
        aggregates=direct.map(lambda chosen: tuple((f"a{place}", one) for place, one in enumerate(chosen))),
        trigger=among(common_triggers(), lasting_triggers()),
        accumulation=st.sampled_from([Accumulation.ACCUMULATING, Accumulation.RETRACTING]),
        firing_time=FiringTime.END,
        semantics=semantics().map(may_fold),
        watermark=Explicit(),
        changes=Changes("op", consistent=True),
    )
    schema = SCHEMA.append(pa.field("op", pa.string()))
    spec, steps = data.draw(drawn.filter(lambda pipeline: preaggregator_of(Plan.bind(pipeline[0], schema)) is not None))
    plain, folded = Shard(spec, schema), Shard(spec, schema)
    for place, step in enumerate(data.draw(changelogs(steps))):
        strange = {**step.records[0], "op": "x"} if step.records else None
        one = step if strange is None else replace(step, records=(*step.records, strange))
        right, ours = plain.step(one), folded.step(one, data.draw(st.just([one.records]) | cut(one.records)))
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
    preaggregator = preaggregator_of(Plan.bind(session(late), SCHEMA))
    assert preaggregator is not None
    batch = batch_of((record(5), record(6)))
    assert preaggregator.divide(batch, 14)[2] is None
    doubtful = preaggregator.divide(batch, 15)[2]
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
    preaggregator = preaggregator_of(plan)
    assert preaggregator is not None
    batch = batch_of((record(1), record(9), record(30, "b")))
    times, slots, doubtful = preaggregator.divide(batch, 0)
    assert doubtful is None
    folded = preaggregator.read([preaggregator.aggregate(batch, times, slots)[0]])
    assert folded is not None
    assert preaggregator.expired(folded, 12) == dead
    assert preaggregator.expired(folded, 19) == 2
    assert preaggregator.expired(folded, 10) == 0


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
    assert preaggregator_of(Plan.bind(spec, SCHEMA)) is not None
    assert preaggregator_of(Plan.bind(replace(spec, **changed), SCHEMA)) is None
