"""The law, read slowly: a reference that runs a spec pane by pane and record by record.

Every pane keeps the whole list of its records, and each firing computes its values from that list again. Nothing here
is fast, and nothing is shared with the engine: where the two differ, `docs/semantics.md` says who is right.

    step ─► clock ─► judge each record ─► join panes, tell triggers ─► watermark ─► examine panes ─► retire

`oracle_time` reads the times of records, `oracle_intake` (with `oracle_sessions`, `oracle_sliding`) judges them and
finds their panes, `oracle_triggers` steps the triggers, `oracle_firing` says what leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fanlight.model.firing import Accumulation
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.triggers import OnSignal
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.testing.oracle.firing import (
    OraclePane,
    has_something_to_say,
    leaves_at_expiry,
    leaves_when_ready,
    rows_of,
    taken_back,
    timing_of,
)
from fanlight.testing.oracle.intake import Given, PaneAssignment, Panes, Place, TakenIn
from fanlight.testing.oracle.reach import Reach, closed, expired
from fanlight.testing.oracle.sessions import OracleSessions
from fanlight.testing.oracle.sliding import Slides
from fanlight.testing.oracle.time import ArrivedRecord, Timekeeper
from fanlight.testing.oracle.triggers import TriggerTime, fire, ready, tell, timer_due
from fanlight.testing.script import DeadLetter, Firing, Outcome, Record, Step, Transcript, ValueLetter


def run(spec: WindowSpec, steps: Sequence[Step]) -> Transcript:
    """What the law says comes out when `steps` go in, one after the other.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> spec = WindowSpec(time="ts", window=tumbling("10 us"), aggregates=(("n", count()),))
    >>> transcript = run(spec, [Step(records=({"ts": 3}, {"ts": 4})), Step(end=True)])
    >>> [(firing.window.end, firing.values) for firing in transcript.firings]
    [(10, {'n': 2})]
    """
    oracle = Oracle(spec)
    return Transcript([oracle.step(step) for step in steps])


class Oracle:
    """The state of one run; `step` takes it further."""

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.semantics = spec.semantics
        self.time = Timekeeper(spec)
        self.signal = False
        self.finish = False
        self.panes: Panes = {}
        self.joining = _joining(spec, self.panes)

    def step(self, step: Step) -> Outcome:
        """One step of the law, in its order."""
        before = self.time.reach
        if step.clock is not None:
            self.time.clock = max(self.time.clock, step.clock)
        if step.signal is not None or step.finish:
            self.signal = self.signal if step.signal is None else step.signal
            self.finish = step.finish
        read = self.time.read(step.records)
        arrivals = [one for one in read if isinstance(one, ArrivedRecord)]
        intake = self.joining.take_in(arrivals, before)
        for place, entries in intake.told.items():
            tell(self.panes[place].trigger, len(entries), self.time.clock, min(entry.time for entry in entries))
        self.time.advance(step, timed=bool(arrivals))
        firings: list[Firing | ValueLetter] = [*self._take_back(intake.replaced)]
        for place in sorted(self.panes, key=_output_order):
            firings += self._examine(
                self.panes[place], before, came=place in intake.told, signalled=step.signal is True
            )
        for pane in list(self.panes.values()):
            if expired(self.spec, pane.window, self._reach(pane)):
                del self.panes[pane.key, pane.window]
        letters = _letters(step.records, read, intake)
        leaving = tuple(one for one in firings if isinstance(one, Firing))
        withheld = tuple(one for one in firings if isinstance(one, ValueLetter))
        missed = intake.missed_windows
        return Outcome(
            leaving, letters, len(step.records), intake.accepted, missed_windows=missed, value_letters=withheld
        )

    def _reach(self, pane: OraclePane) -> Reach:
        return self.time.reach.of(pane.key)

    def _take_back(self, replaced: list[OraclePane]) -> list[Firing]:
        """The rows that take back what replaced panes have said; they stand before the firings of the step."""
        rows = [
            taken_back(self.spec, pane, closed=closed(self.spec, pane.window, self._reach(pane)))
            for pane in sorted(replaced, key=lambda pane: _output_order((pane.key, pane.window)))
        ]
        return [row for row in rows if row is not None]

    def _examine(self, pane: OraclePane, before: Reach, *, came: bool, signalled: bool) -> list[Firing | ValueLetter]:
        """Fire the pane if something happened to it and its trigger, or the closing rule, says so."""
        if pane.trigger.finished:
            return []
        then, reach = before.of(pane.key), self._reach(pane)
        now = TriggerTime(
            clock=self.time.clock,
            watermark=reach.watermark,
            closed=closed(self.spec, pane.window, reach),
            expired=expired(self.spec, pane.window, reach),
            signal=self.signal,
            finish=self.finish,
            delay_is_strict=self.semantics.delay_is_strict,
            event_timer_is_strict=self.semantics.event_timer_is_strict,
        )
        closed_now = now.closed and not closed(self.spec, pane.window, then)
        expired_now = now.expired and not expired(self.spec, pane.window, then)
        signalled = signalled and any(isinstance(part, OnSignal) for part in self.spec.trigger.walk())
        if not (came or closed_now or expired_now or signalled or timer_due(pane.trigger, now)):
            return []
        timing = timing_of(self.spec, pane, now, closed_now=closed_now)
        if ready(pane.trigger, now):
            fire(pane.trigger, now)
            is_last = now.expired or pane.trigger.finished
            leaves = leaves_when_ready(self.spec, pane, timing, is_last=is_last)
        elif now.expired:
            is_last = True
            leaves = leaves_at_expiry(self.spec, pane, timing)
        else:
            return []
        leaves = leaves and has_something_to_say(self.spec, pane)
        rows = rows_of(self.spec, pane, timing, is_last=is_last) if leaves else []
        pane.pending = []
        if self.spec.accumulation is Accumulation.DISCARDING or pane.trigger.finished:
            pane.entries = []
        return rows


def _joining(spec: WindowSpec, panes: Panes) -> PaneAssignment:
    match spec.window:
        case Session() as kind:
            return OracleSessions(spec, kind, panes)
        case Sliding() as kind:
            return Slides(spec, kind, panes)
    return Given(spec, panes)


def _letters(
    records: Sequence[Record], read: Sequence[ArrivedRecord | Reason], intake: TakenIn
) -> tuple[DeadLetter, ...]:
    """The records that were not accepted, in order of arrival, and why."""
    fates = [one if isinstance(one, Reason) else intake.dead.get(one.number) for one in read]
    return tuple((fate, record) for fate, record in zip(fates, records, strict=True) if fate is not None)


def _output_order(place: Place) -> tuple[int, int, list[tuple[int, Any]]]:
    """By window end, window start, key; of the key values NaN comes after every number, and null last."""
    key, window = place
    return window.end, window.start, [_key_order(value) for value in key]


def _key_order(value: Any) -> tuple[int, Any]:
    if value is None:
        return 2, 0
    if isinstance(value, float) and math.isnan(value):
        return 1, 0
    return 0, value
