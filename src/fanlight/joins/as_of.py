"""As-of joins, declared: each left row with the nearest right row in time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import Join, two_sides
from fanlight.model.enum_word import choice
from fanlight.model.join.as_of import AsOf, AsOfJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spread import spread_of
from fanlight.model.preparation import where_of
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import TimestampLike, timestamp
from fanlight.stream import Stream, joined


@joined.register
def by_nearest(
    match: AsOf, left: Stream, right: Stream, *, retention: Retention | None = None, **said: Any
) -> JoinResult:
    """The as-of join of two streams, as `StreamWords.join` says it."""
    return with_nearest(match.within(retention), left, right, **said)


def with_nearest(
    match: AsOf,
    left: Stream,
    right: Stream,
    *,
    how: str = "inner",
    on: str | tuple[str, ...] | None = None,
    where: Any = None,
    lateness: DurationLike = ZERO,
    idle: DurationLike | None = None,
    combine: str = "least",
    spread: DurationLike | None = None,
    ready: TimestampLike | None = None,
    of_versions: bool = False,
) -> JoinResult:
    """A stream with the nearest rows of another; `of_versions` takes its changes for versions of rows."""
    changes = right.changes if of_versions else None
    sides = two_sides(left, replace(right, changes=None) if of_versions else right, on, idle, combine)
    streams = dict(sides.streams.streams)
    streams[sides.right.name] = replace(streams[sides.right.name], changes=changes)
    spec = AsOfJoinSpec(
        sides.left,
        replace(sides.right, changes=changes),
        match,
        choice(JoinType, how, "how"),
        None if where is None else where_of(where),
        Duration.of(lateness),
        sides.watermark if ready is None else replace(sides.watermark, ready=((sides.right.name, timestamp(ready)),)),
        sides.ahead,
        spread=spread_of(spread),
    )
    return declared(Join(streams), spec)
