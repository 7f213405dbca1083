"""Deduplication, declared: of the records of one id that lie close together in time, one row leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy

_LONGEST = LATEST - EARLIEST
"""No two records are further apart."""


class Keep(Enum):
    """Which of the records of one id leaves."""

    FIRST = "first"
    """The first to come: it leaves at once."""
    LAST = "last"
    """The last by its time: it leaves when no other can come."""


@dataclass(frozen=True, slots=True)
class UniqueSpec(StreamSpec):
    """The declaration of deduplication: the columns of the id, how close records must be, and which one leaves.

    >>> UniqueSpec("ts", ("shop",), ("order", "shop"), Duration.of("10 min")).identity
    ('shop', 'order')
    """

    time: str
    keys: tuple[str, ...]
    """The columns that distribute records over shards. They are part of the id, so that equal ids meet."""
    ids: tuple[str, ...]
    """The columns of which the values are the id."""
    within: Duration
    """How far apart in time records of one id may be, and still be the same."""
    keep: Keep = Keep.FIRST
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

    def __post_init__(self) -> None:
        if not self.ids:
            raise SpecError("unique_by: needs a column whose values are the id. Name one, as in unique_by('id', …).")
        for word, names in (("key_by", self.keys), ("unique_by", self.ids)):
            for name in names:
                if not isinstance(name, str):
                    raise SpecError(f"{word}: {name!r} is no column name. Use text, as in {word}('id').")
                if names.count(name) > 1:
                    raise SpecError(f"{word}: the column {name!r} is named twice, without effect. Name it once.")
        if not 0 < self.within.micros <= _LONGEST:
            raise SpecError(
                f"unique_by: `within` ({self.within}) must be above zero and have an end; every id that ever came "
                "would be kept, or none. Use a duration within which repetitions come, such as '10 minutes'."
            )
        if self.ahead is not None and self.ahead.micros < 0:
            raise SpecError(
                f"stream: `ahead` ({self.ahead}) is negative; records would be dead letters although they come on "
                "time. Use a duration from 0 up, or None for no limit."
            )

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns in which records are equal that have the same id: ids are per key."""
        return tuple(dict.fromkeys([*self.keys, *self.ids]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys, the ids. All others only pass."""
        return tuple(dict.fromkeys([self.time, *self.identity]))

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """`within` behind the watermark; the start and the end of time stay.

        Nothing below it leaves any more. The first of an id: a record with `time + within < W` is expired, all others
        leave as they come. The last: a group that waits has `t0 + within >= W`, and no row of it is before `t0`.
        """
        return watermark if watermark >= END_OF_TIME else self.behind(watermark)

    def behind(self, watermark: Timestamp) -> Timestamp:
        """`within` before a watermark, stopping at the start of time."""
        return max(watermark, START_OF_TIME + self.within.micros) - self.within.micros

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        by = ", ".join(f"`{name}`" for name in self.identity)
        fires, keeps = "the first to come, at once", f"the ids of rows that left, until the watermark is {self._twice}"
        if self.keep is Keep.LAST:
            fires, keeps = "the last by time, when no other can come", f"rows, until the watermark is {self.within}"
        return (
            ("ids", f"{by}; records of one id within {self.within} are the same"),
            ("fires", f"one row of these: {fires}"),
            ("gives", "the columns that came"),
            ("keeps", f"{keeps} past the first of these"),
        )

    @property
    def _twice(self) -> Duration:
        return Duration(2 * self.within.micros)
