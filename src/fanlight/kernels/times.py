"""Read event times of any type as int64 microseconds, with a fault for each row without a readable time."""

from __future__ import annotations

import re
from datetime import date
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanlight.errors import InputError
from fanlight.kernels.time_units import MICROS, NANOS_A_MICRO, require_unit
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.time.unit import TimeUnit

Times = NDArray[np.int64]
Faults = NDArray[np.uint8]


class Fault(IntEnum):
    """Why a row has no event time; `NONE` if it has one."""

    NONE = 0
    NULL = 1
    UNPARSABLE = 2
    OUT_OF_RANGE = 3

    @property
    def reason(self) -> Reason | None:
        """What the dead letter of such a row says; None if there is no fault."""
        return (None, Reason.NULL_TIME, Reason.UNPARSABLE_TIME, Reason.TIME_OUT_OF_RANGE)[self]


_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_ERA_YEARS, _ERA_DAYS = 400, 146_097  # the calendar repeats after this long

_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"[T ]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?"
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)"
_PLAIN = rf"^{_DATE}(?:{_CLOCK})?$"
_ZONED = rf"^{_DATE}{_CLOCK}{_ZONE}$"
_NANO_DIGITS = rf"(\.\d{{6}})\d{{1,3}}({_ZONE}?)$"

_SECONDS = r"(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_OFFSET = r"(?:[Zz]|(?P<sign>[+-])(?P<zone_hour>\d\d)(?::?(?P<zone_minute>\d\d))?)?"
_EXTENDED = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"(?:[Tt ](?P<hour>\d\d)(?::(?P<minute>\d\d)(?::{_SECONDS})?)?{_OFFSET})?",
    re.ASCII,
)
_BASIC = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
    rf"[Tt](?P<hour>\d\d)(?:(?P<minute>\d\d)(?:{_SECONDS})?)?{_OFFSET}",
    re.ASCII,
)

_FEW = 1024  # up to this many numbers, NumPy is faster than a call of Arrow
_SMALL = 32  # below this many strings, reading one by one is faster than halving


def read_times(column: pa.Array[Any], unit: TimeUnit | None, what: str = "the time column") -> tuple[Times, Faults]:
    """The event times of `column` in microseconds, and a `Fault` for each row (0: none). A faulty row has time 0.

    Timestamps and text without a zone are UTC. Nanoseconds are floored. Integers count `unit`, and are refused without
    one (`what` names the column in the message). A row's time depends on that row alone, never on its neighbours. The
    times may be a view of the column: read them, never write.

    >>> times, faults = read_times(pa.array(["1970-01-01T00:00:01Z", "soon", None]), TimeUnit.SECONDS)
    >>> times.tolist(), faults.tolist()
    ([1000000, 0, 0], [0, 2, 1])
    """
    kind = column.type
    if isinstance(column, pa.DictionaryArray):
        return _of_dictionary(column, unit, what)
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), np.full(len(column), Fault.NULL, np.uint8)
    if pa.types.is_timestamp(kind):
        counts = column.view(pa.int64())
        return _of_nanos(counts) if kind.unit == "ns" else _of_counts(counts, _MICROS[kind.unit])
    if pa.types.is_date32(kind):
        return _of_counts(column.view(pa.int32()), _DAY)
    if pa.types.is_date64(kind):
        return _of_counts(column.view(pa.int64()), _MICROS["ms"])
    if pa.types.is_integer(kind):
        return _of_whole_numbers(column, unit, what)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_text(column)
    if pa.types.is_string_view(kind):
        return _of_text(column.cast(pa.large_string()))
    raise InputError(
        f"time: the column has type {kind}, which is no event time; nothing could be windowed by it. {_remedy(kind)}"
    )


