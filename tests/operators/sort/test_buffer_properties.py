"""The sort buffer against the oracle: the same rows in the same order, for any bundles, watermarks and restarts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.testing.oracle.sort import WaitingRows
from fanlight.testing.script import same

from .waiting import Row, Waiting

SCHEMA = pa.schema({"k": pa.int64(), "f": pa.float64(), "s": pa.string()})
NAMES = SCHEMA.names

times = st.one_of(
    st.integers(-5, 20),  # close together, so that times are equal often
    st.sampled_from([EARLIEST, -1, 0, LATEST]),
    st.integers(EARLIEST, LATEST),
)
rows = st.tuples(
    times,
    st.none() | st.integers(0, 2),
    st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")]),
    st.sampled_from(["", "a", "b"]),
)
bundles = st.lists(rows, max_size=40)
ops = st.sampled_from(["+I", "-U", "+U", "-D"])
watermarks = times | st.just(END_OF_TIME)
few = st.integers(1, 8)
"""Rows of a part: so few that nearly every step cuts one."""
columns = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)

inserting = st.tuples(st.just("insert"), bundles)
taking = st.tuples(st.just("take"), watermarks)
again = st.tuples(st.sampled_from(["reopen", "restore"]), st.none())
changing = st.tuples(st.just("apply"), st.lists(st.tuples(ops, rows), max_size=40))


def record(row: Row) -> dict[str, Any]:
    return dict(zip(NAMES, row[1:], strict=True))


def taken(slow: WaitingRows, watermark: int) -> list[Row]:
    return [(time, *row.values()) for time, row in slow.take(watermark)]


class Both:
    """The buffer and the oracle, told the same."""

    def __init__(self, part_rows: int, ties: list[str], unique: list[str] | None = None) -> None:
        self.fast = Waiting(SCHEMA, ties=ties, unique=unique or (), part_rows=part_rows)
        self.slow = WaitingRows(ties, unique or ())

    def do(self, what: str, argument: Any) -> None:
        match what:
            case "insert":
                self.fast.insert(*argument)
                self.slow.rows += [(row[0], record(row)) for row in argument]
            case "apply":
                found = [self.slow.change(op, row[0], record(row)) for op, row in argument]
                assert self.fast.apply(*argument) == found
            case "take":
                assert self.fast.buffer.peek(argument) == self.slow.peek(argument)
                assert same(self.fast.take(argument), taken(self.slow, argument))
            case "reopen":
                self.fast.reopen()
            case "restore":
                self.fast.restore()


@given(part_rows=few, ties=columns, script=st.lists(inserting | inserting | taking | again, max_size=40))
def test_rows_leave_as_the_oracle_says(part_rows: int, ties: list[str], script: list[tuple[str, Any]]) -> None:
    both = Both(part_rows, ties)
    for what, argument in [*script, ("take", END_OF_TIME)]:
        both.do(what, argument)
    assert len(both.fast.store) == 0


@given(part_rows=few, ties=columns, script=st.lists(inserting | changing | taking | again, max_size=20))
def test_changes_count_as_the_oracle_says(part_rows: int, ties: list[str], script: list[tuple[str, Any]]) -> None:
    both = Both(part_rows, ties)
    for what, argument in [*script, ("take", END_OF_TIME)]:
        both.do(what, argument)
    assert len(both.fast.store) == 0


@given(
    part_rows=few, ties=columns, unique=columns.filter(bool), script=st.lists(changing | taking | again, max_size=20)
)
def test_changes_of_unique_rows_count_as_the_oracle_says(
    part_rows: int, ties: list[str], unique: list[str], script: list[tuple[str, Any]]
) -> None:
    both = Both(part_rows, ties, unique)
    for what, argument in [*script, ("take", END_OF_TIME)]:
        both.do(what, argument)
    assert len(both.fast.store) == 0


@given(bundle=bundles, cuts=st.lists(st.integers(0, 40), max_size=5), steps=st.lists(watermarks, max_size=5))
def test_neither_the_cut_into_bundles_nor_the_watermarks_between_change_the_order(
    bundle: list[Row], cuts: list[int], steps: list[int]
) -> None:
    """All rows in one bundle and one watermark, or in several of both: the same rows in the same order."""
    at_once, in_pieces = Waiting(SCHEMA), Waiting(SCHEMA, part_rows=2)
    at_once.insert(*bundle)
    bounds = [0, *sorted(cuts), len(bundle)]
    for start, end in pairwise(bounds):
        in_pieces.insert(*bundle[start:end])
    released = [row for watermark in [*sorted(steps), END_OF_TIME] for row in in_pieces.take(watermark)]
    assert same(released, at_once.take())
