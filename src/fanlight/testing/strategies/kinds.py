"""Hypothesis strategies for every kind of window beyond tumbling, hopping and global, and pipelines of each.

A record has the columns of `strategies`. Its value `v`, small and at times null, zero or negative, serves as a gap of
its own; its flag `b` ends a session; its time serves as a position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fanlight.model.firing import Accumulation
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.windows.calendar import Calendar, CalendarUnit
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Assign, Custom
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.testing.strategies import calendar as strategies_calendar
from fanlight.testing.strategies.scripts import UNUSABLE
from fanlight.testing.strategies.specs import (
    TIMES,
    Pipeline,
    calm_pipelines,
    durations,
    one_domain,
    specs,
    windows,
    with_script,
)

EVENT = (TimeDomain.EVENT,)
ARRIVAL = (TimeDomain.ARRIVAL,)
Domains = Sequence[TimeDomain]


def sessions(
    domains: Domains = TIMES, *, own_gaps: bool = False, limits: bool = False, touching: bool = True
) -> SearchStrategy[Session]:
    """Sessions with one gap, or with a gap for each record; with some of the limits, or with none."""
    flag, length, count = st.none() | st.just("b"), st.none() | durations(1, 12), st.none() | st.integers(1, 4)
    return st.builds(
        Session,
        gap=st.none() if own_gaps else durations(1, 8),
        gap_from=st.just("v") if own_gaps else st.none(),
        touching=st.sampled_from([False, touching]),
        ends_on=flag if limits else st.none(),
        max_duration=length if limits else st.none(),
        max_count=count if limits else st.none(),
        domain=one_domain(domains),
    ).filter(lambda session: session.has_limits or not limits)


def slidings(anchor: Anchor, domains: Domains = TIMES) -> SearchStrategy[Sliding]:
    """Sliding windows, some of which hold one instant only."""
    return st.builds(Sliding, durations(0, 9), st.just(anchor), one_domain(domains))


def cumulatings(domains: Domains = TIMES) -> SearchStrategy[Cumulating]:
    """Windows of one step up to five."""
    return st.builds(_cumulating, durations(1, 6), st.integers(1, 5), durations(-9, 9), one_domain(domains))


def _cumulating(step: Duration, steps: int, offset: Duration, domain: TimeDomain) -> Cumulating:
    return Cumulating(Duration(step.micros * steps), step, offset, domain)


def calendars(domains: Domains = TIMES) -> SearchStrategy[Calendar]:
    """Every unit, in zones whose clocks do what clocks do."""
    zone = st.sampled_from(sorted(strategies_calendar.ORIGINS))
    return st.builds(Calendar, st.sampled_from(CalendarUnit), zone, one_domain(domains))


def countings(per: Scope, by: str | None = None) -> SearchStrategy[Counting]:
    """A few records wide, side by side or overlapping."""
    numbers = st.tuples(st.integers(1, 6), st.integers(1, 6))
    return numbers.map(lambda pair: Counting(max(pair), min(pair), per, by))


def customs(domains: Domains = TIMES) -> SearchStrategy[Custom]:
    """One window a record, or as many as its value says."""
    return st.builds(Custom, st.sampled_from(ASSIGNS), one_domain(domains))


def growing(times: Any, _batch: Any) -> tuple[Any, ...]:
    """One window a record: the further from zero, the longer."""
    tens = np.abs(times) // 10
    starts = np.where(times < 0, -1, 1) * tens * 10
    return starts, starts + 10 + tens


def as_valued(times: Any, batch: Any) -> tuple[Any, ...]:
    """As many windows for each record as its value says, modulo 3; none for a null. None of them need hold its time."""
    values = batch.column(batch.schema.get_field_index("v")).to_pylist()
    named = [(row, n) for row, value in enumerate(values) if value is not None for n in range(value % 3)]
    rows, places = np.array([row for row, _ in named], np.int64), np.array([n for _, n in named], np.int64)
    starts = times[rows] // 8 * 8 + places * 4
    return rows, starts, starts + 6


ASSIGNS: tuple[Assign, ...] = (growing, as_valued)


@dataclass(frozen=True, slots=True)
class Kind:
    """How pipelines of one kind of window are drawn.

    `order_free`: the panes left standing depend neither on the order of arrival nor on the cut into bundles.
    `cut_free`: on the cut they do not depend.
    """

    windows: Callable[[Domains], SearchStrategy[WindowKind]]
    domains: Domains = TIMES
    order_free: bool = True
    cut_free: bool = True
    merges: bool = False
    unusable: tuple[int | None, ...] = UNUSABLE

    def pipelines(self, **fields: Any) -> SearchStrategy[Pipeline]:
        """Any pipeline of this kind; `fields` as in `specs`."""
        some = specs(**{"window": self.windows(self.domains), **fields})
        return self._placed(with_script(some, unusable=self.unusable))

    def calm_pipelines(self, **fields: Any) -> SearchStrategy[Pipeline]:
        """Pipelines whose standing panes follow from the records alone, see `strategies.calm_pipelines`.

        Where panes replace each other, only taking back tells which of them stand.
        """
        calm: dict[str, Any] = {"window": self.windows(EVENT if self.order_free else self.domains)}
        if self.merges:
            calm["accumulation"] = Accumulation.RETRACTING
        return self._placed(calm_pipelines(**{**calm, **fields}))

    def _placed(self, drawn: SearchStrategy[Pipeline]) -> SearchStrategy[Pipeline]:
        """Calendar pipelines are moved to where clocks are changed."""
        return drawn.map(strategies_calendar.placed)


KINDS: dict[str, Kind] = {
    "plain": Kind(windows),
    "plain_arrival": Kind(windows, ARRIVAL, order_free=False),
    "cumulating": Kind(cumulatings),
    "calendar": Kind(calendars),
    "counting_stream": Kind(lambda _: countings(Scope.STREAM), ARRIVAL, order_free=False),
    "counting_by": Kind(
        lambda _: countings(Scope.STREAM, "ts"), ARRIVAL, order_free=False, cut_free=False, unusable=(None,)
    ),
    "counting_key": Kind(lambda _: countings(Scope.KEY), ARRIVAL, order_free=False),
    "counting_key_by": Kind(
        lambda _: countings(Scope.KEY, "ts"), ARRIVAL, order_free=False, cut_free=False, unusable=(None,)
    ),
    "custom": Kind(customs),
    "session": Kind(sessions, merges=True),
    "session_own_gaps": Kind(lambda domains: sessions(domains, own_gaps=True), merges=True),
    "session_arrival": Kind(lambda domains: sessions(domains, touching=False), ARRIVAL, order_free=False, merges=True),
    "session_limits": Kind(lambda domains: sessions(domains, limits=True), merges=True),
    "session_limits_own_gaps": Kind(lambda domains: sessions(domains, own_gaps=True, limits=True), merges=True),
    "sliding_trailing": Kind(lambda domains: slidings(Anchor.TRAILING, domains)),
    "sliding_forward": Kind(lambda domains: slidings(Anchor.FORWARD, domains)),
    "sliding_both": Kind(lambda domains: slidings(Anchor.BOTH, domains)),
}
"""Every kind of window by name, `plain` being tumbling, hopping and global."""
