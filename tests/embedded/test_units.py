"""Whole numbers of time: somebody must say what they count."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.operators.accounting import Accounting

NOVEMBER = 1_700_000_000
"""2023-11-14T22:13:20Z in seconds."""


def counts(source: Any, **options: Any) -> fl.Result:
    return fl.stream(source, time="ts", **options).window(fl.tumbling("1 minute")).agg(n=fl.count())


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
def test_whole_numbers_without_a_unit_are_refused_with_the_unit_they_look_like(
    unit: str, scale: int, encoded: bool
) -> None:
    """Read as microseconds, milliseconds of 2023 would be two windows of January 1970."""
    times = pa.array([NOVEMBER * scale, None, (NOVEMBER + 61) * scale])
    table = pa.table({"ts": times.dictionary_encode() if encoded else times})
    with pytest.raises(fl.InputError, match=rf"'ts' is int64.*the year 2023 as {unit},.*unit='{unit}'"):
        counts(table).table()
    said = counts(table, unit=unit)
    assert said.table().column("window").to_pylist()[0]["start"].isoformat() == "2023-11-14T22:13:00+00:00"
    assert said.accounting.accepted == 2


def test_the_error_says_the_year_of_every_unit() -> None:
    with pytest.raises(fl.InputError, match="the year 2023 as ms, 55840 as s, 1970 as us, 1970 as ns"):
        counts([{"ts": NOVEMBER * 1_000}]).table()


def test_what_is_refused_changes_nothing() -> None:
    operator = counts([]).operator()
    with pytest.raises(fl.InputError, match="do not say what they count"):
        operator.add([{"ts": NOVEMBER}])
    operator.add([{"ts": "2023-11-14T22:13:20Z"}])
    assert operator.accounting == Accounting(1, 1, 0, 0)


def test_nulls_count_nothing_and_are_dead_letters() -> None:
    result = counts(pa.table({"ts": pa.array([None, None], pa.int64())}))
    assert result.dead_letters.column("reason").to_pylist() == ["null_time", "null_time"]


def test_a_clock_column_counts_the_unit_too() -> None:
    """A clock of 22:13:30 in milliseconds, read as microseconds, would be in 1970."""
    table = pa.table({"ts": [NOVEMBER * 1_000], "arrived": [NOVEMBER * 1_000 + 10_000]})
    windowed = fl.stream(table, time="ts", unit="ms", clock="arrived").window(
        fl.tumbling("1 minute", domain="processing")
    )
    window = windowed.agg(n=fl.count()).table().column("window").to_pylist()[0]
    assert window["start"].isoformat() == "2023-11-14T22:13:00+00:00"
    stamped = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("ms")))
    with pytest.raises(fl.InputError, match=r"the clock column 'arrived' is int64.*unit='ms'"):
        counts(stamped, clock="arrived").table()


def test_a_gap_in_whole_numbers_needs_the_unit_and_counts_it() -> None:
    """Two clicks a minute apart, each with a gap of 90: of seconds it makes one session, of milliseconds two."""
    table = pa.table({"ts": pa.array([0, 60], pa.timestamp("s")), "gap": [90, 90]})

    def sessions(**options: Any) -> int:
        stream = fl.stream(table, time="ts", **options)
        return stream.window(fl.session(gap_from="gap")).agg(n=fl.count()).table().num_rows

    with pytest.raises(fl.InputError, match=r"`gap_from` 'gap' is int64.*unit="):
        sessions()
    assert [sessions(unit=unit) for unit in ("s", "ms", "ns")] == [1, 2, 0]  # 90 ns are no microsecond: no window
