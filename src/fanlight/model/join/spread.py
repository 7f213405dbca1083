"""Joins that may be spread: rows of one key go to several shards by their times, and every pair is made in one."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from fanlight.errors import SpecError
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spec import JoinSpec
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.time.watermarks import Explicit, Several

_FAR = (LATEST - EARLIEST) // 4
"""Spans no wider than this can be told apart; a bound that is further away is none."""


class InReach(Protocol):
    """How far after its left row a right row may be: between these two distances, in microseconds, both inside."""

    @property
    def least(self) -> int:
        """The least distance."""

    @property
    def most(self) -> int:
        """The greatest distance."""


class SpreadRule(NamedTuple):
    """Cuts time into spans as wide as `width`; says in which spans a row of each side is.

    spans     |    0    |    1    |    2    |
    left            ●                            one: its own
    right              └──○──┘                   those of all left rows that it may match: two at most

    >>> SpreadRule(60, left=(0, 0), right=(-10, 0)).of_row(65, is_left=False)
    (0, 1)
    """

    width: int
    """In microseconds."""
    left: tuple[int, int]
    """From where to where the rows lie, as seen from a left row, whose spans are its own."""
    right: tuple[int, int]

    def of_row(self, time: int, *, is_left: bool) -> tuple[int, int]:
        """The first and the last span of a row; they are the same or neighbours. The first one's shard counts it."""
        low, high = self.left if is_left else self.right
        return (time + low) // self.width, (time + high) // self.width


class SpreadJoinSpec(JoinSpec):
    """The declaration of a join whose matches are in reach of one another, so that it can be spread.

    The rows of one side, the left one but in a right join, are in one shard each. So they are padded, aggregated and
    matched as a whole; rows of the other side are copied to where these are.
    """

    __slots__ = ()

    match: InReach
    spread: Duration | None
    """How wide the spans of time are that go to different shards. None: all rows of a key are in one."""

    @property
    def spans(self) -> SpreadRule | None:
        """In which spans rows are; None if it is not spread."""
        if self.spread is None:
            return None
        least, most = self.match.least, self.match.most
        if self.how is JoinType.RIGHT:
            return SpreadRule(self.spread.micros, (least, most), (0, 0))
        return SpreadRule(self.spread.micros, (0, 0), (-most, -least))

    @property
    def is_spread(self) -> bool:
        """Whether rows of one key may be in several shards."""
        return self.spread is not None

    @property
    def in_one_shard(self) -> bool:
        """Whether all rows must meet in one place: without keys, unless times say where they meet."""
        return not self.keys and not self.is_spread

    @property
    def spread_told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it."""
        if self.spread is None:
            return ()
        whole, copied = (self.left, self.right) if self.how is not JoinType.RIGHT else (self.right, self.left)
        by = "key and time" if self.keys else "time"
        told = (
            f"on Spark, rows over shards by {by}, in spans of {self.spread}: a row of {whole.name} to one, a row of "
            f"{copied.name} to the two at most that its matches may be in"
        )
        return (("spreads", told),)

    def require_spread(self) -> None:
        """Refuse spans in which rows could not be matched, padded or judged exactly."""
        if self.spread is None:
            return
        self._require_width(self.spread)
        if self.how is JoinType.FULL:
            raise SpecError(
                "join: `spread` copies the rows of one side to every shard with a match of theirs, so in a full join "
                "each copy would leave alone where that shard has none. Use how='left' or how='right', or leave spread "
                "out."
            )
        for side in (self.left, self.right):
            if side.changes is not None:
                raise SpecError(
                    f"join: {side.name!r} has changes (`{side.changes.op}`), and with `spread` a change and its row "
                    "may be in different shards. Sort it first, which gives the rows that are left, or leave spread "
                    "out."
                )
        watermark = self.watermark
        if isinstance(watermark, Several) and watermark.idle is not None:
            for name, strategy in watermark.inputs:
                if isinstance(strategy, Explicit):
                    raise SpecError(
                        f"join: the watermark of {name!r} is told and not followed, so with `idle` each shard would "
                        "go by when it has heard of it, and with `spread` copies would be judged otherwise than their "
                        "rows. Leave idle or spread out, or let the watermark follow the records, with delay='5 s'."
                    )

    def _require_width(self, width: Duration) -> None:
        reach = self.match.most - self.match.least
        if reach > _FAR:
            raise SpecError(
                "join: `spread` sends rows to where their matches may be, and with no end these may be everywhere. "
                "Say how far apart rows may be, with both bounds of interval(…) or the tolerance of as_of(…), or "
                "leave spread out."
            )
        if not 0 < width.micros <= _FAR:
            raise SpecError(
                f"join: `spread` ({width}) is how wide the spans of time are that go to different shards. Use a "
                f"duration of at least {Duration(max(reach, 1))}, as far as the matches of a row may be apart."
            )
        if width.micros < reach:
            raise SpecError(
                f"join: `spread` ({width}) is less than the matches of a row may be apart, so that a row would be in "
                f"more than two spans. Use at least {Duration(reach)}; some times as much spares copies."
            )


def spread_of(said: DurationLike | None) -> Duration | None:
    """What a user has said of it."""
    return None if said is None else Duration.of(said)
