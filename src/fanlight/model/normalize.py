"""Normalize, declared: changes in, and out come changes of which every delete has its row."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.continuation import Continuation
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy


@dataclass(frozen=True, slots=True)
class NormalizeSpec(StreamSpec):
    """The declaration of normalizing: the changes, and how long their rows are kept to be found again.

    >>> NormalizeSpec("ts", ("id",), Changes("op", unique=("id",))).continuation.changes
    Changes(op='op', unique=('id',), words=(), consistent=True, timed=False)
    """

    time: str
    keys: tuple[str, ...]
    """The columns that distribute changes over shards: the unique ones, so that a row is in one place. Without unique
    columns, those of the stage that follows."""
    changes: Changes
    keep: Duration = Duration.FOREVER
    """How long after its time, by the watermark, a row can still be changed."""
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

    def __post_init__(self) -> None:
        if self.keep.micros < 0:
            raise SpecError(
                f"normalize: `keep` ({self.keep}) is negative; rows would be forgotten before they come. "
                "Use a duration from 0 up, or Duration.FOREVER."
            )
        if self.changes.unique and not set(self.keys) <= set(self.changes.unique):
            raise SpecError(
                f"normalize: the keys ({', '.join(self.keys)}) are not among the unique columns "
                f"({', '.join(self.changes.unique)}), so a row with another key could not be found. Key by these."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys, the operations, what tells rows apart."""
        return tuple(dict.fromkeys([self.time, *self.keys, self.changes.op, *self.changes.unique]))

    @property
    def fires_once(self) -> bool:
        """What leaves may be taken back."""
        return False

    @property
    def continuation(self) -> Continuation:
        """Its changes as a stream: every delete has its row, equal in all columns."""
        return Continuation(
            self.time, self.unit, changes=Changes(self.changes.op, self.changes.unique, consistent=True)
        )

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        by = ", ".join(f"`{name}`" for name in self.changes.unique) or "all columns"
        kept = "for ever" if self.keep.is_forever else f"until the watermark is {self.keep} past them"
        return (
            ("fires", "each change at once, after the row that it takes back, in full"),
            ("gives", f"the columns that came, with `{self.changes.op}` one of +I, -U, +U, -D"),
            ("keeps", f"the live rows, told apart by {by}, {kept}"),
        )
