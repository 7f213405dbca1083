"""The words of `over`: a frame, then the columns that are computed over it, then when rows leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.frame import Frame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.model.time.duration import Duration, DurationLike

if TYPE_CHECKING:
    from fanlight.over_result import OverResult
    from fanlight.row_result import RowResult

Forget = DurationLike | Literal["never"] | None
Order = str | OrderBy | Sequence[str | OrderBy]


class OrderedStream(Protocol):
    """What can be looked over: a stream of rows."""

    @property
    def time(self) -> str:
        """The column of event times."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that records are grouped by."""

    @property
    def changes(self) -> Changes | None:
        """How records change earlier ones."""

    def in_full(self, keep: Duration) -> Self:
        """These changes such that every delete has its row; rows are kept for `keep` to be found again."""

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
    by: tuple[OrderBy, ...] = ()
    mode: EmissionMode = EmissionMode.ON_CLOSE
    retention: Duration | None = None

    @staticmethod
    def of(stream: OrderedStream, frame: Frame, order: Order = (), forget: Forget = None, by: Order = ()) -> OverRows:
        """The rows of a stream, with a frame around each."""
        return OverRows(stream, frame, order_of(order), _forget_of(forget), by=order_of(by, "by"))

    def also(self, frame: Frame, order: Order = (), forget: Forget = None, by: Order = ()) -> OverRows:
        """The same pass with another frame; what is said of order and forgetting holds for all of it."""
        return replace(
            self,
            frame=frame,
            order=self.order or order_of(order),
            by=self.by or order_of(by, "by"),
            forget=_longest(self.forget, _forget_of(forget)),
        )

    def add(self, **functions: RowFunction | Aggregate) -> OverResult:
        """Compute these for each row; the pipeline is complete, and another `over` can share its pass."""
        if not functions:
            raise SpecError("add: nothing is computed. Say what, as in add(mean=avg('price')).")
        whole = replace(
            self, computed=(*self.computed, *((name, self.frame, function) for name, function in functions.items()))
        )
        is_open = self.mode is EmissionMode.ON_CLOSE and (self.stream.changes is not None or bool(self.by))
        return cast("OverResult", OpenOver(whole)) if is_open else whole.declared()

    def declared(self) -> OverResult:
        """The pipeline of what was said."""
        told = ("computed", "order", "forget", "mode", "retention", "by")
        said: dict[str, Any] = {name: getattr(self, name) for name in told}
        stream = self.stream
        if stream.changes is not None:
            OverSpec(stream.time, keys=stream.keys, changes=stream.changes, **said)
            assert self.retention is not None  # the spec asks for it
            stream = stream.in_full(self.retention)
        result = cast("OverResult", stream.apply(OverSpec, **said))
        result.over_rows = self
        return result

    def emitted(self, mode: EmissionMode, retention: DurationLike | None = None) -> OverResult:
        """The pipeline of what was said, whose rows leave in this mode."""
        kept = None if retention is None else Duration.of(retention)
        return replace(self, mode=mode, retention=kept).declared()

    def __repr__(self) -> str:
        """The stream and the frame, never the data."""
        return f"{repr(self.stream)[:-1]}, over {self.frame}: say add(…) to complete it>"


@dataclass(frozen=True, slots=True, repr=False)
class OpenOver:
    """What only `retracting` completes: rows of changes, or in another order than that of their times."""

    over_rows: OverRows

    def retracting(self, retention: DurationLike | None = None) -> OverResult:
        """Rows leave at once, and again whenever they change; see `OverResult.retracting`."""
        return self.over_rows.emitted(EmissionMode.RETRACTING, retention)

    def over(self, frame: Frame, *, order: Order = (), forget: Forget = None, by: Order = ()) -> OverRows:
        """The same pass with another frame."""
        return self.over_rows.also(frame, order, forget, by)

    def __repr__(self) -> str:
        """The stream and the frame, never the data."""
        return f"{repr(self.over_rows.stream)[:-1]}, over {self.over_rows.frame}: say retracting(…) to complete it>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called for what a complete pipeline has: as it stands it cannot be one, and the refusal says why."""
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self.over_rows.declared(), name)


def order_of(order: Order, word: str = "order") -> tuple[OrderBy, ...]:
    """What rows are ordered by, as columns; `word` is what the caller said it with."""
    columns: Sequence[object] = [order] if isinstance(order, str | OrderBy) else order
    for column in columns:
        if not isinstance(column, str | OrderBy):
            raise SpecError(f"over: `{word}` has {column!r}, which is no column. Use names, or desc('price').")
    return tuple(one if isinstance(one, OrderBy) else OrderBy(str(one)) for one in columns)


def _forget_of(forget: Forget) -> Duration | None:
    if forget == "never":
        return Duration.FOREVER
    return None if forget is None else Duration.of(forget)


def _longest(one: Duration | None, other: Duration | None) -> Duration | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
