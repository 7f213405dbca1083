"""The answers to questions on which other engines disagree: one frozen value, with a preset for each engine.

Operators ask this value and never a peer's name. The defaults are Fanlight's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.time.timestamp import Timestamp


class LateBy(Enum):
    """What is judged when a record comes late.

    >>> Semantics.named("malhar").late_by
    <LateBy.RECORD: 'record'>
    """

    WINDOW = "window"  # dead when every window of the record has expired
    RECORD = "record"  # dead when its own time is further back than lateness


class LateSessions(Enum):
    """Which session is judged when a record comes late.

    >>> Semantics.named("beam").late_sessions
    <LateSessions.OWN: 'own'>
    """

    MERGED = "merged"  # the one it would be in
    OWN = "own"  # the one it would make alone


class OnTime(Enum):
    """Whether a ready firing at the close of a window leaves.

    >>> Semantics.named("beam").on_time
    <OnTime.ALWAYS: 'always'>
    """

    ALWAYS = "always"  # even with nothing in it
    IF_CONTENT = "if_content"  # when there is something to say
    IF_NEW = "if_new"  # when something came since the last firing


class Closing(Enum):
    """What leaves when a window expires and no trigger asked for it.

    >>> Semantics.named("flink").closing
    <Closing.NEVER: 'never'>
    """

    ALWAYS = "always"  # a last firing, even with nothing in it
    IF_NEW = "if_new"  # what is pending
    NEVER = "never"  # nothing: what is pending is forgotten


@dataclass(frozen=True, slots=True)
class Semantics:
    """The answers to the open questions of the window model.

    >>> Semantics.named("beam").on_time
    <OnTime.ALWAYS: 'always'>
    """

    closes_after_end: bool = False  # closed when W > end, not already when W >= end
    expires_after_horizon: bool = False  # expired when W > end + lateness, not already at it
    late_by: LateBy = LateBy.WINDOW
    late_sessions: LateSessions = LateSessions.MERGED
    session_end_is_inclusive: bool = False  # a session closes, and expires, when W is past it, not already at it
    delay_is_strict: bool = False  # a delay is over when the clock is past it, not already at it
    event_timer_is_strict: bool = False  # every() in event time fires when W is past the multiple, not already at it
    on_time: OnTime = OnTime.IF_CONTENT
    closing: Closing = Closing.IF_NEW
    refires: bool = True  # a ready trigger fires again though nothing came since
    holds: bool = False  # a firing's time looks only at new records that were not behind the watermark
    clock_instant_is_over: bool = False  # processing-time windows: at clock t the instant t is over
    earliest_start: Timestamp | None = None
    """No tumbling, hopping, cumulating, calendar or sliding window starts before it; to others it means nothing."""

    PRESETS: ClassVar[dict[str, Semantics]]

    @classmethod
    def named(cls, peer: str) -> Semantics:
        """The answers a user of `peer` is used to."""
        try:
            return cls.PRESETS[peer]
        except KeyError:
            raise SpecError(f"Semantics: no preset is named {peer!r}. Use one of {', '.join(cls.PRESETS)}.") from None


Semantics.PRESETS = {
    "fanlight": Semantics(),
    "beam": Semantics(
        late_sessions=LateSessions.OWN, on_time=OnTime.ALWAYS, refires=False, holds=True, delay_is_strict=True
    ),
    "beam_python": Semantics(
        late_sessions=LateSessions.OWN,
        on_time=OnTime.ALWAYS,
        closing=Closing.NEVER,
        refires=False,
        holds=True,
        expires_after_horizon=True,
    ),
    "flink": Semantics(closing=Closing.NEVER, clock_instant_is_over=True, event_timer_is_strict=True),
    "kafka": Semantics(earliest_start=0, session_end_is_inclusive=True),
    "malhar": Semantics(
        closes_after_end=True, expires_after_horizon=True, late_by=LateBy.RECORD, closing=Closing.NEVER
    ),
    "risingwave": Semantics(),
    "samza": Semantics(),
    "spark": Semantics(late_sessions=LateSessions.OWN),
}
