"""What `over` keeps between two steps is in the store, and only what a later row can need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import fanlight as fl
from fanlight.operators.bind import bind
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Said
from fanlight.operators.over.carry import Carry, PendingRows
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.shard import Shard
from fanlight.state.memory import MemoryStore

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})


def spec(frame: Any, forget: Any = None, **functions: Any) -> fl.OverSpec:
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit(), ahead=None).key_by("k")
    return stream.over(frame, forget=forget).add(**functions).spec


def kept(declared: fl.OverSpec, rows: list[tuple[int, str, int | None]], watermark: int) -> tuple[list[int], list[int]]:
    """The values of the rows that are kept when these have come: of the context, and of those that wait."""
    store = MemoryStore()
    shard = Shard(declared, store, bound=bind(declared, SCHEMA))
    batch = pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
    shard.step(CheckedBatch(batch), Said(watermark=watermark))
    carry = Carry(OverPlan.bind(declared, SCHEMA), store)
    context, pending = carry.context(), carry.pending()
    return context.times.tolist(), pending.times.tolist()


class TestContext:
    def test_a_frame_over_time_keeps_what_a_row_at_the_watermark_reaches(self) -> None:
        rows = [(1, "a", 1), (5, "a", 1), (8, "b", 1), (12, "a", 1)]
        assert kept(spec(fl.range("5 us"), n=fl.sum("v")), rows, 11) == ([8], [])

    def test_a_frame_of_rows_keeps_the_newest_of_each_key(self) -> None:
        rows = [(1, "a", 1), (2, "a", 1), (3, "a", 1), (4, "b", 1)]
        assert kept(spec(fl.rows(2), "never", n=fl.sum("v")), rows, 11) == ([2, 3, 4], [])

    def test_nothing_is_kept_of_a_key_that_would_start_anew(self) -> None:
        rows = [(1, "a", 1), (2, "a", 1), (9, "b", 1)]
        assert kept(spec(fl.rows(2), "5 us", n=fl.sum("v")), rows, 8) == ([], []), "7 is the last time that goes on"
        assert kept(spec(fl.rows(2), "5 us", n=fl.sum("v")), rows, 7) == ([1, 2], [])

    def test_where_nulls_are_passed_over_the_newest_rows_with_a_value_are_kept(self) -> None:
        rows = [(1, "a", 7), (2, "a", 8), (3, "a", None), (4, "a", None)]
        assert kept(spec(fl.rows(), "never", n=fl.lag("v", ignore_nulls=True)), rows, 11) == ([2], [])

    def test_rows_wait_for_the_rows_after_them(self) -> None:
        rows = [(1, "a", 7), (2, "a", 8), (3, "b", 9)]
        assert kept(spec(fl.rows(0, following=1), "never", n=fl.sum("v")), rows, 11) == ([], [2, 3])


def test_rows_that_wait_are_read_back_and_cleared() -> None:
    plan, store = OverPlan.bind(spec(fl.range("5 us"), n=fl.sum("v")), SCHEMA), MemoryStore()
    carry = Carry(plan, store)
    assert carry.is_empty
    columns = pa.RecordBatch.from_pylist([{"ts": 4, "k": "a", "v": None}], schema=SCHEMA).columns
    carry.wait(PendingRows(np.array([4]), columns))
    again = Carry(plan, store)
    assert not again.is_empty
    assert again.pending().times.tolist() == [4]
    assert [column.to_pylist() for column in again.pending().columns] == [[4], ["a"], [None]]
    again.clear()
    assert Carry(plan, store).is_empty
    assert len(Carry(plan, store).totals()) == 0
