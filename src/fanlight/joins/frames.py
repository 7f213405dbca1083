"""Joins by frames, declared: each record with what the window of the other side holds, as Samza's join windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.embedded.frames_operator import StandaloneFrames
from fanlight.errors import SpecError
from fanlight.joins.result import JoinResult, declared
from fanlight.joins.sides import two_sides
from fanlight.model.aggregates.code import UserBatch
from fanlight.model.enum_word import choice
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Frames
from fanlight.model.join.sides import JoinType
from fanlight.model.preparation import where_of
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.row_result import completed
from fanlight.stream import joined

if TYPE_CHECKING:
    from fanlight.model.triggers import Trigger


class FramesJoinResult(JoinResult):
    """The result of a join by frames: say `updates` for when pairs leave, `batch` for a function over them.

    >>> import fanlight as fl
    >>> ships, orders = (fl.stream([{"ts": 1, "id": 7}], time="ts", unit="s", name=name) for name in ("s", "o"))
    >>> both = fl.frames(s=fl.range("1 min"), o=fl.range("1 min"))
    >>> len(ships.join(orders, both, on="id").table())
    1
    """

    def updates(self, *, early: Trigger | None = None, late: Trigger | None = None) -> FramesJoinResult:
        """Let pairs leave at each period of the clock, as in `early=every('1 min')`, and not each at once.

        `early` is about pairs of records on time, `late` about those that a record makes which came behind the
        watermark of its side. What is left out leaves at once.

        >>> import fanlight as fl
        >>> ships, orders = (fl.stream([], time="ts", unit="s", name=name) for name in ("s", "o"))
        >>> joined = ships.join(orders, fl.frames(s=fl.range("1 min"), o=fl.range("1 min")), on="id")
        >>> operator = joined.updates(early=fl.every("1 min")).operator()
        >>> operator.add([{"ts": 1, "id": 7}], source="o", clock=10_000_000)
        >>> operator.add([{"ts": 2, "id": 7}], source="s")
        >>> operator.take().num_rows
        0
        >>> operator.advance(clock=60_000_000)
        >>> operator.take().num_rows
        1
        """
        return self._framed(early=early, late=late)

    def batch(self, function: Callable[[Any], Any], schema: Any) -> FramesJoinResult:
        """In the place of pairs, what a function makes of those that leave together, as one Arrow table.

        It returns a table with the columns of `schema`. Which pairs stand in one table is not promised: what it makes of
        one should not depend on the others.

        >>> import fanlight as fl
        >>> import pyarrow as pa, pyarrow.compute as pc
        >>> ships = fl.stream([{"ts": 1, "id": 7, "cost": 2}], time="ts", unit="s", name="s")
        >>> orders = fl.stream([{"ts": 1, "id": 7, "value": 5}], time="ts", unit="s", name="o")
        >>> joined = ships.join(orders, fl.frames(s=fl.range("1 min"), o=fl.range("1 min")), on="id")
        >>> def margin(matches):
        ...     return pa.table({"id": matches["id"], "margin": pc.subtract(matches["value"], matches["cost"])})
        >>> joined.batch(margin, pa.schema({"id": pa.int64(), "margin": pa.int64()})).table().to_pylist()
        [{'id': 7, 'margin': 3}]
        """
        if not isinstance(schema, pa.Schema):
            raise SpecError(
                f"batch: {schema!r} is no Arrow schema, so what the function returns has no columns. Give one, as in "
                "batch(function, pyarrow.schema({'id': pyarrow.int64()}))."
            )
        return self._framed(function=UserBatch(None, function, pa.struct(list(schema))))

    def operator(self, **options: object) -> StandaloneFrames:
        """The standalone operator of this join: its windows and their messages can be asked for."""
        return StandaloneFrames(self.spec, **self._settings(options))

    def _framed(self, **said: Any) -> FramesJoinResult:
        spec: Any = self.spec  # a dataclass, as every spec is
        found = self.joined_as(replace(spec, **said))
        assert isinstance(found, FramesJoinResult)
        return found


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


@completed.register
def _of_frames_join(spec: FramesJoinSpec, run: Any, **read: Any) -> FramesJoinResult:
    return FramesJoinResult(spec, run, **read)
