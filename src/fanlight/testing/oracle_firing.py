"""A firing that leaves: the law's emission table, timing, numbers, time and operations.

A pane holds every record that came to it. What a firing says is computed from those records, each time anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fanlight.model.aggregates import Aggregate, UserAggregate
from fanlight.model.firing import Accumulation, FiringTime, Op, Timing
from fanlight.model.kinds import domain_of
from fanlight.model.semantics import Closing, OnTime
from fanlight.model.spec import WindowSpec
from fanlight.model.windows import WHOLE_TIME, TimeDomain, Window
from fanlight.testing.oracle_aggregates import compute, given
from fanlight.testing.oracle_range import told_exactly
from fanlight.testing.oracle_triggers import Moment, Node
from fanlight.testing.script import Firing, Key, Record, ValueLetter, same


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as it came to a pane; `number` counts all records that came."""

    number: int
    record: Record
    time: int
    behind: bool
    came_before_close: bool


@dataclass(slots=True)
class Pane:
    """One (key, window) and what came to it, in order of arrival.

    `entries` are its content: in discarding mode each firing empties them, so they are the pending ones.
    `index` and `revision` are the numbers of the next firing.
    """

    key: Key
    window: Window
    trigger: Node
    entries: list[Entry] = field(default_factory=list)
    pending: list[Entry] = field(default_factory=list)
    index: int = 0
    revision: int = 0
    last_values: dict[str, Any] | None = None

    def join(self, entries: list[Entry], pending: list[Entry] | None = None) -> None:
        """Take records in, in order of arrival; all of them are pending, or those that are said to be."""
        self.entries = _by_arrival(self.entries + entries)
        self.pending = _by_arrival(self.pending + (entries if pending is None else pending))


def _by_arrival(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.number)


def timing_of(spec: WindowSpec, pane: Pane, now: Moment, *, closed_now: bool) -> Timing:
    """Where the firing stands to the close of its window; `closed_now`: it closed in this step."""
    if spec.fires_once:
        return Timing.ON_TIME
    if not now.closed:
        return Timing.EARLY
    none_left_since_close = pane.revision == 0
    if none_left_since_close and (closed_now or any(entry.came_before_close for entry in pane.pending)):
        return Timing.ON_TIME
    return Timing.LATE


def leaves_when_ready(spec: WindowSpec, pane: Pane, timing: Timing, *, is_last: bool) -> bool:
    """Whether a firing that the trigger asked for leaves."""
    is_new, has_content = bool(pane.pending), bool(pane.entries)
    if is_last and spec.semantics.closing is Closing.ALWAYS:
        return True
    if timing is not Timing.ON_TIME:
        return is_new or (spec.semantics.refires and has_content)
    match spec.semantics.on_time:
        case OnTime.ALWAYS:
            return True
        case OnTime.IF_CONTENT:
            return has_content
        case OnTime.IF_NEW:
            return is_new


def leaves_at_expiry(spec: WindowSpec, pane: Pane, timing: Timing) -> bool:
    """Whether a firing that no trigger asked for leaves because the window expired."""
    match spec.semantics.closing:
        case Closing.NEVER:
            return False
        case Closing.IF_NEW:
            return bool(pane.pending) or (timing is Timing.ON_TIME and spec.semantics.on_time is OnTime.ALWAYS)
        case Closing.ALWAYS:
            return True


def rows_of(spec: WindowSpec, pane: Pane, timing: Timing, *, is_last: bool) -> list[Firing | ValueLetter]:
    """The output rows of a firing that leaves: none under `updated_only` if it says what the last one said.

    If a value of it cannot be represented, a letter that tells it; the pane is as if it had said nothing.
    """
    values = {name: _value(aggregate, pane) for name, aggregate in spec.aggregates}
    told = {name: told_exactly(aggregate, values[name]) for name, aggregate in spec.aggregates}
    beyond = tuple(name for name in values if told[name] is not None)
    if beyond:
        return [ValueLetter(pane.key, pane.window, values | {name: told[name] for name in beyond}, beyond)]
    previous = pane.last_values
    if spec.updated_only and previous is not None and same(values, previous):
        return []

    def row(op: Op, said: dict[str, Any]) -> Firing:
        revision = -1 if timing is Timing.EARLY else pane.revision
        time = _firing_time(spec, pane)
        return Firing(pane.key, pane.window, said, op, timing, pane.index, revision, is_last, time)

    if previous is None or spec.accumulation is Accumulation.DISCARDING:
        rows: list[Firing | ValueLetter] = [row(Op.INSERT, values)]
    elif spec.accumulation is Accumulation.ACCUMULATING:
        rows = [row(Op.UPDATE, values)]
    else:
        rows = [row(Op.RETRACT, _taken_back(spec, previous)), row(Op.UPDATE, values)]
    pane.last_values = values
    pane.index += 1
    pane.revision += timing is not Timing.EARLY
    return rows


def taken_back(spec: WindowSpec, pane: Pane, *, closed: bool) -> Firing | None:
    """The row that takes back a pane that another one replaces; None if it has said nothing."""
    if spec.accumulation is not Accumulation.RETRACTING or pane.last_values is None:
        return None
    values = _taken_back(spec, pane.last_values)
    timing, revision = (Timing.LATE, pane.revision) if closed else (Timing.EARLY, -1)
    time = _firing_time(spec, pane)
    return Firing(pane.key, pane.window, values, Op.DELETE, timing, pane.index, revision, is_last=True, time=time)


def _taken_back(spec: WindowSpec, values: dict[str, Any]) -> dict[str, Any]:
    said = dict(spec.aggregates)
    return {
        name: aggregate.retraction(value) if isinstance(aggregate := said[name], UserAggregate) else value
        for name, value in values.items()
    }


def _value(aggregate: Aggregate, pane: Pane) -> Any:
    return compute(aggregate, [(entry.time, given(aggregate, entry.record)) for entry in pane.entries])


def _firing_time(spec: WindowSpec, pane: Pane) -> int | None:
    if domain_of(spec.window) is TimeDomain.ARRIVAL:
        return None  # positions are no time
    last_instant = None if pane.window == WHOLE_TIME else pane.window.end - spec.tick.micros
    if spec.semantics.holds:
        times = [entry.time for entry in pane.pending if not entry.behind]
    else:
        times = [entry.time for entry in pane.entries]
    match spec.firing_time:
        case FiringTime.END:
            return last_instant
        case FiringTime.EARLIEST:
            return min(times, default=last_instant)
        case FiringTime.LATEST:
            return max(times, default=last_instant)
