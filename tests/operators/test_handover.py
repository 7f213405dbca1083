"""Rows of a stage as records of the next: which columns they get, and what stands in them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.same import Same
from fanlight.operators.handover import Handover

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string()})
TEN = fl.tumbling("10 us")


def stage(**fields: Any) -> WindowSpec:
    return WindowSpec("ts", TEN, (("n", fl.count()),), ("k",), **fields)


def rows(spec: WindowSpec, *times: int) -> pa.RecordBatch:
    """What a stage emits for records of these times, one bundle, and the end."""
    operator = fl.WindowOperator(spec, schema=SCHEMA)
    operator.add([{"ts": time, "k": "a"} for time in times])
    operator.end()
    (batch,) = operator.take().combine_chunks().to_batches()
    return batch


def handed(before: WindowSpec, after: Any, *times: int) -> list[dict[str, Any]]:
    batch = rows(before, *times)
    handover = Handover.of(before, after)
    records = handover.records(batch)
    assert records.schema == handover.schema(batch.schema)
    plain = [field.with_type(pa.int64()) if pa.types.is_timestamp(field.type) else field for field in records.schema]
    return pa.Table.from_batches([records]).cast(pa.schema(plain)).to_pylist()


def test_a_firing_is_flat_and_its_time_is_the_last_instant_of_its_window() -> None:
    assert handed(stage(), SortSpec("window_time"), 3, 14) == [
        {"k": "a", "n": 1, "window_start": 0, "window_end": 10, "window_time": 9},
        {"k": "a", "n": 1, "window_start": 10, "window_end": 20, "window_time": 19},
    ]


def test_the_last_instant_is_a_tick_before_the_end() -> None:
    assert handed(stage(tick=Duration(3)), SortSpec("window_time"), 3)[0]["window_time"] == 7


@pytest.mark.parametrize(("stamp", "time"), [(FiringTime.EARLIEST, 3), (FiringTime.LATEST, 8)])
def test_a_firing_that_is_stamped_has_that_time(stamp: FiringTime, time: int) -> None:
    before = stage(firing_time=stamp)
    assert Handover.of(before, SortSpec("window_time")).reads_panes
    assert handed(before, SortSpec("window_time"), 8, 3, 5)[0]["window_time"] == time


def test_where_firings_replace_each_other_op_says_what_each_does() -> None:
    """One record early, one at the end: the second takes the first back, and then replaces it."""
    before = stage(trigger=fl.at_watermark(early=fl.after(1)), accumulation=Accumulation.RETRACTING)
    operator = fl.WindowOperator(before, schema=SCHEMA)
    for time in (1, 2):
        operator.add([{"ts": time, "k": "a"}])
    handover = Handover.of(before, SortSpec("window_time"))
    assert handover.reads_panes
    (batch,) = operator.take().combine_chunks().to_batches()
    assert handover.records(batch).column("op").to_pylist() == ["+I", "-U", "+U"]


def test_firings_that_stay_have_no_operation_and_need_no_pane() -> None:
    for before in (stage(), stage(lateness=Duration(5), accumulation=Accumulation.DISCARDING)):
        handover = Handover.of(before, SortSpec("window_time"))
        assert "op" not in handover.columns
        assert not handover.reads_panes


def test_the_row_as_a_struct_is_there_for_who_reads_it() -> None:
    after = WindowSpec("window_time", TEN, (("best", fl.top("row", 1, by="n")),))
    assert handed(stage(), after, 3)[0]["row"] == {"k": "a", "n": 1}
    named = WindowSpec("ts", TEN, (("row", fl.count()),))
    assert handed(named, WindowSpec("window_time", TEN, (("most", fl.max("row")),)), 3)[0]["row"] == 1


def test_inside_their_windows_firings_are_known_by_these() -> None:
    after = WindowSpec("window_start", Same(TEN), (("n", fl.sum("n")),), trigger=fl.at_expiry())
    assert Handover.of(stage(), after).columns == ("window_start", "window_end", "row")


def test_rows_without_windows_are_records_as_they_are() -> None:
    batch = pa.record_batch({"ts": [2, 1], "k": ["a", "b"]})
    handover = Handover.of(SortSpec("ts"), stage())
    assert handover.records(batch) is batch
    assert handover.schema(batch.schema) is batch.schema
