"""The root of all specs: what an engine must know to run an operator."""

from __future__ import annotations

from typing import ClassVar

from fanlight.model.changes import Changes
from fanlight.model.continuation import Continuation
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import WatermarkStrategy


class StreamSpec:
    """The root of all specs: its input, its time, and what an engine must know to run it.

    The defaults fit rows in event time; a spec overrides what differs.
    """

    __slots__ = ()

    time: str
    """The column of event times."""
    keys: tuple[str, ...]
    """The columns that records are grouped by."""
    watermark: WatermarkStrategy
    """How the watermark follows the records."""
    unit: TimeUnit | None
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    ahead: Duration | None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    goes_by_input: ClassVar[bool] = False
    """Whether it goes by the watermark of each input, and not only by that of all together."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read."""
        return tuple(dict.fromkeys((self.time, *self.keys)))

    @property
    def domain(self) -> TimeDomain:
        """What the times of records are: event times, the clock at their arrival, or positions."""
        return TimeDomain.EVENT

    @property
    def reads_times(self) -> bool:
        """Whether the times of records are read; what takes all that a stage before says as it comes needs none."""
        return True

    @property
    def position(self) -> str | None:
        """The column that has the positions of records, if they are not counted as they arrive."""
        return None

    @property
    def starts_by_clock(self) -> bool:
        """Whether a record that comes by the clock starts something new, rather than belongs to what is open."""
        return False

    @property
    def clock_instant(self) -> Duration:
        """By how much the clock's own instant counts as over."""
        return Duration(0)

    @property
    def needs_clock(self) -> bool:
        """Whether the clock alone can make rows leave."""
        return False

    @property
    def waits_for_signal(self) -> bool:
        """Whether the caller's signal can make rows leave."""
        return False

    @property
    def in_one_shard(self) -> bool:
        """Whether records of all keys must meet in one place."""
        return not self.keys

    @property
    def is_spread(self) -> bool:
        """Whether records of one key may be in several places."""
        return False

    @property
    def fires_once(self) -> bool:
        """Whether what leaves is never corrected, and so says the same if all of a batch comes at once."""
        return True

    @property
    def offsets(self) -> str | None:
        """The column that has the offsets of records, where they are kept."""
        return None

    @property
    def whole_records(self) -> tuple[str, ...]:
        """The columns that have whole records, or lists of them: a field may get its type later, as columns do."""
        return ()

    @property
    def changes(self) -> Changes | None:
        """How records change earlier ones. None: every record is a row of its own."""
        return None

    @property
    def continuation(self) -> Continuation:
        """Its result as a stream, for the stage that follows; a `SpecError` if it has no times."""
        return Continuation(self.time, self.unit)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its result, once it has acted on `watermark`."""
        return watermark

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that all rows would say alike; a pipeline leaves them out."""
        return ()

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark: (what, in words) line by line."""
        return ()
