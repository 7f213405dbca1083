"""A firing that leaves: the law's emission table, timing, numbers, time and operations.

A pane holds every record that came to it. What a firing says is computed from those records, each time anew.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fanlight.model.aggregates import Aggregate, UserAggregate
from fanlight.model.firing import Accumulation, FiringTime, Op, Timing
from fanlight.model.semantics import Closing, OnTime
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.windows.window import WHOLE_TIME, Window
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.oracle.triggers import TriggerNode, TriggerTime
from fanlight.testing.oracle.value_range import told_exactly
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
class OraclePane:
    """One (key, window) and what came to it, in order of arrival.

    `entries` are its content: in discarding mode each firing empties them, so they are the pending ones.
    `number` and `revision` are those of the next firing.
    """

    key: Key
    window: Window
    trigger: TriggerNode
    entries: list[Entry] = field(default_factory=list)
    pending: list[Entry] = field(default_factory=list)
    number: int = 0
    revision: int = 0
    last_values: dict[str, Any] | None = None

    @property
    def has_content(self) -> bool:
        """Whether a record is left in it."""
        return bool(self.entries)

    def take_back(self, entry: Entry, columns: Collection[str]) -> None:
        """Let a delete come: the oldest record of its time that is equal to it in these columns is taken back."""
        self.pending = _by_arrival([*self.pending, entry])
        for place, other in enumerate(self.entries):
            if other.time == entry.time and all(same(other.record[name], entry.record[name]) for name in columns):
                del self.entries[place]
                return

    def join(self, entries: list[Entry], pending: list[Entry] | None = None) -> None:
        """Take records in, in order of arrival; all of them are pending, or those that are said to be."""
        self.entries = _by_arrival(self.entries + entries)
        self.pending = _by_arrival(self.pending + (entries if pending is None else pending))


def _by_arrival(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.number)


def timing_of(spec: WindowSpec, pane: OraclePane, now: TriggerTime, *, closed_now: bool) -> Timing:
    """Where the firing stands to the close of its window; `closed_now`: it closed in this step."""
    if spec.fires_once:
        return Timing.ON_TIME
    if not now.closed:
        return Timing.EARLY
    none_left_since_close = pane.revision == 0
    if none_left_since_close and (closed_now or any(entry.came_before_close for entry in pane.pending)):
        return Timing.ON_TIME
    return Timing.LATE


def leaves_when_ready(spec: WindowSpec, pane: OraclePane, timing: Timing, *, is_last: bool) -> bool:
    """Whether a firing that the trigger asked for leaves."""
    is_new, has_content = bool(pane.pending), pane.has_content or _must_take_back(spec, pane)
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


def leaves_at_expiry(spec: WindowSpec, pane: OraclePane, timing: Timing) -> bool:
    """Whether a firing that no trigger asked for leaves because the window expired."""
    match spec.semantics.closing:
        case Closing.NEVER:
            return False
        case Closing.IF_NEW:
            return bool(pane.pending) or (timing is Timing.ON_TIME and spec.semantics.on_time is OnTime.ALWAYS)
        case Closing.ALWAYS:
            return True


def _must_take_back(spec: WindowSpec, pane: OraclePane) -> bool:
    """Whether a pane that changes may have emptied has shown something."""
    return spec.changes is not None and pane.last_values is not None


def has_something_to_say(spec: WindowSpec, pane: OraclePane) -> bool:
    """Whether a firing can leave at all: where changes come, not if nothing is left and nothing was shown."""
    return spec.changes is None or pane.has_content or pane.last_values is not None


def rows_of(spec: WindowSpec, pane: OraclePane, timing: Timing, *, is_last: bool) -> list[Firing | ValueLetter]:
    """The output rows of a firing that leaves: none under `updated_only` if it says what the last one said.

    If a value of it cannot be represented, a letter that tells it; the pane is as if it had said nothing.
    """
    if spec.changes is not None and not pane.has_content:
        return [_emptied(spec, pane, timing, is_last=is_last)]
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
        return Firing(pane.key, pane.window, said, op, timing, pane.number, revision, is_last, time)

    if previous is None or spec.accumulation is Accumulation.DISCARDING:
        rows: list[Firing | ValueLetter] = [row(Op.INSERT, values)]
    elif spec.accumulation is Accumulation.ACCUMULATING:
        rows = [row(Op.UPDATE, values)]
    else:
        rows = [row(Op.RETRACT, _taken_back(spec, previous)), row(Op.UPDATE, values)]
    pane.last_values = values
    pane.number += 1
    pane.revision += timing is not Timing.EARLY
    return rows


def _emptied(spec: WindowSpec, pane: OraclePane, timing: Timing, *, is_last: bool) -> Firing:
    """The row that takes back what a pane has shown, because no record is left in it."""
    assert pane.last_values is not None
    values, revision = _taken_back(spec, pane.last_values), -1 if timing is Timing.EARLY else pane.revision
    time = _firing_time(spec, pane)
    row = Firing(pane.key, pane.window, values, Op.DELETE, timing, pane.number, revision, is_last, time)
    pane.last_values = None
    pane.number += 1
    pane.revision += timing is not Timing.EARLY
    return row


def taken_back(spec: WindowSpec, pane: OraclePane, *, closed: bool) -> Firing | None:
    """The row that takes back a pane that another one replaces; None if it has said nothing."""
    if spec.accumulation is not Accumulation.RETRACTING or pane.last_values is None:
        return None
    values = _taken_back(spec, pane.last_values)
    timing, revision = (Timing.LATE, pane.revision) if closed else (Timing.EARLY, -1)
    time = _firing_time(spec, pane)
    return Firing(pane.key, pane.window, values, Op.DELETE, timing, pane.number, revision, is_last=True, time=time)


def _taken_back(spec: WindowSpec, values: dict[str, Any]) -> dict[str, Any]:
    said = dict(spec.aggregates)
    return {
        name: aggregate.retraction(value) if isinstance(aggregate := said[name], UserAggregate) else value
        for name, value in values.items()
    }


def _value(aggregate: Aggregate, pane: OraclePane) -> Any:
    return compute(aggregate, [(entry.time, given(aggregate, entry.record)) for entry in pane.entries])


def _firing_time(spec: WindowSpec, pane: OraclePane) -> int | None:
    if spec.window.bounds_domain is TimeDomain.ARRIVAL:
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
