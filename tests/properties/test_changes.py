"""Changes as input against the oracle, and against the rows that are left when all changes are made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.operators.sort.sorting import Sorting

from fanlight.model.changes import Changes
from fanlight.model.firing import Accumulation, FiringTime, Op
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.reason import Reason
from fanlight.model.sort import SortSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing import oracle
from fanlight.testing.oracle.changes import operation, without_operation
from fanlight.testing.oracle.normalize import NormalizeOracle
from fanlight.testing.oracle.sort import SortOracle, WaitingRows
from fanlight.testing.player import play
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.changes import changelogs, net
from fanlight.testing.strategies.kinds import KINDS
from fanlight.testing.strategies.scripts import recut
from fanlight.testing.strategies.specs import Pipeline

from .laws import SCHEMA, assert_same, assert_same_end, patient

pytestmark = pytest.mark.slow

many = settings(patient, max_examples={20: 20, 60: 500}.get(settings().max_examples, settings().max_examples))
"""What is promised of changes is tried more often than other laws are."""

ROWS = pa.schema({"ts": pa.int64(), "id": pa.int64(), "v": pa.string(), "op": pa.string()})
WORDS = (("c", "+I"), ("u", "+U"), ("d", "-D"), ("-D", "+I"))
"""Debezium's letters; a code that is said to mean another still means itself."""

times = st.integers(0, 12)
operations = st.sampled_from(["+I", "+I", "+U", "-U", "-D", "c", "u", "d", "x", None])
records = st.fixed_dictionaries(
    {
        "ts": times | times | st.none(),
        "id": st.none() | st.integers(0, 2),
        "v": st.sampled_from(["", "a", "b"]),
        "op": operations,
    }
)
bundles = st.lists(records, max_size=10).map(tuple)
steps = st.lists(st.builds(Step, bundles, st.none() | times), max_size=8).map(lambda some: [*some, Step(end=True)])
changes = st.sampled_from([Changes("op", (), WORDS), Changes("op", ("id",), WORDS), Changes("op", ("id", "v"))])
strategies = st.just(Explicit()) | st.builds(BoundedDisorder, st.integers(0, 4).map(Duration), st.booleans())

ALIGNED = pytest.mark.parametrize("kind", ["plain", "cumulating", "calendar"])
"""Windows that all keys share. (Those over positions have other windows for a delete than for its row.)"""
CHANGES = Changes("op", consistent=True)
TABLE = SCHEMA.append(pa.field("op", pa.string()))
OF_CHANGES = {
    "accumulation": st.sampled_from([Accumulation.ACCUMULATING, Accumulation.RETRACTING]),
    "firing_time": FiringTime.END,
    "changes": CHANGES,
}


def pipelines(kind: str, **fields: Any) -> SearchStrategy[Pipeline]:
    """A spec over changes, and a consistent changelog for it."""
    windows = KINDS[kind].windows([TimeDomain.EVENT])
    drawn = KINDS[kind].pipelines(**{**OF_CHANGES, "window": windows, **fields})
    return drawn.flatmap(lambda one: st.tuples(st.just(one[0]), changelogs(one[1])))


def sorted_by(
    spec: SortSpec | NormalizeSpec, script: Sequence[Step], restore_before: Collection[int] = ()
) -> list[Any]:
    """Rows, letters and counts of each step, by the engine."""
    sorting, found = Sorting(spec, ROWS), []
    for place, step in enumerate(script):
        if place in restore_before:
            sorting = sorting.restore()
        received, accepted, *_ = sorting.counted
        if step.end:
            rows = sorting.end()
        elif step.records:
            batch = pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=ROWS)
            rows = sorting.add_batch(batch, watermark=step.watermark)
        else:
            rows = sorting.advance(step.watermark)
        counts = sorting.counted[0] - received, sorting.counted[1] - accepted
        found.append((rows, in_any_order(sorting.take_letters()), counts))
    assert sorting.waiting == 0
    return found


def sorted_by_law(spec: SortSpec, script: Sequence[Step]) -> list[Any]:
    assert isinstance(spec.watermark, Explicit | BoundedDisorder)
    oracle = SortOracle(spec.time, spec.ties, spec.watermark, None, spec.changes)
    outcomes = [oracle.step(step) for step in script]
    return [(list(one.rows), in_any_order(one.dead_letters), (one.records_in, one.accepted)) for one in outcomes]


def in_order(row: Record) -> str:
    return str(sorted(row.items()))


