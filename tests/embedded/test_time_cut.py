"""A source is cut by its times: in its given order, and however it is chunked itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.embedded.time_cut import TimeCut, cut_by_time
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.ingest.conform import CheckedBatch

CUT = TimeCut("ts", Duration.of("10 s"))


def bundles(*chunks: list[int | None], details: bool = False) -> list[list[int | None]]:
    came = (
        CheckedBatch(
            pa.record_batch({"ts": pa.array(chunk, pa.int64())}),
            pa.array(["x"] * len(chunk)) if details and number % 2 else None,
        )
        for number, chunk in enumerate(chunks)
    )
    cut = list(cut_by_time(came, CUT, TimeUnit.SECONDS))
    assert all(one.details is None or len(one.details) == len(one.batch) for one in cut)
    return [one.batch.column("ts").to_pylist() for one in cut]


def slowly(times: list[int | None]) -> list[list[int | None]]:
    """The rule, record by record."""
    found: list[list[int | None]] = []
    greatest: int | None = None
    for time in times:
        starts = greatest is not None and time is not None and time // 10 > greatest // 10
        if starts or not found:
            found.append([])
        found[-1].append(time)
        greatest = time if greatest is None else max(greatest, greatest if time is None else time)
    return found


def test_a_bundle_starts_where_a_time_passes_the_next_multiple() -> None:
    assert bundles([3, 7, 12, 9, 18, 21, 19, 43]) == [[3, 7], [12, 9, 18], [21, 19], [43]]


def test_a_record_without_a_time_stays_where_it_comes() -> None:
    assert bundles([None, 3, None, 12, None]) == [[None, 3, None], [12, None]]


@given(
    st.lists(st.lists(st.none() | st.integers(-35, 75), max_size=8), max_size=6),
    st.booleans(),
)
def test_however_the_source_is_chunked_the_bundles_are_the_same(chunks: list[list[int | None]], details: bool) -> None:
    whole = [time for chunk in chunks for time in chunk]
    assert bundles(*chunks, details=details) == slowly(whole)


def test_in_a_pipeline_records_are_late_as_they_would_be() -> None:
    """The bundle of 12 and 9 moves the watermark to 12 and closes [0, 10); 5 comes in the bundle after, and is late."""
    came = [{"ts": second} for second in (3, 12, 9, 21, 5)]
    cut = fl.stream(came, time="ts", unit="s", delay="0 s", every="10 s").window(fl.tumbling("10 s"), lateness="1 min")
    rows = cut.agg(n=fl.count()).table().to_pylist()
    assert [(row["pane"]["timing"], row["n"]) for row in rows] == [
        ("ON_TIME", 2),  # 3 and 9: 9 came in the bundle of 12, before the watermark moved
        ("LATE", 3),
        ("ON_TIME", 1),
        ("ON_TIME", 1),
    ]


def test_a_clock_column_goes_before_the_times() -> None:
    came = [{"ts": 1, "at": 0}, {"ts": 50, "at": 5}, {"ts": 2, "at": 11}]
    stream = fl.stream(came, time="ts", unit="s", delay="0 s", every="10 s", clock="at")
    rows = stream.sort()
    assert rows.table().column("ts").to_pylist() == [1, 50]
    assert rows.accounting.dead_letters == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": "0 s"}, r"`every` \(0 s\) must be above zero"),
        ({"every": "1 min", "rows": 3}, "`rows` and `every` both say where a bundle ends"),
        ({"every": "1 min", "time": lambda batch: batch["ts"]}, "here a function makes them.*clock='arrived'"),
    ],
)
def test_what_cannot_be_cut_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        fl.stream([], **{"time": "ts", "delay": "0 s", **options})
