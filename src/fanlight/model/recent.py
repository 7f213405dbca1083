"""The temporal filter, declared: the rows of the last hour, by the watermark; older ones are taken back."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP, Continuation
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy

_LONGEST = LATEST - EARLIEST
"""No two records are further apart."""


@dataclass(frozen=True, slots=True)
class RecentSpec(StreamSpec):
    """The declaration of a temporal filter: how far behind the watermark a row may be, and still be shown.

    >>> RecentSpec("ts", ("shop",), Duration.of("1 hour")).continuation.changes
    Changes(op='op', unique=(), words=(), consistent=True, timed=False)
    """

    time: str
    keys: tuple[str, ...]
    """The columns that distribute rows over shards. Which rows are shown does not depend on them."""
    within: Duration
    """How far the watermark may be past a row that is shown."""
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    changes: Changes | None = None
    """How records change earlier ones. None: every record is a row of its own."""

    def __post_init__(self) -> None:
        for name in self.keys:
            if not isinstance(name, str):
                raise SpecError(f"key_by: {name!r} is no column name. Use text, as in key_by('id').")
            if self.keys.count(name) > 1:
                raise SpecError(f"key_by: the column {name!r} is named twice, without effect. Name it once.")
        if not 0 < self.within.micros <= _LONGEST:
            raise SpecError(
                f"recent: the duration ({self.within}) must be above zero and have an end; no row would ever be taken "
                "back, or each at once. Use one such as '1 hour', or leave recent(…) out."
            )
        if self.changes is not None and not self.changes.consistent:
            raise SpecError(
                f"recent: the changes (`{self.changes.op}`) may delete rows that never came, or replace rows that were "
                "not deleted. Normalize them first (`NormalizeSpec`), as stream.recent(…) does."
            )
        if self.ahead is not None and self.ahead.micros < 0:
            raise SpecError(
                f"stream: `ahead` ({self.ahead}) is negative; records would be dead letters although they come on "
                "time. Use a duration from 0 up, or None for no limit."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys; of changes, the operation and what tells rows apart."""
        changed = () if self.changes is None else (self.changes.op, *self.changes.unique)
        return tuple(dict.fromkeys([self.time, *self.keys, *changed]))

    @property
    def op(self) -> str:
        """The column of the result that says what a row does."""
        return OP if self.changes is None else self.changes.op

    @property
    def fires_once(self) -> bool:
        """What leaves is taken back."""
        return False

    @property
    def continuation(self) -> Continuation:
        """Its rows as a stream of changes; those that are taken back are behind the watermark, by `within` at most."""
        unique = () if self.changes is None else self.changes.unique
        changes = Changes(self.op, unique, consistent=True, timed=self.changes is not None and self.changes.timed)
        return Continuation(self.time, self.unit, self.within, changes)

    def behind(self, watermark: Timestamp) -> Timestamp:
        """The least time that is shown at a watermark: `within` before it, stopping at the start of time."""
        return max(watermark, START_OF_TIME + self.within.micros) - self.within.micros

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        came, codes = ("row", "+I, -D") if self.changes is None else ("change", "+I, -U, +U, -D")
        return (
            ("fires", f"each {came} at once; takes a row back when the watermark is more than {self.within} past it"),
            ("gives", f"the columns that came, with `{self.op}` one of {codes}"),
            ("keeps", f"the rows that are shown: those of the last {self.within} before the watermark, and after it"),
        )
