"""Joins by frames, declared: two inputs, the window of each, how long rows are kept, and when pairs leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.code import UserBatch
from fanlight.model.continuation import Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.frames import Access, Frames, is_small, newest_rows, newest_time
from fanlight.model.join.sides import JoinType, Side, Stamp
from fanlight.model.join.spec import JoinSpec
from fanlight.model.over.frame import Frame, RowFrame
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Combine, Explicit, Several, WatermarkStrategy
from fanlight.model.triggers import Every
from fanlight.model.windows.counting import Scope


@dataclass(frozen=True, slots=True)
class FramesJoinSpec(JoinSpec):
    """The declaration of a join by frames: two inputs, the window of each, and when pairs leave.

    >>> import fanlight as fl
    >>> ships, orders = (fl.stream([], time="ts", unit="s", name=name).key_by("id") for name in ("s", "o"))
    >>> both = fl.frames(s=fl.unbounded(), o=fl.rows(3))
    >>> ships.join(orders, both, retention=fl.retention("1 h")).spec.access("s")
    <Access.KEY: 'key'>
    """

    left: Side
    right: Side
    match: Frames
    retention: Retention | None = None
    """How long after its time, by the watermark of its side, a row is in no window any more."""
    how: JoinType = JoinType.INNER
    where: Where | None = None
    lateness: Duration = ZERO
    stamp: Stamp | None = "left"
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    mode: EmissionMode = EmissionMode.EAGER
    early: Every | None = None
    """When pairs leave that a record on time makes. None: at once."""
    late: Every | None = None
    """When pairs leave that a late record makes. None: at once."""
    function: UserBatch | None = None
    """What makes the rows of the result of the pairs that leave together. None: they are the rows."""

    stamps: ClassVar[tuple[Stamp, ...]] = ("left", "right", "least", "greatest")

    def __post_init__(self) -> None:
        self.match.require_sides(self.left.name, self.right.name)
        if self.how is not JoinType.INNER:
            raise SpecError(
                f"join: what a window holds changes with every record, so that no row is ever known to have no match: "
                f"there is no {self.how.value} join by frames. Use inner; or interval(…), which knows it."
            )
        if self.mode is not EmissionMode.EAGER:
            raise SpecError(
                f"join: a record finds what a window holds when it comes, so pairs of frames are not "
                f"{self.mode.value}. Leave that out; updates(early=every('1 min')) holds them back."
            )
        self.require_sides()
        if isinstance(self.watermark, Several) and self.watermark.combine is Combine.MAX:
            raise SpecError(
                "join: the window of a side moves with the watermark of that side, and not with the greatest of both. "
                "Leave combine='greatest' out."
            )
        self._require_retention()
        self._require_access()
        given: tuple[tuple[str, object], ...] = (("early", self.early), ("late", self.late))
        for word, trigger in given:
            by_clock = isinstance(trigger, Every) and trigger.domain is TimeDomain.PROCESSING
            if trigger is not None and not by_clock:
                raise SpecError(f"updates: `{word}` ({trigger!r}) is no period of the clock. Use every('1 min').")
        if self.match.within is not None:
            self.match.within.within(None)  # with both bounds

    def _require_retention(self) -> None:
        if self.retention is not None:
            if self.retention.count is not None:
                raise SpecError("join: rows are kept by time, and the number is that of rows(n). Use retention('1 h').")
            return
        for name, frame in self.match.sides:
            if frame.is_unbounded:
                raise SpecError(
                    f"frames: the window of {name!r} has all its rows, which would be kept for ever. Say how long they "
                    "are kept, as in join(…, retention=retention('1 h')); or that you want that, with "
                    "retention=retention()."
                )
            if isinstance(frame, RowFrame) and not self.is_of_stream:
                raise SpecError(
                    f"frames: the newest rows of every key of {name!r} would be kept for ever, as keys come and go. "
                    "Say how long they are kept, as in join(…, retention=retention('1 h')); or that you want that, "
                    "with retention=retention(); or use one window for all keys, frames(…, per='stream')."
                )

    def _require_access(self) -> None:
        for name, access in self.match.read:
            if access is Access.KEY and not self.left.keys:
                raise SpecError(
                    f"frames: {name!r} is read by key, and these sides have no keys. Say key_by(…) on both, or read it "
                    "by slice."
                )

    @property
    def is_of_stream(self) -> bool:
        """Whether a side has one window for all its rows."""
        return self.match.per is Scope.STREAM or not self.left.keys

    @property
    def in_one_shard(self) -> bool:
        """Whether records of all keys must meet: where they share a window, they do."""
        return self.is_of_stream

    @property
    def needs_clock(self) -> bool:
        """Whether the clock makes rows leave."""
        return self.early is not None or self.late is not None

    def access(self, side: str) -> Access:
        """How the window of a side is read: as somebody said, or by the matrix of SAMZA-552.

        By offset or time: by slice. By equal keys: by key, where the window is large, or where no time says which part
        of it can match. Where each key has a window, the rows of all keys lie in one slice: that is large.
        """
        said = dict(self.match.read).get(side)
        if said is not None:
            return said
        if not self.left.keys:
            return Access.SLICE
        frame = self.match.frame(side)
        by_rows = newest_rows(frame) is not None
        is_scanned = self.is_of_stream and is_small(frame) and (by_rows or self.match.within is not None)
        return Access.SLICE if is_scanned else Access.KEY

    @property
    def kept_for(self) -> int | None:
        """How long rows are kept, in microseconds; None if there is no limit."""
        return None if self.retention is None or self.retention.time.is_forever else self.retention.time.micros

    def reach(self, side: str) -> int | None:
        """How far behind the watermark of its side a row of a window can be; None if there is no limit."""
        limits = (self.kept_for, newest_time(self.match.frame(side)))
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def offsets(self) -> str | None:
        """The column of both sides that has the offsets of records, where they are kept."""
        return None if self.retention is None else self.retention.offsets

    @property
    def continuation(self) -> Continuation:
        """The result as a stream, if something says how far its rows are behind."""
        if self.needs_clock:
            raise SpecError(
                "join: pairs wait for the clock, however far the watermark goes meanwhile, so nothing can follow them "
                "by time. Leave updates(…) out."
            )
        if self._waits is None:
            raise SpecError(
                f"join: a row of this window may be as old as it likes, so what is stamped with the {self.stamp} time "
                "has no watermark, and nothing can follow it by time. Say stamped('greatest'), the time of the row "
                "that came last or a later one; or how long rows are kept, with retention=retention('1 h')."
            )
        return super(FramesJoinSpec, self).continuation

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row of a window is behind by as much as the window reaches back."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        if self._waits is None or self.needs_clock:
            return START_OF_TIME
        return max(watermark - self._waits - self.lateness.micros, START_OF_TIME)

    @property
    def _waits(self) -> int | None:
        """How far behind the watermark the time of a pair may be, but for lateness; None if there is no limit."""
        names = {"left": (self.left.name,), "right": (self.right.name,), "greatest": ()}
        reaches = [self.reach(name) for name in names.get(self.stamp or "least", (self.left.name, self.right.name))]
        return None if None in reaches else max((one for one in reaches if one is not None), default=0)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        condition = () if self.where is None else (("condition", self.where.told),)
        aligned = () if self.match.within is None else (("within", str(self.match.within)),)
        whose = "of the side" if self.is_of_stream else "of each key"
        own = () if self.function is None else (("gives", f"what {_name(self.function)} makes of the matches"),)
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("windows", f"{self.match}; one {whose}"),
            *aligned,
            *condition,
            ("fires", self._fires),
            ("reads", "; ".join(f"{name} {self._reads(name)}" for name, _ in self.match.sides)),
            *own,
            ("keeps", "; ".join(f"of {name} {self._keeps(name, frame)}" for name, frame in self.match.sides)),
        )

    @property
    def _fires(self) -> str:
        each = [
            ("a pair" if word == "early" else "one of a late record", trigger)
            for word, trigger in (("early", self.early), ("late", self.late))
        ]
        if not self.needs_clock:
            return "a pair as soon as both rows are here, each once"
        return ", ".join(
            f"{what} {'at once' if trigger is None else f'at each {trigger.period} of the clock'}"
            for what, trigger in each
        )

    def _reads(self, side: str) -> str:
        by_time = newest_rows(self.match.frame(side)) is None
        slices = "a slice of time" if by_time else "the newest rows"
        how = "the rows of a key, looked up" if self.access(side) is Access.KEY else f"{slices}, scanned"
        said = ", as was said" if side in dict(self.match.read) else ""
        return f"{how}{said}"

    def _keeps(self, side: str, frame: Frame) -> str:
        reach, count = self.reach(side), newest_rows(frame)
        if count is not None:
            of = f"{count} rows{'' if self.is_of_stream else ' a key'}"
            if reach is not None:
                return f"{of}, for {Duration(reach)}"
            return of if self.is_of_stream else f"{of}, for ever: it grows with the keys"
        return (
            "all rows: what is kept grows with the stream" if reach is None else f"rate × ({Duration(reach)} + delay)"
        )


def _name(function: UserBatch) -> str:
    """What a user's function is called."""
    called = function.function
    return f"`{getattr(called, '__qualname__', type(called).__qualname__)}`"
