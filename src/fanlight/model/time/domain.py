"""Which clock a window is cut by."""

from __future__ import annotations

from enum import Enum


class TimeDomain(Enum):
    """Which clock a window is cut by.

    >>> TimeDomain("processing")
    <TimeDomain.PROCESSING: 'processing'>
    """

    EVENT = "event"
    PROCESSING = "processing"
    ARRIVAL = "arrival"  # time is the place in the stream, counted from 1
