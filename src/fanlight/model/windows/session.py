"""Sessions: windows that last as long as records keep coming.

    gap 3        x  x x      x  x          x
                 [-------)   [-----)       [--)

With `touching`, records exactly one gap apart are in one session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.semantics import Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration, DurationLike, require_length
from fanlight.model.windows.kind import Asked, WindowKind, refuse_discarding


@dataclass(frozen=True, slots=True)
class Session(WindowKind):
    """A session of one key lasts until `gap` passes without a record.

    `gap_from` names a column with a gap for each record, in the unit of the time. `ends_on` names a column of truth
    values: a record where it is true is the last of its session. `max_duration` and `max_count` cut long sessions.

    >>> session("5 min", max_count=100).max_count
    100
    """

    gap: Duration | None = None
    gap_from: str | None = None
    touching: bool = False
    ends_on: str | None = None
    max_duration: Duration | None = None
    max_count: int | None = None
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if (self.gap is None) == (self.gap_from is None):
            raise SpecError(
                f"Session: `gap` ({self.gap}) and `gap_from` ({self.gap_from}): exactly one says how long a silence "
                "ends a session. Give a duration such as '30 seconds', or the name of a column."
            )
        if self.gap is not None:
            require_length("Session", "gap", self.gap)
        if self.max_duration is not None:
            require_length("Session", "max_duration", self.max_duration)
        if self.max_count is not None and self.max_count < 1:
            raise SpecError(f"Session: `max_count` ({self.max_count}) must be at least 1.")

    @property
    def has_limits(self) -> bool:
        """Whether more than silence ends a session."""
        return any(limit is not None for limit in (self.ends_on, self.max_duration, self.max_count))

    @property
    def starts_by_clock(self) -> bool:
        """A session starts when its first record comes."""
        return True

    @property
    def is_aligned(self) -> bool:
        """No: a session is one of its key."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say how long the silence after a record may be, and which record is the last."""
        return tuple(name for name in (self.gap_from, self.ends_on) if name is not None)

    @property
    def kept_as(self) -> str:
        """What state each key has, in words."""
        return "a row for each session"

    def is_strict(self, semantics: Semantics, *, said: bool) -> bool:
        """Whether a session still waits when time is at its end: also where that instant is inside."""
        return said or semantics.session_end_is_inclusive

    def own_refusals(self, asked: Asked) -> Iterator[str]:
        """Sessions that are cut have firings without an owner."""
        return refuse_discarding(self, asked) if self.has_limits else iter(())


def session(
    gap: DurationLike | None = None,
    *,
    gap_from: str | None = None,
    touching: bool = False,
    ends_on: str | None = None,
    max_duration: DurationLike | None = None,
    max_count: int | None = None,
    domain: TimeDomain | str = TimeDomain.EVENT,
) -> Session:
    """Windows that last until `gap` passes without a record of the key.

    >>> session("30 seconds").gap
    Duration('30 s')
    """
    return Session(
        None if gap is None else Duration.of(gap),
        gap_from,
        touching,
        ends_on,
        None if max_duration is None else Duration.of(max_duration),
        max_count,
        choice(TimeDomain, domain, "domain"),
    )


def tuple_session(without: int) -> Session:
    """Sessions that end after `without` records of the stream, none of them of the session's key.

    >>> tuple_session(3).domain
    <TimeDomain.ARRIVAL: 'arrival'>
    """
    if without < 1:
        raise SpecError(f"tuple_session: `without` ({without}) must be at least 1 record.")
    return Session(Duration(without + 1), domain=TimeDomain.ARRIVAL)
