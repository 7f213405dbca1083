"""Event-time columns: what is read, to which microsecond, and what is a fault."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.errors import InputError
from fanlight.kernels.times import Fault, read_times
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, LATEST, timestamp
from fanlight.model.time.unit import TimeUnit

NS, US, MS, S = TimeUnit.NANOSECONDS, TimeUnit.MICROSECONDS, TimeUnit.MILLISECONDS, TimeUnit.SECONDS
DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _moments(first: str, last: str) -> st.SearchStrategy[datetime]:
    return st.integers(timestamp(first), timestamp(last)).map(lambda micros: EPOCH + timedelta(microseconds=micros))


def rows(column: Any, unit: TimeUnit = US) -> list[tuple[int, int]]:
    times, faults = read_times(column, unit)
    assert times.dtype == np.int64
    assert faults.dtype == np.uint8
    assert len(times) == len(faults) == len(column)
    return list(zip(times.tolist(), faults.tolist(), strict=True))


def read(text: str | None) -> tuple[int, int]:
    return rows(pa.array([text], pa.string()))[0]


class TestTimestamps:
    @pytest.mark.parametrize(("unit", "count"), [("s", 7), ("ms", 7_000), ("us", 7_000_000), ("ns", 7_000_000_000)])
    @pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "+05:30"])
    def test_any_unit_and_zone_is_the_same_instant(self, unit: Any, count: int, zone: str | None) -> None:
        column = pa.array([count, None], pa.int64()).cast(pa.timestamp(unit, zone))
        assert rows(column) == [(7_000_000, Fault.NONE), (0, Fault.NULL)]

    def test_nanoseconds_floor_towards_minus_infinity(self) -> None:
        column = pa.array([1_999, 999, 0, -1, -1_000, -1_001], pa.int64()).cast(pa.timestamp("ns"))
        assert [time for time, _ in rows(column)] == [1, 0, 0, -1, -1, -2]

    def test_the_range_is_the_years_1_to_9999(self) -> None:
        column = pa.array([EARLIEST - 1, EARLIEST, LATEST, LATEST + 1], pa.timestamp("us"))
        out = Fault.OUT_OF_RANGE
        assert rows(column) == [(0, out), (EARLIEST, 0), (LATEST, 0), (0, out)]

    def test_seconds_that_would_overflow_as_microseconds_are_out_of_range(self) -> None:
        column = pa.array([2**62, -(2**63), 1, None], pa.timestamp("s"))
        assert rows(column) == [(0, 3), (0, 3), (1_000_000, 0), (0, 1)]

    def test_values_hidden_under_nulls_are_not_looked_at(self) -> None:
        hidden = pa.Array.from_buffers(
            pa.timestamp("us"), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([5, 2**63 - 1]))]
        )
        assert rows(hidden) == [(5, Fault.NONE), (0, Fault.NULL)]

    def test_a_slice_reads_its_own_rows(self) -> None:
        column = pa.array([1, 2, None, 4, 5], pa.timestamp("us"))
        assert rows(column.slice(1, 3)) == [(2, 0), (0, 1), (4, 0)]

    @pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int64()])
    def test_microseconds_without_nulls_are_not_copied(self, kind: Any) -> None:
        column = pa.array([1, 2, 3], kind)
        times, _ = read_times(column, US)
        assert times.__array_interface__["data"][0] == column.buffers()[1].address

    def test_dates_are_their_midnight(self) -> None:
        days = [date(1970, 1, 2), None, date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)]
        expected = [(DAY, 0), (0, 1), (-DAY, 0), (EARLIEST, 0), (LATEST + 1 - DAY, 0)]
        assert rows(pa.array(days, pa.date32())) == expected
        assert rows(pa.array(days, pa.date64())) == expected


class TestWholeNumbers:
    @pytest.mark.parametrize(("unit", "expected"), [(US, 3), (MS, 3_000), (S, 3_000_000)])
    @pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
    def test_they_count_the_unit(self, kind: str, unit: TimeUnit, expected: int) -> None:
        column = pa.array([3, None, 0], pa.type_for_alias(kind))
        assert rows(column, unit) == [(expected, 0), (0, 1), (0, 0)]

    def test_nanoseconds_are_floored_and_reach_the_year_2554(self) -> None:
        ends = pa.array([-1, 2**63 - 1, -(2**63)], pa.int64())
        assert rows(ends, NS) == [(-1, 0), ((2**63 - 1) // 1_000, 0), (-(2**63) // 1_000, 0)]
        assert rows(pa.array([2**64 - 1], pa.uint64()), NS) == [((2**64 - 1) // 1_000, 0)]

    def test_a_narrow_type_is_widened_before_it_is_multiplied(self) -> None:
        assert rows(pa.array([127, -128], pa.int8()), S) == [(127_000_000, 0), (-128_000_000, 0)]

    @pytest.mark.parametrize("unit", [US, MS, S])
    def test_the_ends_of_int64_are_out_of_range(self, unit: TimeUnit) -> None:
        assert rows(pa.array([2**63 - 1, -(2**63)], pa.int64()), unit) == [(0, 3), (0, 3)]
        assert rows(pa.array([2**64 - 1, 2**63, 4], pa.uint64()), US) == [(0, 3), (0, 3), (4, 0)]

    def test_the_last_whole_millisecond_is_in_range_and_the_next_is_not(self) -> None:
        last = LATEST // 1_000
        first = -(-EARLIEST // 1_000)
        column = pa.array([last, last + 1, first, first - 1], pa.int64())
        assert [fault for _, fault in rows(column, MS)] == [0, 3, 0, 3]


class TestText:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1970-01-01", 0),
            ("1970-01-01T01", 3_600_000_000),
            ("1970-01-01 00:01", 60_000_000),
            ("1970-01-01T00:00:01", 1_000_000),
            ("1970-01-01T00:00:01Z", 1_000_000),
            ("1970-01-01t00:00:01z", 1_000_000),
            ("1970-01-01 01:00:00+01:00", 0),
            ("1970-01-01 01:00:00+01", 0),
            ("1970-01-01 01:30:00+0130", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("1970-01-01T00:00:00.5", 500_000),
            ("1970-01-01T00:00:00,5", 500_000),
            ("1970-01-01T00:00:00.123456789Z", 123_456),
            ("1969-12-31T23:59:59.9999999Z", -1),  # 100 ns before 1970 floors to -1 µs
            ("19700101T000001Z", 1_000_000),
            ("19700101T0001", 60_000_000),
            ("2024-02-29T12:00:00Z", timestamp("2024-02-29T12:00:00Z")),
            ("0001-01-01", EARLIEST),
            ("9999-12-31T23:59:59.999999999", LATEST),
        ],
    )
    def test_iso_8601_is_read(self, text: str, expected: int) -> None:
        assert read(text) == (expected, Fault.NONE)

    @pytest.mark.parametrize(
        "text",
        [
            "", " ", "soon", "null", "1700000000", "20240101", "2024-1-1", "2024-13-01", "2024-02-30", "2023-02-29",
            "2024-01-01T", "2024-01-01T24:00:00", "2024-01-01T00:60", "2024-01-01T00:00:60", "2024-01-01T00:00:00.",
            "2024-01-01T00:00:00.1234567890", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:60", "2024-01-01Z",
            " 2024-01-01", "2024-01-01 ", "2024-01-01T00:00:00 Z", "2024-01-01\n", "２０２４-01-01", "-2024-01-01",
            "2024-01-01T00:00:00[Europe/Paris]", "31/01/2024", "0000-02-30",
        ],
    )  # fmt: skip
    def test_what_is_not_is_a_fault_and_never_an_exception(self, text: str) -> None:
        assert read(text) == (0, Fault.UNPARSABLE)

    @pytest.mark.parametrize("text", ["0000-02-29", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:00-00:01"])
    def test_a_real_date_outside_the_years_1_to_9999_is_out_of_range(self, text: str) -> None:
        assert read(text) == (0, Fault.OUT_OF_RANGE)
        assert rows(pa.array([text, "oops"]))[0] == (0, Fault.OUT_OF_RANGE)

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_every_kind_of_text_is_read(self, kind: Any) -> None:
        column = pa.array(["1970-01-01T00:00:01Z", None, "x", "1970-01-01"], kind)
        assert rows(column) == [(1_000_000, 0), (0, 1), (0, 2), (0, 0)]

    def test_one_bad_row_spoils_no_other(self) -> None:
        texts = [f"1970-01-01T00:{i // 60:02}:{i % 60:02}Z" for i in range(3_000)]
        texts[1_234], texts[2_999] = "1970-02-30T00:00:00Z", "never"
        times, faults = read_times(pa.array(texts), US)
        assert np.flatnonzero(faults).tolist() == [1_234, 2_999]
        good = faults == 0
        assert times[good].tolist() == (np.arange(3_000)[good] * 1_000_000).tolist()

    def test_a_dictionary_is_read_once_for_each_entry(self) -> None:
        column = pa.array(["1970-01-01T00:00:01Z", "x", None, "x", "1970-01-01T00:00:01Z"]).dictionary_encode()
        assert rows(column) == [(1_000_000, 0), (0, 2), (0, 1), (0, 2), (1_000_000, 0)]
        assert rows(column.slice(3)) == [(0, 2), (1_000_000, 0)]

    def test_a_dictionary_may_hold_a_null_or_nothing_or_numbers(self) -> None:
        assert rows(pa.DictionaryArray.from_arrays([0, 1, None], pa.array([None, "1970-01-01"]))) == [
            (0, 1), (0, 0), (0, 1),
        ]  # fmt: skip
        nothing = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
        assert rows(nothing) == [(0, 1)]
        assert rows(pa.array([5, 6, 5]).dictionary_encode(), MS) == [(5_000, 0), (6_000, 0), (5_000, 0)]


def _texts() -> st.SearchStrategy[str | None]:
    def written(moment: datetime, gap: str, digits: int, zone: str) -> str:
        fraction = f".{moment.microsecond:06}789"[: digits + 1] if digits else ""
        return f"{moment:%Y-%m-%d}{gap}{moment:%H:%M:%S}{fraction}{zone}"

    moments = _moments("1000-01-01", "9999-12-31")
    zones = st.sampled_from(["", "Z", "+01:00", "-0230", "+05"])
    fine = st.builds(written, moments, st.sampled_from("T "), st.integers(0, 9), zones)
    odd = st.sampled_from(["", "x", "2024-02-30", "2024-02-30T00:00:00Z", "0000-01-01", "19700101T000001Z"])
    return st.one_of(fine, odd, st.none(), st.text("0123456789-:TZ +.", max_size=22))


@given(st.lists(_texts(), max_size=80))
def test_a_row_is_read_alike_whatever_its_neighbours_are(texts: list[str | None]) -> None:
    assert rows(pa.array(texts, pa.string())) == [read(text) for text in texts]


@given(_moments("0002-01-01", "9998-12-31"), st.integers(-23 * 60, 23 * 60), st.sampled_from("T "))
def test_text_means_what_python_says_it_means(moment: datetime, minutes: int, gap: str) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    expected = (zoned - EPOCH) // timedelta(microseconds=1)
    text = zoned.isoformat(gap)
    assert read(text) == (expected, 0)
    assert rows(pa.array([text, "spoiler"]))[0] == (expected, 0)  # read by shape
    assert rows(pa.array([text.replace(":", "").replace("-", "", 2) if gap == "T" else text]))[0] == (expected, 0)


def test_a_column_without_a_type_has_no_times() -> None:
    assert rows(pa.nulls(3)) == [(0, 1)] * 3


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ns"), pa.string(), pa.null(), pa.date32()])
def test_an_empty_column_is_fine(kind: Any) -> None:
    assert rows(pa.array([], kind)) == []


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (pa.array([1.5]), "round it yourself to whole microseconds"),
        (pa.array([True]), "Name a column of timestamps"),
        (pa.array([{"a": 1}]), "Name a column of timestamps"),
        (pa.array([[1]]), "Name a column of timestamps"),
        (pa.array([b"2024-01-01"]), "Name a column of timestamps"),
        (pa.array([timedelta(1)]), "Name a column of timestamps"),
        (pa.array([1.5]).dictionary_encode(), "round it yourself"),
    ],
)
def test_a_type_that_is_no_time_is_refused_by_name(column: Any, remedy: str) -> None:
    kind = column.type.value_type if isinstance(column, pa.DictionaryArray) else column.type
    with pytest.raises(InputError, match=remedy) as refused:
        read_times(column, US)
    assert str(kind) in str(refused.value)


def test_every_fault_has_its_reason_on_the_dead_letter() -> None:
    assert {fault: fault.reason for fault in Fault} == {
        Fault.NONE: None,
        Fault.NULL: Reason.NULL_TIME,
        Fault.UNPARSABLE: Reason.UNPARSABLE_TIME,
        Fault.OUT_OF_RANGE: Reason.TIME_OUT_OF_RANGE,
    }
