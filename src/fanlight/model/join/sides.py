"""The two sides of a join, and which of their rows leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from fanlight.model.changes import Changes
from fanlight.model.later import LATER
from fanlight.model.time.unit import TimeUnit

TIME = "time"
"""The column with the time of a record of either side, as microseconds, before it is judged."""
INPUT = "input"
"""The column that says of a record from which side it came."""
TABLE_TIME = "table.time"
"""The column of times of a table that has none: all its rows are valid from the start of time. It is never shown."""
COPY = "_fanlight_copy"
"""The column that marks copies, where a join is spread: a row stands in a shard for its matches there, and is counted
in another. Only shards of a join that is spread have it.
"""
KEY = "key."
"""What the columns of keys begin with, of either side: then comes the number of the key."""
JOINED_TIME = "joined_time"
"""The column of joined rows that has the lesser or the greater of their two times, where one of these is their time."""

Stamp = Literal["left", "right", "least", "greatest"]
"""Whose time is the time of a joined row: that of one side, or the lesser or greater of those that it has."""
BOTH: tuple[Stamp, ...] = ("least", "greatest")
"""The stamps that look at both times."""


class JoinType(Enum):
    """Which rows leave."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def pads_left(self) -> bool:
        """Whether a left row without a match leaves, with nulls for the right one."""
        return self in (JoinType.LEFT, JoinType.FULL)

    @property
    def pads_right(self) -> bool:
        """Whether a right row without a match leaves, with nulls for the left one."""
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def of_left_only(self) -> bool:
        """Whether rows have the columns of the left side alone."""
        return self in (JoinType.SEMI, JoinType.ANTI)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join: the name of its input, its column of times, and its keys."""

    name: str
    time: str
    unit: TimeUnit | None = None
    keys: tuple[str, ...] = ()
    changes: Changes | None = field(default=None, metadata=LATER)
    """How its records change earlier ones. None: every record is a row of its own."""
