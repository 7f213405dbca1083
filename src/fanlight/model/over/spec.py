"""Over, declared: every row comes back with new columns, each computed over a frame of rows of its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP, Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.later import LATER
from fanlight.model.order_by import OrderBy as OrderBy
from fanlight.model.order_by import desc as desc
from fanlight.model.over.frame import Frame, SessionFrame
from fanlight.model.over.functions import (
    DenseRank,
    Lag,
    Lead,
    NthValue,
    PartitionFunction,
    Rank,
    RowFunction,
    RowNumber,
    word_of,
)
from fanlight.model.over.modes import refusals
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy

_COUNTING = (RowNumber, Rank, DenseRank)


class Computed(NamedTuple):
    """A new column: its name, the frame it looks at, and what it computes of it."""

    name: str
    frame: Frame
    function: RowFunction | Aggregate

    @property
    def rows_after(self) -> int:
        """How many rows after its own it waits for, however long it takes."""
        leads = isinstance(self.function, Lead) and self.function.within is None
        return max(self.frame.rows_after, self.function.offset if leads else 0)  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class OverSpec(StreamSpec):
    """The declaration of `over`: the order of a key's rows, the new columns, and how long a key is remembered.

    >>> from fanlight.model.aggregates import avg
    >>> from fanlight.model.over.frame import range
    >>> OverSpec("ts", (("mean", range("60 s"), avg("price")),), keys=("shop",)).columns
    ('ts', 'shop', 'price')
    """

    time: str
    computed: tuple[tuple[str, Frame, RowFunction | Aggregate], ...]
    """The new columns: name, frame, function."""
    keys: tuple[str, ...] = ()
    order: tuple[OrderBy, ...] = ()
    """The columns that order rows of one time; rows that are still equal are in order of arrival."""
    forget: Duration | None = None
    """How long after its newest row a key is remembered: a row that comes later than that starts anew.

    None: nothing is kept but the rows that a frame over time can reach.
    """
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    mode: EmissionMode = field(default=EmissionMode.ON_CLOSE, metadata=LATER)
    """When rows leave, and whether they are corrected."""
    retention: Duration | None = field(default=None, metadata=LATER)
    """How long after its time, by the watermark, a row can be corrected, where rows are."""
    by: tuple[OrderBy, ...] = field(default=(), metadata=LATER)
    """The columns that order rows in the place of their time; rows that are still equal are in order of arrival."""
    changes: Changes | None = field(default=None, metadata=LATER)
    """How records change earlier ones. None: every record is a row of its own."""

    def __post_init__(self) -> None:
        if not self.computed:
            raise SpecError("over: nothing is computed. Say what, as in over(range('60 s')).add(mean=avg('price')).")
        for one in self.new_columns:
            self._check(one)
        for name in (names := [one.name for one in self.new_columns]):
            if names.count(name) > 1:
                raise SpecError(f"over: two new columns are called {name!r}. Give one of them another name.")
        for by in self.order:
            if by.column == self.time:
                raise SpecError(f"over: {self.time!r} is the time, which orders rows anyway. Order by other columns.")
        for told in refusals(self):
            raise SpecError(told)
        if self.forget is None and not self.by and (needing := self._unforgotten()):
            raise SpecError(
                f"over: {needing} keeps something for every key that ever came, so its state would grow without end. "
                "Say for how long after its newest row a key is remembered, as in over(…, forget='1 hour'), or "
                "forget='never' if the keys are few."
            )
        if self.forget is not None and self.forget.micros < 0:
            raise SpecError(f"over: `forget` ({self.forget}) must be from 0 up.")

    @property
    def new_columns(self) -> tuple[Computed, ...]:
        """The new columns."""
        return tuple(Computed(*one) for one in self.computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read; all others only pass."""
        worked_on = [name for one in self.new_columns for name in one.function.columns]
        ordered = [one.column for one in (*self.order, *self.by)]
        changed = () if self.changes is None else (self.changes.op, *self.changes.unique)
        return tuple(dict.fromkeys([self.time, *self.keys, *ordered, *worked_on, *changed]))

    @property
    def op(self) -> str:
        """The column of operations, where rows are corrected: that of the changes that come, or one of its own."""
        return OP if self.changes is None else self.changes.op

    @property
    def fires_once(self) -> bool:
        """Whether what leaves is never corrected."""
        return self.mode is not EmissionMode.RETRACTING

    @property
    def rows_after(self) -> int:
        """How many rows of its key after its own a row waits for."""
        return max(one.rows_after for one in self.new_columns)

    @property
    def time_after(self) -> int:
        """How far after its time a row's frames reach."""
        return max(one.frame.time_after for one in self.new_columns)

    @property
    def waits_within(self) -> int:
        """How long after its time a row waits for the next one, where a `lead` says so; it may come sooner."""
        return max(within(one.function) or 0 for one in self.new_columns)

    @property
    def waits_for_rows(self) -> bool:
        """Whether rows after it decide when a row leaves, so that of two rows of one time one may leave first."""
        return any(
            one.rows_after > 0 or within(one.function) is not None or isinstance(one.frame, SessionFrame)
            for one in self.new_columns
        )

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: one that waits for rows after it may leave as late as its frames allow."""
        if self.mode is not EmissionMode.ON_CLOSE or watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        waits = self._waits
        return START_OF_TIME if waits.is_forever else max(watermark - waits.micros, START_OF_TIME)

    @property
    def continuation(self) -> Continuation:
        """Its rows as a stream; where they are corrected, as changes of which every delete has its row.

        A row can be corrected as long as it is kept: for the retention, and as long as it waits for rows after it.
        """
        if self.retention is None:
            return Continuation(self.time, self.unit)
        forever = self.retention.is_forever or self._waits.is_forever
        late = Duration.FOREVER if forever else Duration(self.retention.micros + self._waits.micros)
        said = Changes(self.op) if self.changes is None else self.changes
        changes = Changes(self.op, said.unique, consistent=True, timed=said.timed)
        return Continuation(self.time, self.unit, late, changes)

    def horizon(self, watermark: Timestamp) -> Timestamp:
        """The least time that a record can have at this watermark, and still be taken in."""
        if self.retention is None:
            return watermark
        if self.retention.is_forever:
            return START_OF_TIME
        return watermark if watermark == END_OF_TIME else max(watermark - self.retention.micros, START_OF_TIME)

    @property
    def _waits(self) -> Duration:
        """How long after the watermark has passed it a row may still change, because its frames reach ahead."""
        if self.by:
            return Duration(0)
        if any(isinstance(one.frame, SessionFrame) for one in self.new_columns):  # one may last for ever
            return Duration.FOREVER
        waits = max(self.time_after, self.waits_within)
        if self.rows_after:
            if self.forget is None or self.forget.is_forever or self._passes_over_rows:
                return Duration.FOREVER
            waits = max(waits, self.rows_after * self.forget.micros)
        return Duration(waits)

    @property
    def _passes_over_rows(self) -> bool:
        """Whether a row waits for one with a value: rows without keep its stretch open for as long as they come."""
        return any(
            isinstance(one.function, Lead) and one.function.ignore_nulls and one.function.within is None
            for one in self.new_columns
        )

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        first = [] if self.by else ["by time"]
        by = [f"by `{one.column}`{' descending' if one.descending else ''}" for one in (*self.by, *self.order)]
        frames = dict.fromkeys(str(one.frame) for one in self.new_columns)
        gives = f"the columns that came, and {', '.join(one.name for one in self.new_columns)}"
        if self.mode is EmissionMode.RETRACTING:
            gives += f", with `{self.op}` one of +I, -U, +U, -D"
        return (
            ("order", f"{', then '.join([*first, *by, 'as they came'])}"),
            ("frames", "; ".join(frames)),
            ("fires", self._fires),
            ("gives", gives),
            ("keeps", ", ".join(self._keeps)),
        )

    @property
    def _fires(self) -> str:
        match self.mode:
            case EmissionMode.EAGER:
                return "each row once, when it comes, with what is known by then"
            case EmissionMode.RETRACTING:
                return "each row when it comes, and again whenever its values change"
        waits = "its frames are complete" if self.time_after or self.waits_for_rows else "the watermark has passed it"
        return f"each row once, when {waits}"

    @property
    def _keeps(self) -> list[str]:
        if self.retention is not None:
            long = "for ever: this grows" if self.retention.is_forever else f"until the watermark is {self.retention}"
            kept = [f"all rows {long}{'' if self.retention.is_forever else ' past them'}"]
            if self.by:
                return kept if self.retention.is_forever else [*kept, "and they are taken back"]
        else:
            eager = self.mode is EmissionMode.EAGER
            kept = [f"the rows that {'the watermark has not passed' if eager else 'are not complete'}"]
        kept.append("those that later frames reach")
        if self.forget is not None:
            kept.append(
                f"a few rows or numbers of each key, {'for ever' if self.forget.is_forever else f'{self.forget} long'}"
            )
        return kept

    def _unforgotten(self) -> str:
        """What needs `forget`, in words; empty if nothing does."""
        for one in self.new_columns:
            if isinstance(one.function, (*_COUNTING, Lag, Lead)) and within(one.function) is None:
                return f"{word_of(one.function)} ({one.name})"
            if one.frame.is_unbounded or one.frame.rows_before or one.frame.rows_after:
                return f"a frame of {one.frame} ({one.name})"
        return ""

    def _check(self, one: Computed) -> None:
        require_computed(one)
        if isinstance(one.function, PartitionFunction) or one.frame.is_endless:
            what = "looks at all rows of its key" if isinstance(one.function, PartitionFunction) else "has no last row"
            raise SpecError(
                f"over: {one.name} {what}, so no row would ever leave. It needs a partition that ends, as in "
                "window(tumbling('1 hour')).over(…)."
            )
        if isinstance(one.function, Aggregate) and one.function.needs_complete_panes:
            raise SpecError(
                f"over: {one.name} is a function of all rows of a window, and here rows have none. Say "
                "window(…).agg(…), window(…).over(…) for its value beside each row, or fold(…) over the frame."
            )
        if isinstance(one.function, NthValue) and one.frame.is_unbounded and not self.by:
            raise SpecError(
                f"over: {one.name} looks for a row from the start of a frame that has none: all rows would be kept. "
                "Use first('…') for the value of the least time, or a frame with a start."
            )
        if isinstance(one.function, Aggregate) and one.function.needs_messages and one.frame.is_unbounded:
            raise SpecError(
                f"over: {one.name} is computed from all rows of its frame, and this frame has no start: all rows "
                "would be kept. Use a frame with a start, as in range('1 hour')."
            )


def require_computed(one: Computed) -> None:
    """Refuse what is no frame, or no function of one."""
    given: tuple[object, object] = (one.frame, one.function)
    if not isinstance(given[0], Frame):
        raise SpecError(f"over: {one.frame!r} is no frame. Use rows(3) or range('60 s').")
    if not isinstance(given[1], RowFunction | Aggregate):
        called = " It is a function: call it." if callable(given[1]) else ""
        raise SpecError(
            f"over: {one.name}={one.function!r} is not an aggregate and no function of rows.{called} "
            f"Use one, as in {one.name}=avg('price') or {one.name}=lag('price')."
        )


def within(function: RowFunction | Aggregate) -> int | None:
    """How long a `lead` waits, in microseconds; None if it is none, or does not say."""
    return function.within.micros if isinstance(function, Lead) and function.within is not None else None
