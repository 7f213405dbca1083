"""Interval joins, declared: rows that are so far apart in time, and no further."""

from __future__ import annotations

from typing import Any

from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import stamp_of, two_sides
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.enum_word import choice
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.preparation import where_of
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.stream import joined


@joined.register
def by_interval(
    match: Interval,
    left: Any,
    right: Any,
    *,
    how: str = "inner",
    on: str | tuple[str, ...] | None = None,
    where: Any = None,
    lateness: DurationLike = ZERO,
    idle: DurationLike | None = None,
) -> JoinResult:
    """The join of two streams, as `StreamWords.join` says it."""
    kind, sides = choice(JoinType, how, "how"), two_sides(left, right, on, idle)
    spec = IntervalJoinSpec(
        sides.left,
        sides.right,
        match,
        kind,
        EmissionMode.EAGER if kind is JoinType.INNER else EmissionMode.ON_CLOSE,
        None if where is None else where_of(where),
        Duration.of(lateness),
        stamp_of(kind),
        sides.watermark,
        sides.ahead,
    )
    return declared(sides.streams, spec)
