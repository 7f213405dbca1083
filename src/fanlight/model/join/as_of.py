"""As-of joins: each left row with the nearest right row of its key in time, before it or after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import FARTHEST
from fanlight.model.join.sides import JoinType, Side, Stamp
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.later import LATER
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy

Direction = Literal["backward", "forward", "nearest"]

_SECOND = 1_000_000
TYPES = (JoinType.INNER, JoinType.LEFT, JoinType.SEMI, JoinType.ANTI)
"""Which as-of joins there are: those in which every row has a left one."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """A left row matches one right row of its key: the nearest in this direction, no further than `tolerance`.

    right    1     2        3          of one key
    left              ●
             backward ┘└ forward       nearest: 2, which is less far than 3

    >>> as_of("10 s").direction
    'backward'
    """

    tolerance: Duration
    direction: Direction = "backward"
    allow_exact: bool = True
    """Whether a right row of the very same time may match."""

    def __post_init__(self) -> None:
        if self.direction not in ("backward", "forward", "nearest"):
            raise SpecError(
                f"as_of: `direction` ({self.direction!r}) must be 'backward', 'forward' or 'nearest': where the right "
                "row is looked for."
            )
        if self.tolerance.micros < 0:
            raise SpecError(f"as_of: `tolerance` ({self.tolerance}) is negative. Use a duration from 0 up.")
        if self.looks_ahead and self.tolerance >= FARTHEST:
            raise SpecError(
                f"as_of: without a `tolerance` a left row would wait for ever for its right row ({self.direction}). "
                "Say how far apart they may be, as in as_of('10 s', 'forward')."
            )

    def within(self, retention: Retention | None) -> AsOf:
        """The match with a tolerance: `retention` takes the place of one that is missing."""
        if not self.tolerance.is_forever:
            if retention is not None:
                raise SpecError(
                    "join: `retention` says how long right rows are kept where as_of(…) has no tolerance, and it has "
                    f"one ({self.tolerance}). Leave one of the two out."
                )
            return self
        if retention is None:
            raise SpecError(
                "as_of: without a `tolerance` the last right row of every key would be kept for ever. Say how far back "
                "it may be, as in as_of('1 day'); or say that you want that, with join(…, retention=fl.retention())."
            )
        if retention.count is not None or retention.messages:
            raise SpecError("join: rows are kept by time, not by count or as messages. Use retention('1 h').")
        return AsOf(min(retention.time, FARTHEST), self.direction, self.allow_exact)

    @property
    def is_unlimited(self) -> bool:
        """Whether a right row may be as old as it likes."""
        return self.tolerance >= FARTHEST

    @property
    def looks_back(self) -> bool:
        """Whether a right row before the left one may match."""
        return self.direction != "forward"

    @property
    def looks_ahead(self) -> bool:
        """Whether a right row after the left one may match."""
        return self.direction != "backward"

    @property
    def reach(self) -> int:
        """How far apart rows may be, in microseconds; as far as times can be, if there is no limit."""
        return min(self.tolerance, FARTHEST).micros

    @property
    def least(self) -> int:
        """How far after its left row a right row is at least, in microseconds: below zero, if it may be before it."""
        return -self.reach if self.looks_back else 0

    @property
    def most(self) -> int:
        """How far after its left row a right row may be, in microseconds."""
        return self.tolerance.micros if self.looks_ahead else 0

    def __str__(self) -> str:
        where = {"backward": "newest at or before", "forward": "first at or after", "nearest": "nearest to"}
        told = f"the {where[self.direction]} the left row's time"
        exact = "" if self.allow_exact else ", but not at it"
        return f"{told}{exact}{'' if self.is_unlimited else f', {self._far}'}"

    @property
    def valid(self) -> Duration:
        """How long a right row is found: `tolerance`, or the whole seconds that it is one microsecond less than."""
        outside = Duration(self.tolerance.micros + 1)
        return self.tolerance if outside.micros % _SECOND else outside

    @property
    def _far(self) -> str:
        return f"no further than {self.tolerance}" if self.valid == self.tolerance else f"less than {self.valid} away"


def as_of(
    tolerance: DurationLike | None = None,
    direction: Direction = "backward",
    *,
    allow_exact: bool = True,
) -> AsOf:
    """Each left row matches the newest right row of its key at or before it, or the first after it, or the nearest.

    `tolerance` is how far apart they may be. Without one the join says with `retention` how long the last right row of
    each key is kept.

    >>> import fanlight as fl
    >>> trades = fl.stream([{"ts": 5, "id": 1}, {"ts": 30, "id": 1}], time="ts", unit="s", name="t")
    >>> quotes = fl.stream([{"ts": 2, "id": 1, "bid": 9}, {"ts": 4, "id": 1, "bid": 8}], time="ts", unit="s", name="q")
    >>> trades.join(quotes, fl.as_of("10 s"), on="id", how="left").table()["bid"].to_pylist()
    [8, None]
    """
    return AsOf(Duration.FOREVER if tolerance is None else Duration.of(tolerance), direction, allow_exact)


@dataclass(frozen=True, slots=True)
class AsOfJoinSpec(SpreadJoinSpec):
    """The declaration of an as-of join: two inputs, which right row a left one gets, and which rows leave.

    >>> import fanlight as fl
    >>> trades, quotes = (fl.stream([], time="ts", unit="s", name=name) for name in ("t", "q"))
    >>> trades.join(quotes, fl.as_of("10 s"), on="id").spec.match.tolerance
    Duration('10 s')
    """

    left: Side
    right: Side
    match: AsOf
    how: JoinType = JoinType.INNER
    where: Where | None = None
    """A condition over the joined columns: of the right rows that meet it, the nearest is taken."""
    lateness: Duration = ZERO
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    mode: EmissionMode = EmissionMode.ON_CLOSE
    takes_changes: ClassVar[bool] = True
    """The right side may have changes: its rows are versions, and a delete ends one."""
    stamp: Stamp | None = "left"
    spread: Duration | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        if self.how not in TYPES:
            raise SpecError(
                f"join: an as-of join goes by its left rows, and a right row may be that of many of them or of none, "
                f"so there is no {self.how.value} one. Use inner, left, semi or anti, or change the sides."
            )
        self.require_sides()
        self.require_least("an as-of join")
        self.match.within(None)
        self.require_spread()
        if self.mode is not EmissionMode.ON_CLOSE:
            raise SpecError(
                f"join: a nearer right row may come until a left row is complete, so an as-of join is not "
                f"{self.mode.value}. Leave that out: rows leave on close."
            )
        if self.stamp != "left":
            raise SpecError("stamped: a row of an as-of join has the time of its left row. Leave stamped(…) out.")
        if self.where is not None and self.match.is_unlimited:
            raise SpecError(
                "join: with `where` an older right row may be the one that is wanted, so without a `tolerance` all of "
                "them would be kept for ever. Give as_of(…) a tolerance, or say where(…) on the right stream."
            )

    def _require_takable(self, side: Side, changes: Changes) -> None:
        """Changes of the right side are versions, whatever they change; those of the left one are refused."""
        if side is self.left:
            raise SpecError(
                f"join: {side.name!r} has changes (`{changes.op}`), which may take back a row that was joined. Sort it "
                "first, which gives the rows that are left."
            )
        self._require_op_apart(side, changes)
        if self.where is not None or self.match.looks_ahead:
            raise SpecError(
                f"join: {side.name!r} has changes (`{changes.op}`), and whether a version was deleted is told by the "
                "newest before a row. Use version() without `where`, or sort the right side first."
            )

    @property
    def changes(self) -> Changes | None:
        """How records of the right side change its rows; words mean what that side says."""
        own = self.right.changes
        return None if own is None else Changes(OP, words=own.words, consistent=True)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row waits as long as its match may come."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return max(watermark - self.match.most - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        match = self.match
        condition = () if self.where is None else (("condition", f"{self.where.told}, of the right row that is taken"),)
        when = f"the watermark of both has passed it{f' by {match.tolerance}' if match.looks_ahead else ''}"
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", f"the right row of its key that is {match}"),
            *condition,
            ("fires", f"a row when {when}, in the order of the left rows"),
            *self.spread_told,
            ("keeps", self._keeps),
        )

    @property
    def _keeps(self) -> str:
        match = self.match
        waits = "left rows until they leave, right rows from there on"
        if not match.looks_back:
            return waits
        if self.where is not None:
            return f"{waits} and those of {match.tolerance} before: rate × ({match.tolerance} + delays)"
        limit = ", for ever: it grows with the keys" if match.is_unlimited else f", for {match.valid}"
        return f"{waits} and the last of each key before{limit}"
