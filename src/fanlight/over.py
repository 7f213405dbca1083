"""The words of `over`: a frame, then the columns that are computed over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.over.frame import Frame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.model.time.duration import Duration, DurationLike

if TYPE_CHECKING:
    from fanlight.row_result import RowResult

Forget = DurationLike | Literal["never"] | None
Order = str | OrderBy | Sequence[str | OrderBy]


class OrderedStream(Protocol):
    """What can be looked over: a stream of rows."""

    @property
    def changes(self) -> Changes | None:
        """How records change earlier ones."""

    def apply(self, spec: type[OverSpec], **said: Any) -> RowResult[OverSpec]:
        """The pipeline of a spec over this stream."""


@dataclass(frozen=True, slots=True)
class OverRows:
    """A stream and a frame of rows around each of its rows: say `add(…)` to complete it.

    >>> import fanlight as fl
    >>> paid = [{"ts": 1, "price": 4}, {"ts": 31, "price": 8}, {"ts": 90, "price": 2}]
    >>> minute = fl.stream(paid, time="ts", unit="s").over(fl.range("1 min"))
    >>> minute.add(mean=fl.avg("price")).table().column("mean").to_pylist()
    [4.0, 6.0, 5.0]
    """

    stream: OrderedStream
    frame: Frame
    order: tuple[OrderBy, ...] = ()
    forget: Duration | None = None
    computed: tuple[tuple[str, Frame, RowFunction | Aggregate], ...] = ()

    @staticmethod
    def of(stream: OrderedStream, frame: Frame, order: Order = (), forget: Forget = None) -> OverRows:
        """The rows of a stream, with a frame around each."""
        if stream.changes is not None:
            raise SpecError(
                f"over: this stream has changes (`{stream.changes.op}`), which may take back a row that has left. "
                "Sort it first, which gives the rows that are left, as in sort().key_by(…).over(…)."
            )
        return OverRows(stream, frame, order_of(order), _forget_of(forget))

    def also(self, frame: Frame, order: Order = (), forget: Forget = None) -> OverRows:
        """The same pass with another frame; what is said of order and forgetting holds for all of it."""
        return replace(
            self, frame=frame, order=self.order or order_of(order), forget=_longest(self.forget, _forget_of(forget))
        )

    def add(self, **functions: RowFunction | Aggregate) -> RowResult[OverSpec]:
        """Compute these for each row; the pipeline is complete, and another `over` can share its pass."""
        if not functions:
            raise SpecError("add: nothing is computed. Say what, as in add(mean=avg('price')).")
        whole = replace(
            self, computed=(*self.computed, *((name, self.frame, function) for name, function in functions.items()))
        )
        result = self.stream.apply(OverSpec, computed=whole.computed, order=self.order, forget=self.forget)
        result.over_rows = whole
        return result

    def __repr__(self) -> str:
        """The stream and the frame, never the data."""
        return f"{repr(self.stream)[:-1]}, over {self.frame}: say add(…) to complete it>"


def order_of(order: Order) -> tuple[OrderBy, ...]:
    """What rows are ordered by, as columns."""
    columns: Sequence[object] = [order] if isinstance(order, str | OrderBy) else order
    for column in columns:
        if not isinstance(column, str | OrderBy):
            raise SpecError(f"over: `order` has {column!r}, which is no column. Use names, or desc('price').")
    return tuple(one if isinstance(one, OrderBy) else OrderBy(str(one)) for one in columns)


def _forget_of(forget: Forget) -> Duration | None:
    if forget == "never":
        return Duration.FOREVER
    return None if forget is None else Duration.of(forget)


def _longest(one: Duration | None, other: Duration | None) -> Duration | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
