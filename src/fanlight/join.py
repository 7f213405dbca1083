"""The words of joins: two streams, what matches, and when joined rows leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.enum_word import choice
from fanlight.model.given import checked_columns
from fanlight.model.join.match import Interval
from fanlight.model.join.spec import JoinSpec, JoinType, Side
from fanlight.model.preparation import Intake, Preparation, Sided, where_of
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.watermarks import Combine, Several
from fanlight.row_result import Reading, RowResult, completed
from fanlight.stream import joined
from fanlight.union import Union

if TYPE_CHECKING:
    from fanlight.stream import Stream

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


class JoinResult(RowResult[JoinSpec]):
    """The result of a join. Say `eager()` or `on_close()` for when its rows leave."""

    def eager(self) -> JoinResult:
        """A pair leaves as soon as both rows are here; a row without a match when none can come any more."""
        return self._with(mode=EmissionMode.EAGER)

    def on_close(self) -> JoinResult:
        """Every row leaves when it is complete, in the order of the left rows."""
        return self._with(mode=EmissionMode.ON_CLOSE)

    def stamped(self, side: Literal["left", "right"]) -> JoinResult:
        """Whose time is the time of a joined row, for what follows."""
        return self._with(stamp=side)

    def _with(self, **said: Any) -> JoinResult:
        assert isinstance(self._reading, Join)
        return declared(self._reading, replace(self.spec, **said))


@joined.register
def _by_interval(
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
    kind = choice(JoinType, how, "how")
    if on is not None:
        keys = checked_columns("join", (on,) if isinstance(on, str) else tuple(on))
        left, right = replace(left, keys=keys), replace(right, keys=keys)
    for stream in (left, right):
        if stream.changes is not None:
            raise SpecError(
                f"join: a side has changes (`{stream.changes.op}`), which may take back a row that was joined. "
                "Sort it first, which gives the rows that are left."
            )
        if isinstance(stream.origin, Union):
            raise SpecError("join: a side has several inputs. Put a stage between, such as sort().")
        if isinstance(stream.watermark, Several):
            raise SpecError("join: the watermark of a side has several inputs itself. Give it one.")
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
    emits = EmissionMode.EAGER if kind is JoinType.INNER else EmissionMode.ON_CLOSE
    stamp: Any = {JoinType.RIGHT: "right", JoinType.FULL: None}.get(kind, "left")
    spec = JoinSpec(
        Side(names[0], left.time, left.unit, left.keys),
        Side(names[1], right.time, right.unit, right.keys),
        match,
        kind,
        emits,
        None if where is None else where_of(where),
        Duration.of(lateness),
        stamp,
        Several(
            ((names[1], right.watermark), (names[0], left.watermark)),
            Combine.MIN,
            None if idle is None else Duration.of(idle),
        ),
        aheads.pop(),
    )
    return declared(Join({names[1]: right, names[0]: left}), spec)


def declared(streams: Join, spec: JoinSpec) -> JoinResult:
    """The pipeline of a join."""
    result = streams.complete(spec, Intake(Preparation(), spec.time))
    assert isinstance(result, JoinResult)
    return result


@completed.register
def _of_join(spec: JoinSpec, run: Any, **read: Any) -> JoinResult:
    return JoinResult(spec, run, **read)
