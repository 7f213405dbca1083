"""Joins by window, declared: rows that are in the same window."""

from __future__ import annotations

from typing import Any, NoReturn

from fanlight.errors import SpecError
from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import two_sides
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.enum_word import choice
from fanlight.model.join.sides import JoinType, Stamp
from fanlight.model.join.window import SameWindow, WindowJoinSpec
from fanlight.model.preparation import where_of
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.row_result import completed
from fanlight.stream import joined


class WindowJoinResult(JoinResult):
    """The result of a join by window: its rows have the time of their window."""

    def stamped(self, time: Stamp) -> NoReturn:
        """Refused: a row has the time of its window."""
        raise SpecError(
            f"stamped: a row of a join by window has the time of its window, not {time!r} of those of its rows, so "
            "that also a row without one has a time. Leave it out."
        )


@joined.register
def by_window(
    match: SameWindow,
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
    """The join of two streams, as `StreamWords.join` says it; all types leave on close unless `eager` is said."""
    for stream in (left, right):
        if stream.changes is not None:
            raise SpecError(
                f"join: a side has changes (`{stream.changes.op}`), which may take back a row of a window that has "
                "left. Sort it first, which gives the rows that are left."
            )
    sides = two_sides(left, right, on, idle)
    spec = WindowJoinSpec(
        sides.left,
        sides.right,
        match,
        choice(JoinType, how, "how"),
        EmissionMode.ON_CLOSE,
        None if where is None else where_of(where),
        Duration.of(lateness),
        sides.watermark,
        sides.ahead,
        retention,
    )
    return declared(sides.streams, spec)


@completed.register
def _of_window_join(spec: WindowJoinSpec, run: Any, **read: Any) -> WindowJoinResult:
    return WindowJoinResult(spec, run, **read)