def in_any_order(letters: Collection[tuple[Reason, Record]]) -> list[str]:
    """Letters, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(f"{reason} {sorted(record.items())}" for reason, record in letters)


class TestSort:
    @many
    @given(steps, changes, strategies, st.sampled_from([(), ("v",)]), st.sets(st.integers(0, 8)))
    def test_changes_are_made_as_the_oracle_says_with_restarts_in_between(
        self,
        script: list[Step],
        declared: Changes,
        strategy: Explicit | BoundedDisorder,
        ties: tuple[str, ...],
        restarts: set[int],
    ) -> None:
        spec = SortSpec("ts", ties=ties, watermark=strategy, changes=declared)
        assert same(sorted_by(spec, script, restarts), sorted_by_law(spec, script))

    @many
    @given(st.lists(records, max_size=20), changes, st.lists(st.integers(1, 5), min_size=20, max_size=20))
    def test_what_leaves_is_what_is_left_however_the_changes_are_cut(
        self, came: list[Record], declared: Changes, cuts: list[int]
    ) -> None:
        """Until the end nothing is complete: so all changes are made, and the rows that are left leave."""
        spec = SortSpec("ts", watermark=Explicit(), changes=declared)
        left = WaitingRows(unique=declared.unique)
        for record in came:
            op = operation(declared, record)
            if record["ts"] is not None and op is not None:
                left.change(op.code, record["ts"], without_operation(declared, record))
        script, place = [], 0
        for cut in cuts:
            script.append(Step(records=tuple(came[place : place + cut])))
            place += cut
        *_, (rows, _, _) = sorted_by(spec, [*script, Step(end=True)])
        assert same(rows, [row for _, row in left.take(100)])

    @many
    @given(steps, st.sets(st.integers(0, 8)))
    def test_a_row_is_looked_for_at_its_time_where_its_identity_says_the_time(
        self, script: list[Step], restarts: set[int]
    ) -> None:
        declared, timed = Changes("op", ("ts", "id")), Changes("op", ("ts", "id"), timed=True)
        spec, cheap = (SortSpec("ts", watermark=Explicit(), changes=one) for one in (declared, timed))
        assert same(sorted_by(cheap, script, restarts), sorted_by_law(spec, script))


@ALIGNED
class TestWindows:
    @many
    @given(data=st.data())
    def test_the_engine_does_what_the_oracle_says_with_restarts_in_between(
        self, kind: str, data: st.DataObject
    ) -> None:
        spec, script = data.draw(pipelines(kind))
        restarts = data.draw(st.sets(st.integers(1, 8), max_size=2))
        assert_same(play(spec, script, TABLE, restore_before=restarts), oracle.run(spec, script))

    @many
    @given(data=st.data())
    def test_a_changelog_gives_what_its_net_rows_give_however_it_is_cut(self, kind: str, data: st.DataObject) -> None:
        """The oracle sees the rows that are left, in one bundle, and no changes."""
        windows = KINDS[kind].windows([TimeDomain.EVENT])
        spec, calm = data.draw(KINDS[kind].calm_pipelines(**{**OF_CHANGES, "window": windows}))
        script = data.draw(changelogs(calm).flatmap(recut))
        rows = Step(records=tuple(net(script)))
        batch = replace(spec, changes=None)
        assert_same_end(play(spec, script, TABLE), oracle.run(batch, [rows, Step(end=True)]))

    @patient
    @given(data=st.data())
    def test_what_is_taken_back_is_what_was_shown_and_the_balance_adds_up(self, kind: str, data: st.DataObject) -> None:
        spec, script = data.draw(pipelines(kind, accumulation=Accumulation.RETRACTING))
        transcript = play(spec, script, TABLE)
        shown: dict[Any, Any] = {}
        for firing in transcript.firings:
            place = firing.key, firing.window
            if firing.op in (Op.RETRACT, Op.DELETE):
                assert same(shown.pop(place), firing.values)
            else:
                assert place not in shown
                shown[place] = firing.values
        assert all(outcome.counts.adds_up for outcome in transcript.outcomes)


class TestNormalize:
    @many
    @given(steps, changes, st.none() | st.integers(0, 6), st.sets(st.integers(0, 8)))
    def test_changes_leave_as_the_oracle_says_with_restarts_in_between(
        self, script: list[Step], declared: Changes, keep: int | None, restarts: set[int]
    ) -> None:
        kept = Duration.FOREVER if keep is None else Duration(keep)
        spec = NormalizeSpec("ts", declared.unique, declared, kept, watermark=Explicit())
        reader = NormalizeOracle(spec)
        outcomes = [reader.step(step) for step in script]
        law = [(list(one.rows), in_any_order(one.dead_letters), (one.records_in, one.accepted)) for one in outcomes]
        assert same(sorted_by(spec, script, restarts), law)

    @many
    @given(steps, changes)
    def test_every_delete_that_leaves_has_its_row_and_what_is_left_is_the_table(
        self, script: list[Step], declared: Changes
    ) -> None:
        spec = NormalizeSpec("ts", declared.unique, declared, watermark=Explicit())
        rows = [row for found, _, _ in sorted_by(spec, script) for row in found]
        left, table = net([Step(records=tuple(rows))]), WaitingRows(unique=declared.unique)
        for step in script:
            for record in step.records:
                op = operation(declared, record)
                if op is not None and record["ts"] is not None:
                    table.change(op.code, record["ts"], without_operation(declared, record))
        assert sorted(map(in_order, left)) == sorted(in_order(row) for _, row in table.rows)
