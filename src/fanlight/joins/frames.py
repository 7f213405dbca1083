"""Joins by frames, declared: each record with what the window of the other side holds, as Samza's join windows."""

from __future__ import annotations

from typing import Any

from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import two_sides
from fanlight.model.enum_word import choice
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Frames
from fanlight.model.join.sides import JoinType
from fanlight.model.preparation import where_of
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.stream import joined


@joined.register
def by_frames(
    match: Frames,
    left: Any,
    right: Any,
    *,
    how: str = "inner",
    on: str | tuple[str, ...] | None = None,
    where: Any = None,
    lateness: DurationLike = ZERO,
    idle: DurationLike | None = None,
    retention: Retention | None = None,
) -> JoinResult:
    """The join of two streams, as `StreamWords.join` says it."""
    sides = two_sides(left, right, on, idle)
    spec = FramesJoinSpec(
        sides.left,
        sides.right,
        match,
        retention,
        choice(JoinType, how, "how"),
        None if where is None else where_of(where),
        Duration.of(lateness),
        "left",
        sides.watermark,
        sides.ahead,
    )
    return declared(sides.streams, spec)
