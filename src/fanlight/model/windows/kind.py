"""The root of all kinds of windows. Where kinds differ, the engine asks the kind and never tests which one it is.

    aligned      every key has the same     tumbling, hopping, global, cumulating, calendar, counting per stream
    unaligned    each key has its own       session, sliding, counting per key, custom

How the axis is cut for a kind is registered in `kernels.slicing.of_kind`, how its panes are kept in
`operators.window.panes_of_kind`. Every window is half-open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

from fanlight.model.changes import Changes
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import LateBy, Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration

_OF_PEERS = {answers.earliest_start for answers in Semantics.PRESETS.values()}
"""A preset answers for all kinds at once, those too that its answer does not concern."""


class Asked(Protocol):
    """The part of a spec that concerns its windows."""

    @property
    def lateness(self) -> Duration:
        """How long after its close a window still takes records."""

    @property
    def semantics(self) -> Semantics:
        """How the open questions are answered."""

    @property
    def accumulation(self) -> Accumulation:
        """What a firing carries."""

    @property
    def firing_time(self) -> FiringTime:
        """Which event time a firing carries."""

    @property
    def fires_once(self) -> bool:
        """Whether a pane fires at most once."""

    @property
    def has_event_timers(self) -> bool:
        """Whether the trigger follows the watermark within a window."""

    @property
    def message_retention(self) -> bool:
        """Whether the records stay readable with their windows."""

    @property
    def changes(self) -> Changes | None:
        """How records change earlier ones."""


class WindowKind:
    """The root of all kinds of windows: a value that describes how its windows behave.

    The defaults fit aligned windows over event time; a kind overrides what differs.

    >>> import fanlight as fl
    >>> isinstance(fl.tumbling("1 min"), fl.WindowKind)
    True
    """

    __slots__ = ()

    @property
    def domain(self) -> TimeDomain:
        """Which clock records are put into windows by."""
        return TimeDomain.EVENT

    @property
    def bounds_domain(self) -> TimeDomain:
        """What the bounds of a window are: times, or positions."""
        return self.domain

    @property
    def is_aligned(self) -> bool:
        """Whether every key has the same windows."""
        return True

    @property
    def spans_keys(self) -> bool:
        """Whether the windows of a record depend on records of other keys, so that all must meet in one place."""
        return self.bounds_domain is TimeDomain.ARRIVAL

    @property
    def heeds_earliest_start(self) -> bool:
        """Whether `Semantics.earliest_start` says anything of such windows."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that say to which windows a record belongs, besides its time."""
        return ()

    @property
    def reads_records(self) -> bool:
        """Whether any column may say to which windows a record belongs: only a function of the record knows."""
        return False

    def time_columns(self, time: str) -> tuple[str, ...]:
        """The column of event times, called `time`, if records are put into windows by it."""
        return (time,) if self.domain is TimeDomain.EVENT else ()

    @property
    def position(self) -> str | None:
        """The column that has the positions of records; None if they have none, or are counted as they arrive."""
        return None

    @property
    def starts_by_clock(self) -> bool:
        """Whether a record that comes by the clock starts a window of its own, rather than belongs to an open one."""
        return False

    @property
    def overlap(self) -> int:
        """In how many windows a record is, at most, where the kind itself says it; 1 elsewhere."""
        return 1

    @property
    def takes_rows_only(self) -> bool:
        """Whether such windows cannot take a record back, so that of changes they get the rows that are left."""
        return not self.is_aligned

    @property
    def span(self) -> Duration | None:
        """How long a window is at most; None if nothing limits it, or the kind does not say."""
        return None

    @property
    def has_ends(self) -> bool:
        """Whether every window ends."""
        return True

    @property
    def origin(self) -> WindowKind:
        """The kind that these windows were cut by first: those of a later stage are what they were in the first."""
        return self

    @property
    def known_by(self) -> Literal["start", "end"]:
        """Which bound tells two windows apart: the end, where several start together."""
        return "start"

    @property
    def kept_as(self) -> str:
        """What state each key has for its own windows, in words."""
        return "a row for each pane"

    def late_by(self, semantics: Semantics) -> LateBy:
        """What is judged when a record comes late."""
        return semantics.late_by

    def is_strict(self, semantics: Semantics, *, said: bool) -> bool:
        """Whether a window still waits when time is at its end, and not yet past it; `said` is the general answer."""
        return said

    def refusals(self, asked: Asked) -> Iterator[str]:
        """Why these windows do not work in this pipeline, with remedies; empty if they do."""
        name, earliest = type(self).__name__, asked.semantics.earliest_start
        if self.domain is not TimeDomain.EVENT and asked.lateness.micros:
            yield (
                f"window: `lateness` ({asked.lateness}) means nothing for {self.domain.value}-time windows; "
                "no record can come behind it. Leave it out."
            )
        if not self.heeds_earliest_start and earliest not in _OF_PEERS:
            yield (
                f"window: `earliest_start` ({earliest}) means nothing for {name} windows; it is for tumbling, hopping, "
                "cumulating, calendar and sliding ones. Leave it out, or filter the records by their time."
            )
        if asked.changes is not None:
            yield from self._refusals_of_changes(asked)
        yield from self.own_refusals(asked)

    def _refusals_of_changes(self, asked: Asked) -> Iterator[str]:
        """Why records that take others back do not work here, with remedies; empty if they do."""
        name = type(self).__name__
        if self.domain is not TimeDomain.EVENT and self.position is None:
            yield (
                f"window: a record that takes another back comes later, and so would be in another of these {name} "
                "windows. Window changes by a time that they carry, or sort() them first, which gives what is left."
            )
        elif not self.is_aligned and (asked.lateness.micros or not asked.fires_once):
            yield (
                f"window: each key has its own {name} windows, and a row that is taken back may have joined two of "
                "them. Let them fire once and without lateness, so that changes are sorted first; or use windows that "
                "all keys share."
            )
        if asked.accumulation is Accumulation.DISCARDING and not asked.fires_once:
            yield (
                "accumulation: `discarding` hands out what came since the last firing, and a change may take back what "
                "was handed out before. Use accumulating or retracting."
            )
        if asked.firing_time is not FiringTime.END:
            yield (
                f"stamped: the {asked.firing_time.value} record of a window may be taken back, and nobody would know "
                "the next. Say stamped('end')."
            )

    def refusals_onward(self, asked: Asked) -> Iterator[str]:
        """Why no stage by event time can follow these windows in this pipeline, with remedies; empty if one can."""
        if self.bounds_domain is TimeDomain.ARRIVAL:
            yield (
                "window: the windows of the stage before count records, so its results have positions and no times. "
                "Group them again inside their windows, with rewindow()."
            )
        elif asked.firing_time is FiringTime.END and not self.has_ends:
            yield (
                "window: the window of the stage before never ends, so its results have no times. "
                "Group them again inside their window, with rewindow(), or use windows that end."
            )
        elif asked.firing_time is not FiringTime.END and self.span is None:
            yield (
                f"window: results of the stage before are stamped with their {asked.firing_time.value} record, and its "
                "windows have no greatest length, so nobody knows when one with an earlier time may come. "
                "Say stamped('end') there."
            )
        if not (self.is_aligned or asked.fires_once or asked.accumulation is Accumulation.RETRACTING):
            yield (
                "window: the stage before fires a pane more than once, and its windows come and go with their "
                "records, so a stage over its results would count windows that are gone. Let the stage before take "
                "them back, with retracting(), or fire once."
            )

    def own_refusals(self, asked: Asked) -> Iterator[str]:
        """The same, for reasons that only this kind has."""
        return iter(())


def refuse_discarding(kind: WindowKind, asked: Asked) -> Iterator[str]:
    """What is said of windows that come and go with other records, where firings should discard."""
    if asked.accumulation is Accumulation.DISCARDING and not asked.fires_once:
        yield (
            f"accumulation: `discarding` means nothing for {type(kind).__name__} windows; a record belongs to windows "
            "that come and go with other records, so what a firing left over has no owner. Use accumulating or "
            "retracting."
        )
