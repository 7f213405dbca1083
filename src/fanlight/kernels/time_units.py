"""The unit of integer times: its microseconds, and a guess from the numbers for the error if no unit was given."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.model.time.unit import TimeUnit

MICROS = {TimeUnit.SECONDS: 1_000_000, TimeUnit.MILLISECONDS: 1_000, TimeUnit.MICROSECONDS: 1}
"""The microseconds in each unit; nanoseconds are smaller and not listed."""
NANOS_A_MICRO = 1_000

_A_SECOND = {
    TimeUnit.SECONDS: 1,
    TimeUnit.MILLISECONDS: 10**3,
    TimeUnit.MICROSECONDS: 10**6,
    TimeUnit.NANOSECONDS: 10**9,
}
_SECONDS_A_YEAR = 31_556_952
_LONGEST = 10**11  # seconds; the year 5138


def require_unit(counts: pa.Array[Any], unit: TimeUnit | None, what: str) -> TimeUnit:
    """The given unit; without one, an error that says which unit the numbers look like. `what` names their column.

    >>> require_unit(pa.array([1_700_000_000_000]), None, "the time column 'ts'")
    Traceback (most recent call last):
    ...
    fanlight.errors.InputError: stream: the time column 'ts' is int64, and whole numbers do not say what they count. \
1700000000000 looks like milliseconds since 1970: the year 2023 as ms, 55840 as s, 1970 as us, 1970 as ns. \
Say it: fl.stream(…, unit='ms').
    """
    if unit is not None:
        return unit
    extremes = pc.min_max(counts).as_py()
    value = max((extremes["min"] or 0, extremes["max"] or 0), key=abs)
    likely = looks_like(value)
    years = [f"{_year(value, each)} as {each.value}" for each in sorted(_A_SECOND, key=lambda each: each != likely)]
    raise InputError(
        f"stream: {what} is {counts.type}, and whole numbers do not say what they count. {value} looks like "
        f"{likely.name.lower()} since 1970: the year {', '.join(years)}. Say it: fl.stream(…, unit={likely.value!r})."
    )


def looks_like(count: int) -> TimeUnit:
    """The largest unit in which a time falls before the year 5138.

    >>> [looks_like(1_700_000_000 * 1_000**power).value for power in range(4)]
    ['s', 'ms', 'us', 'ns']
    """
    return next((unit for unit, per in _A_SECOND.items() if abs(count) < _LONGEST * per), TimeUnit.NANOSECONDS)


def _year(count: int, unit: TimeUnit) -> int:
    return 1970 + count // (_A_SECOND[unit] * _SECONDS_A_YEAR)
