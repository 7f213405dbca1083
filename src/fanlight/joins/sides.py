"""Streams that meet in a join: what they must have in common, and what is done to their records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.given import checked_columns
from fanlight.model.join.intakes import sided
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.watermarks import Combine, Several
from fanlight.row_result import Reading
from fanlight.stream import Stream
from fanlight.union import Union

LEFT, RIGHT = "left", "right"
"""What sides are called that have no name."""
_COMBINES = {"least": Combine.MIN, "greatest": Combine.MAX}


class Join(Union):
    """Streams that are joined; the first one comes last in every step, so that its records find all others."""

    def intake_of(self, name: str, stream: Stream, intake: Intake) -> Intake:
        """What is done to the records of a side: what its stream says, then they are made records of the join."""
        del intake  # nothing is done to all sides alike
        says_op = any(one.changes is not None for one in self.streams.values())
        step = sided(side_of(name, stream), tuple(self.streams), says_op=says_op)
        return Intake(
            Preparation((*stream.preparation.steps, step)),
            stream.first_time or stream.time,
            stream.control,
            stream.unit,
        )

    def __repr__(self) -> str:
        *others, first = self.streams.items()
        return " and ".join(f"{name} ({stream.origin_told})" for name, stream in (first, *others))


@dataclass(frozen=True, slots=True)
class TwoSides:
    """Two streams, checked: they can be joined."""

    streams: Join
    left: Side
    right: Side
    watermark: Several
    ahead: Duration | None


def two_sides(
    left: Stream,
    right: Stream,
    on: str | tuple[str, ...] | None = None,
    idle: DurationLike | None = None,
    combine: str = "least",
    keep: Duration | None = None,
) -> TwoSides:
    """Check two streams that are to be joined by their keys, or by the columns `on` of both.

    A side may have changes if `keep` says how long after its time, by its watermark, a row can still be changed.
    """
    if combine not in _COMBINES:
        raise SpecError(f"join: `combine` ({combine!r}) must be 'least' or 'greatest'.")
    if on is not None:
        keys = checked_columns("join", (on,) if isinstance(on, str) else tuple(on))
        left, right = replace(left, keys=keys), replace(right, keys=keys)
    for stream in (left, right):
        require_one_input(stream)
    left, right = (_in_full(stream, keep) for stream in (left, right))
    if left.is_on_spark != right.is_on_spark:
        raise SpecError("join: both sides run on one engine. Read both with Spark, or both in this process.")
    aheads = {stream.ahead for stream in (left, right) if isinstance(stream.origin, Reading)} or {None}
    if len(aheads) > 1:
        raise SpecError(
            f"join: `ahead` is {left.ahead} on the left and {right.ahead} on the right. Give both the same."
        )
    names = (left.name or LEFT, right.name or RIGHT)
    if names[0] == names[1]:
        raise SpecError(
            f"join: both sides are called {names[0]!r}, so nobody could tell their columns apart. Give one another "
            "name, as in stream(…, name='o')."
        )
    watermarks: Any = ((names[1], right.watermark), (names[0], left.watermark))  # neither is Several: it is checked
    return TwoSides(
        Join({names[1]: right, names[0]: left}),
        side_of(names[0], left),
        side_of(names[1], right),
        Several(watermarks, _COMBINES[combine], None if idle is None else Duration.of(idle)),
        aheads.pop(),
    )


def side_of(name: str, stream: Stream) -> Side:
    """What a join says of a side."""
    return Side(name, stream.time, stream.unit, stream.keys, stream.changes)


def stamp_of(how: JoinType) -> Any:
    """Whose time is the time of a joined row, unless somebody says otherwise."""
    return {JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left")


def _in_full(stream: Stream, keep: Duration | None) -> Stream:
    """A side whose changes, if it has any, can be joined: every delete has its row."""
    if stream.changes is None:
        return stream
    if keep is None:
        raise SpecError(
            f"join: a side has changes (`{stream.changes.op}`), which may take back a row that was joined. "
            "Sort it first, which gives the rows that are left."
        )
    return replace(stream.in_full(keep), name=stream.name)


def require_one_input(stream: Stream) -> None:
    """Refuse a stream that is several itself: each side of a join has one watermark."""
    if isinstance(stream.origin, Union):
        raise SpecError("join: a side has several inputs. Put a stage between, such as sort().")
    if isinstance(stream.watermark, Several):
        raise SpecError("join: the watermark of a side has several inputs itself. Give it one.")
