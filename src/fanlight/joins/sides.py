"""Two streams that meet in a join: what they must have in common, and what is done to their records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.given import checked_columns
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Intake, Preparation, Sided
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.watermarks import Combine, Several
from fanlight.row_result import Reading
from fanlight.stream import Stream
from fanlight.union import Union

LEFT, RIGHT = "left", "right"
"""What sides are called that have no name."""


class Join(Union):
    """Two streams that are joined; the right one comes first in every step, so that left records find it."""

    def intake_of(self, name: str, stream: Stream, intake: Intake) -> Intake:
        """What is done to the records of a side: what its stream says, then they are made records of the join."""
        del intake  # nothing is done to both sides alike
        sided = Sided(name, tuple(self.streams), stream.time, stream.unit, stream.keys)
        return Intake(
            Preparation((*stream.preparation.steps, sided)),
            stream.first_time or stream.time,
            stream.control,
            stream.unit,
        )

    def __repr__(self) -> str:
        right, left = self.streams.items()
        return f"{left[0]} ({left[1].origin_told}) and {right[0]} ({right[1].origin_told})"


@dataclass(frozen=True, slots=True)
class TwoSides:
    """Two streams, checked: they can be joined."""

    streams: Join
    left: Side
    right: Side
    watermark: Several
    ahead: Duration | None


def two_sides(
    left: Stream, right: Stream, on: str | tuple[str, ...] | None = None, idle: DurationLike | None = None
) -> TwoSides:
    """Check two streams that are to be joined by their keys, or by the columns `on` of both."""
    if on is not None:
        keys = checked_columns("join", (on,) if isinstance(on, str) else tuple(on))
        left, right = replace(left, keys=keys), replace(right, keys=keys)
    for stream in (left, right):
        _require_rows(stream)
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
        Side(names[0], left.time, left.unit, left.keys),
        Side(names[1], right.time, right.unit, right.keys),
        Several(watermarks, Combine.MIN, None if idle is None else Duration.of(idle)),
        aheads.pop(),
    )


def stamp_of(how: JoinType) -> Any:
    """Whose time is the time of a joined row, unless somebody says otherwise."""
    return {JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left")


def _require_rows(stream: Stream) -> None:
    if stream.changes is not None:
        raise SpecError(
            f"join: a side has changes (`{stream.changes.op}`), which may take back a row that was joined. "
            "Sort it first, which gives the rows that are left."
        )
    if isinstance(stream.origin, Union):
        raise SpecError("join: a side has several inputs. Put a stage between, such as sort().")
    if isinstance(stream.watermark, Several):
        raise SpecError("join: the watermark of a side has several inputs itself. Give it one.")
