"""Interval joins, declared: rows that are so far apart in time, and no further."""

from __future__ import annotations

from typing import Any

from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import stamp_of, two_sides
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.enum_word import choice
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spread import spread_of
from fanlight.model.preparation import where_of
from fanlight.model.retention import Retention
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
    combine: str = "least",
    retention: Retention | None = None,
    spread: DurationLike | None = None,
) -> JoinResult:
    """The join of two streams, as `StreamWords.join` says it."""
    kind, waits = choice(JoinType, how, "how"), Duration.of(lateness)
    sides = two_sides(left, right, on, idle, combine, keep=waits)
    has_changes = sides.left.changes is not None or sides.right.changes is not None
    spec = IntervalJoinSpec(
        sides.left,
        sides.right,
        match.within(retention),
        kind,
        EmissionMode.EAGER if kind is JoinType.INNER and not has_changes else EmissionMode.ON_CLOSE,
        None if where is None else where_of(where),
        waits,
        stamp_of(kind),
        sides.watermark,
        sides.ahead,
        spread=spread_of(spread),
    )
    return declared(sides.streams, spec)