def read_positions(column: pa.Array[Any]) -> tuple[Times, Faults]:
    """The positions in `column`, and a `Fault` for each row without one (null, or below 1).

    >>> positions, faults = read_positions(pa.array([7, 0, None]))
    >>> positions.tolist(), faults.tolist()
    ([7, 0, 0], [0, 3, 1])
    """
    if not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise InputError(
            f"counting: the column `by` has type {column.type}, and positions are whole numbers from 1 up. "
            "Cast it, as to int64."
        )
    positions, faults = read_times(column, TimeUnit.MICROSECONDS)
    below = (positions < 1) & (faults == Fault.NONE)
    if below.any():
        positions, faults = np.where(below, 0, positions), np.where(below, np.uint8(Fault.OUT_OF_RANGE), faults)
    return positions, faults


def _remedy(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return (
            "Fractions of a unit would be rounded in silence: multiply and round it yourself to whole microseconds "
            "(int64), or cast it to a timestamp."
        )
    return (
        "Name a column of timestamps, dates, whole numbers (with their unit) or ISO 8601 text such as "
        "'2026-01-31T12:00:00Z'."
    )


def _of_whole_numbers(counts: pa.Array[Any], unit: TimeUnit | None, what: str) -> tuple[Times, Faults]:
    if counts.null_count == len(counts):  # they could count anything
        return _of_counts(counts, 1)
    said = require_unit(counts, unit, what)
    return _of_nanos(counts) if said is TimeUnit.NANOSECONDS else _of_counts(counts, MICROS[said])


def _of_counts(counts: pa.Array[Any], micros: int) -> tuple[Times, Faults]:
    """Integers that count `micros` microseconds each; their range is checked before they are multiplied."""
    lowest, highest = -(-EARLIEST // micros), LATEST // micros
    values, faults = _without_nulls(counts)  # nulls are 0 here, and 0 is in range
    least, greatest = _extremes(counts, values)
    if least < lowest or greatest > highest:
        outside = (values < lowest) | (values > highest)
        faults[outside] = Fault.OUT_OF_RANGE
        values = np.where(outside, 0, values)
    times = values.astype(np.int64, copy=False)
    return (times if micros == 1 else times * micros), faults


def _extremes(counts: pa.Array[Any], values: NDArray[Any]) -> tuple[int, int]:
    """The least and the greatest number: Arrow is faster for many numbers, NumPy for few."""
    if len(values) < _FEW:
        return (int(values.min()), int(values.max())) if len(values) else (0, 0)
    both = pc.min_max(counts)
    least, greatest = both["min"].as_py(), both["max"].as_py()
    return (0, 0) if least is None else (least, greatest)


def _of_nanos(counts: pa.Array[Any]) -> tuple[Times, Faults]:
    """Nanoseconds, floored; all are in range, because 64 bits cover only the years 1677 to 2554."""
    values, faults = _without_nulls(counts)
    return (values // NANOS_A_MICRO).astype(np.int64, copy=False), faults


def _without_nulls(counts: pa.Array[Any]) -> tuple[NDArray[Any], Faults]:
    """The numbers, 0 for null, and the fault of each row so far; a view if there is no null."""
    if not counts.null_count:
        return counts.to_numpy(), np.zeros(len(counts), np.uint8)
    is_null = counts.is_null().to_numpy(zero_copy_only=False)
    return counts.fill_null(0).to_numpy(), is_null.astype(np.uint8) * np.uint8(Fault.NULL)


def _of_dictionary(column: pa.DictionaryArray[Any, Any], unit: TimeUnit | None, what: str) -> tuple[Times, Faults]:
    """Each distinct value is read once."""
    times, faults = read_times(column.dictionary, unit, what)
    # one more entry, which null indices point to
    times, faults = np.append(times, np.int64(0)), np.append(faults, np.uint8(Fault.NULL))
    places = column.indices.cast(pa.int64()).fill_null(len(times) - 1).to_numpy()
    return times[places], faults[places]


def _of_text(column: pa.Array[Any]) -> tuple[Times, Faults]:
    micros = _parsed(column)
    times, faults = _of_counts(micros, 1)
    if micros.null_count > column.null_count:
        faults[pc.and_not(micros.is_null(), column.is_null()).to_numpy(zero_copy_only=False)] = Fault.UNPARSABLE
    return times, faults


def _parsed(texts: pa.Array[Any]) -> pa.Array[Any]:
    """Microseconds, null where the text is null or not ISO 8601.

    Most columns use one format, so Arrow reads them whole. Mixed columns are split by format, and texts of an unusual
    format are read one by one.
    """
    for zone in (None, "UTC"):
        # a cast that fails costs far more than one that succeeds, so it is tried on a few rows first
        if _cast(texts[:_SMALL], zone) is not None and (micros := _cast(texts, zone)) is not None:
            return micros
    # cutting digits off floors, because a fraction is added to its second, before 1970 too
    texts = pc.replace_substring_regex(texts, _NANO_DIGITS, r"\1\2")
    shapes = [_matches(texts, _PLAIN), _matches(texts, _ZONED)]
    unusual = ~(shapes[0] | shapes[1])
    parts = [
        _cast_or_halve(texts.filter(pa.array(shapes[0])), None),
        _cast_or_halve(texts.filter(pa.array(shapes[1])), "UTC"),
        _one_by_one(texts.filter(pa.array(unusual))),
    ]
    origin = np.concatenate([np.flatnonzero(shape) for shape in (*shapes, unusual)])
    place = np.empty(len(texts), np.int64)
    place[origin] = np.arange(len(texts))
    return pa.concat_arrays(parts).take(place)


def _matches(texts: pa.Array[Any], shape: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.match_substring_regex(texts, shape).fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _cast(texts: pa.Array[Any], zone: str | None) -> pa.Array[Any] | None:
    """The times, if Arrow can read every row: with `zone` every text must have an offset, without it none may."""
    try:
        return texts.cast(pa.timestamp("us", zone)).view(pa.int64())
    except pa.ArrowInvalid:
        return None


def _cast_or_halve(texts: pa.Array[Any], zone: str | None) -> pa.Array[Any]:
    """Read texts by halves, to isolate those with a valid format and no real date, such as February 30."""
    micros = _cast(texts, zone)
    if micros is not None:
        return micros
    if len(texts) <= _SMALL:
        return _one_by_one(texts)
    half = len(texts) // 2
    return pa.concat_arrays([_cast_or_halve(texts[:half], zone), _cast_or_halve(texts[half:], zone)])


def _one_by_one(texts: pa.Array[Any]) -> pa.Array[Any]:
    return pa.array([None if text is None else _micros_of(text) for text in texts.to_pylist()], pa.int64())


def _micros_of(text: str) -> int | None:
    """Read one text: what Arrow reads, to the same microsecond, and other common forms of ISO 8601."""
    match = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if match is None:
        return None
    parts = {name: int(digits) for name, digits in match.groupdict("0").items() if name not in ("sign", "fraction")}
    if max(parts["hour"], parts["zone_hour"]) > 23:
        return None
    if max(parts["minute"], parts["second"], parts["zone_minute"]) > 59:
        return None
    day = _day_of(parts["year"], parts["month"], parts["day"])
    if day is None:
        return None
    offset = (parts["zone_hour"] * 60 + parts["zone_minute"]) * (-1 if match["sign"] == "-" else 1)
    seconds = (parts["hour"] * 60 + parts["minute"] - offset) * 60 + parts["second"]
    return day * _DAY + seconds * 1_000_000 + int((match["fraction"] or "0").ljust(6, "0")[:6])


def _day_of(year: int, month: int, day: int) -> int | None:
    # Arrow knows a year 0 and Python does not; it is a date, though out of range
    shift = 0 if year else 1
    try:
        ordinal = date(year + shift * _ERA_YEARS, month, day).toordinal()
    except ValueError:
        return None
    return ordinal - shift * _ERA_DAYS - _EPOCH_DAY
