"""Points in time: int64 microseconds since 1970-01-01 UTC, with two ends that nothing passes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanlight.errors import SpecError

Timestamp = int
"""Microseconds since the epoch, UTC."""

START_OF_TIME: Timestamp = -(2**63)
END_OF_TIME: Timestamp = 2**63 - 1
NO_END: Timestamp = 2**62
"""The end of a window without one, where ends are compared with times."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

EARLIEST: Timestamp = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
LATEST: Timestamp = (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""What a record's time may be: the years that Spark, Arrow and Python can all write."""

TimestampLike = datetime | str | int
"""What a user may write where a point in time is wanted; an int is microseconds."""


def timestamp(value: TimestampLike) -> Timestamp:
    """Read a point in time; what names no zone is UTC.

    >>> timestamp("1970-01-01T00:00:01Z")
    1000000
    >>> timestamp("1970-01-01 01:00:00+01:00")
    0
    """
    if isinstance(value, bool):
        raise SpecError(f"timestamp: {value!r} is a bool. Pass ISO 8601 text, a datetime or microseconds.")
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise SpecError(f"timestamp: {value!r} is not ISO 8601. Write it as in '2026-01-31T12:00:00Z'.") from None
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def later(time: Timestamp, by: int) -> Timestamp:
    """`time + by`, stopping at the end of time instead of passing it."""
    return min(time + by, END_OF_TIME)


def as_text(time: Timestamp) -> str:
    """A point in time as people read it; the ends of time by name."""
    if time >= END_OF_TIME:
        return "the end of time"
    if time < EARLIEST:
        return "the start of time"
    if time > LATEST:
        return f"{time} µs"
    return (_EPOCH + time * _MICROSECOND).isoformat().replace("+00:00", "Z")
