"""The words of `over` inside windows: a frame in each partition, then the columns that are computed over it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.continuation import WINDOW_START
from fanlight.model.over.frame import Frame, RangeFrame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import OrderBy
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.over import Forget, Order, order_of

if TYPE_CHECKING:
    from fanlight.row_result import RowResult

UP_TO_THE_ROW = RangeFrame(preceding=Duration.FOREVER)
"""The frame where none is said, as in SQL: from the first row of the partition to the row and its peers."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Windows that gather their records, and a frame around each of them: say `add(…)` to complete it.

    >>> import fanlight as fl
    >>> paid = [{"ts": 1, "price": 4}, {"ts": 31, "price": 8}, {"ts": 90, "price": 2}]
    >>> minutes = fl.stream(paid, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> minutes.over(order=fl.desc("price")).add(place=fl.rank()).table().column("place").to_pylist()
    [1, 2, 1]
    """

    gathered: RowResult[WindowSpec]
    """The windows: each says the whole records it has, once."""
    rows: str
    """The column it says them in."""
    record_time: str
    record_unit: TimeUnit | None
    frame: Frame
    order: tuple[OrderBy, ...] = ()
    computed: tuple[tuple[str, Frame, RowFunction | Aggregate], ...] = ()

    def also(
        self, frame: Frame | None = None, order: Order = (), forget: Forget = None, by: Order = ()
    ) -> PartitionRows:
        """The same partitions with another frame; they have one order."""
        if forget is not None:
            raise SpecError("over: `forget` is for streams, and these partitions end with their windows. Leave it out.")
        if by:
            raise SpecError("over: `by` is for streams, and partitions can have any order. Say it with `order`.")
        said = order_of(order)
        if said and said != self.order:
            raise SpecError("over: these partitions have one order, which is said with the first `over`. Leave it out.")
        return replace(self, frame=UP_TO_THE_ROW if frame is None else frame)

    def add(self, **functions: RowFunction | Aggregate) -> RowResult[WindowedOverSpec]:
        """Compute these for each row; the pipeline is complete, and another `over` can share its pass."""
        if not functions:
            raise SpecError("add: nothing is computed. Say what, as in add(place=rank()).")
        whole = replace(
            self, computed=(*self.computed, *((name, self.frame, function) for name, function in functions.items()))
        )
        before = self.gathered.spec
        spec = WindowedOverSpec(
            before.window,
            whole.computed,
            self.rows,
            self.record_time,
            self.record_unit,
            before.keys,
            self.order,
            before.tick,
        )
        result: RowResult[Any] = self.gathered.complete(spec, Intake(Preparation(), WINDOW_START))
        result.over_rows = whole
        return result

    def __repr__(self) -> str:
        """The windows and the frame, never the data."""
        return f"{self.gathered!r}\nto be looked over, {self.frame}: say add(…) to complete it"
