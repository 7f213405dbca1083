"""The units of whole numbers that are times."""

from __future__ import annotations

from enum import Enum


class TimeUnit(Enum):
    """The unit of integers in the time column.

    >>> TimeUnit("ms")
    <TimeUnit.MILLISECONDS: 'ms'>
    """

    NANOSECONDS = "ns"  # floored to microseconds, as timestamps in them are
    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"
