"""Offsets as a column: what records bring, what `add` says, or the number of records before."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import fanlight as fl

SPEC = (
    fl.stream([], time="ts", unit="s", watermark=fl.Explicit())
    .window(fl.tumbling("10 s"), retention=fl.retention(messages=True, offsets="at"))
    .agg(n=fl.count())
    .spec
)


def offsets(operator: fl.WindowOperator) -> list[int | None]:
    return operator.messages().column("at").to_pylist()


def test_add_says_them() -> None:
    operator = fl.WindowOperator(SPEC)
    operator.add([{"ts": 1}, {"ts": 2}], offset=40)
    operator.add([{"ts": 3}, {"ts": 4}], offset=[50, 60])
    operator.add(pa.table({"ts": [5]}), offset=70)
    assert offsets(operator) == [40, 41, 50, 60, 70]


def test_what_came_before_is_a_duplicate_and_not_kept_twice() -> None:
    operator = fl.WindowOperator(SPEC)
    operator.add([{"ts": 1}, {"ts": 2}], offset=40)
    operator.add([{"ts": 2}, {"ts": 3}], offset=41)
    assert offsets(operator) == [40, 41, 42]


def test_records_bring_their_own() -> None:
    operator = fl.WindowOperator(SPEC)
    operator.add([{"ts": 1, "at": 7}, {"ts": 2, "at": None}], offset=40)
    assert offsets(operator) == [7, None]
    assert operator.messages(start_offset=0).num_rows == 1


def test_where_nobody_says_them_records_are_numbered_as_they_come() -> None:
    """A dead letter has its number too; the numbers go on after a restart."""
    operator = fl.WindowOperator(SPEC, schema=pa.schema({"ts": pa.int64()}))
    operator.add([{"ts": 1}, {"ts": None}, {"ts": 2}])
    operator = fl.WindowOperator.restore(SPEC, operator.snapshot())
    operator.add([{"ts": 3}])
    assert offsets(operator) == [0, 2, 3]


def test_a_hook_that_leaves_records_out_leaves_their_offsets_out() -> None:
    def no_odd_ones(batch: pa.RecordBatch) -> Any:
        return batch.filter(pa.array([time % 2 == 0 for time in batch.column("ts").to_pylist()]))

    operator = fl.WindowOperator(SPEC, before_process=no_odd_ones)
    operator.add([{"ts": 1}, {"ts": 2}, {"ts": 3}, {"ts": 4}], offset=10)
    assert offsets(operator) == [11, 13]
