"""The words that describe a firing: accumulation, timing, operation, time."""

from __future__ import annotations

from enum import Enum, IntEnum


class Accumulation(Enum):
    """What a firing contains, and what happens to the one before it.

    >>> Accumulation("retracting")
    <Accumulation.RETRACTING: 'retracting'>
    """

    DISCARDING = "discarding"  # what came since the last firing
    ACCUMULATING = "accumulating"  # all so far
    RETRACTING = "retracting"  # all so far, and the previous firing is taken back first


class Timing(IntEnum):
    """Where a firing stands to the close of its window.

    EARLY before the window closed. ON_TIME for the first firing of what came before it closed.
    LATE for everything after.

    >>> Timing.EARLY < Timing.ON_TIME < Timing.LATE
    True
    """

    EARLY = 0
    ON_TIME = 1
    LATE = 2


class Op(IntEnum):
    """What an output row does to the table of results.

    >>> [op.name for op in Op]
    ['INSERT', 'RETRACT', 'UPDATE', 'DELETE']
    """

    INSERT = 0
    RETRACT = 1
    UPDATE = 2
    DELETE = 3

    @property
    def code(self) -> str:
        """The short form that leaves the engine."""
        return ("+I", "-U", "+U", "-D")[self]


class FiringTime(Enum):
    """Which event time a firing carries.

    >>> FiringTime("latest")
    <FiringTime.LATEST: 'latest'>
    """

    END = "end"  # the window's last instant
    EARLIEST = "earliest"  # of its records
    LATEST = "latest"  # of its records
