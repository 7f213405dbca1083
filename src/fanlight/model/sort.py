"""A sort, declared: the rows of a stream in the order of their times."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.later import LATER
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy


@dataclass(frozen=True, slots=True)
class SortSpec(StreamSpec):
    """The declaration of a sort: its input, the columns that order rows with the same time, and the scope of the order.

    >>> SortSpec("ts", ties=("id",)).columns
    ('ts', 'id')
    """

    time: str
    keys: tuple[str, ...] = ()
    """The columns that distribute rows over shards: rows of one key are in one order. Without keys, all rows are."""
    ties: tuple[str, ...] = ()
    """The columns that order rows with the same time; rows that are still equal leave in order of arrival."""
    total: bool = False
    """Whether all rows are in one order, whatever their keys."""
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    changes: Changes | None = field(default=None, metadata=LATER)
    """How records change earlier ones. None: every record is a row of its own."""

    def __post_init__(self) -> None:
        for word, names in (("key_by", self.keys), ("sort", self.ties)):
            for name in names:
                if not isinstance(name, str):
                    raise SpecError(f"{word}: {name!r} is no column name. Use text, as in {word}('id').")
                if names.count(name) > 1:
                    raise SpecError(f"{word}: the column {name!r} is named twice, without effect. Name it once.")
        if self.time in self.ties:
            raise SpecError(
                f"sort: {self.time!r} is the time, and rows of one time are equal in it. "
                "Leave it out, or name a column in which they differ."
            )
        if self.changes is not None and self.changes.op in (self.time, *self.keys, *self.ties):
            raise SpecError(
                f"sort: {self.changes.op!r} is the column of operations, which the rows that are left do not have. "
                "Sort by other columns."
            )
        if self.ahead is not None and self.ahead.micros < 0:
            raise SpecError(
                f"stream: `ahead` ({self.ahead}) is negative; records would be dead letters although they come on "
                "time. Use a duration from 0 up, or None for no limit."
            )

    @property
    def in_one_shard(self) -> bool:
        """Whether rows of all keys must meet in one place."""
        return self.total or not self.keys

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys, what orders rows of one time. All others only pass.

        Where changes come, also their operations and what tells rows apart.
        """
        changed = () if self.changes is None else (self.changes.op, *self.changes.unique)
        return tuple(dict.fromkeys([self.time, *self.keys, *self.ties, *changed]))

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        order = ["by time", *(f"by `{name}`" for name in self.ties), "as they came"]
        reach = "all rows in one order" if self.in_one_shard else "the rows of a shard, and so of a key, in one order"
        gives = "the columns that came"
        if self.changes is not None:
            gives = f"the rows that are left when all changes are made, without `{self.changes.op}`"
        return (
            ("order", f"{', then '.join(order)}; {reach}"),
            ("fires", "each row once, when the watermark has passed it"),
            ("gives", gives),
            ("keeps", "the rows that the watermark has not passed"),
        )
