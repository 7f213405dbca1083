"""The law, read slowly: a reference that runs a spec pane by pane and record by record.

Every pane keeps the whole list of its records, and each firing computes its values from that list again. Nothing here
is fast, and nothing is shared with the engine: where the two differ, `docs/semantics.md` says who is right.

    step ─► clock ─► judge each record ─► join panes, tell triggers ─► watermark ─► examine panes ─► retire
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.firing import Accumulation
from fanlight.model.letters import Reason
from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, later
from fanlight.model.triggers import OnSignal
from fanlight.model.watermarks import BoundedDisorder, Explicit, FixedDistance
from fanlight.model.windows import WHOLE_TIME, Global, Hopping, Same, Tumbling, Window
from fanlight.testing.oracle_firing import Entry, Pane, leaves_at_expiry, leaves_when_ready, rows_of, timing_of
from fanlight.testing.oracle_triggers import Moment, Node, fire, ready, tell, timer_due
from fanlight.testing.script import DeadLetter, Firing, Key, Outcome, Record, Step, Transcript, as_key


def run(spec: WindowSpec, steps: Sequence[Step]) -> Transcript:
    """What the law says comes out when `steps` go in, one after the other.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows import tumbling
    >>> spec = WindowSpec(time="ts", window=tumbling("10 us"), aggregates=(("n", count()),))
    >>> transcript = run(spec, [Step(records=({"ts": 3}, {"ts": 4})), Step(end=True)])
    >>> [(firing.window.end, firing.values) for firing in transcript.firings]
    [(10, {'n': 2})]
    """
    oracle = Oracle(spec)
    return Transcript([oracle.step(step) for step in steps])


@dataclass(frozen=True, slots=True)
class Reach:
    """How far event time has come; at the end of the input everything is over, whatever its lateness."""

    watermark: int = START_OF_TIME
    ended: bool = False


@dataclass(slots=True)
class Intake:
    """What became of a bundle: what came to which pane, and the records that came to none."""

    came: dict[tuple[Key, Window], list[Entry]] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    accepted: int = 0


class Oracle:
    """The state of one run; `step` takes it further."""

    def __init__(self, spec: WindowSpec) -> None:
        if not isinstance(spec.watermark, Explicit | BoundedDisorder | FixedDistance):
            raise SpecError(
                f"oracle: `watermark` ({type(spec.watermark).__name__}) needs several inputs, and a script has one. "
                "Combine the watermarks first and give them to the steps of an Explicit spec."
            )
        self.spec = spec
        self.semantics = spec.semantics
        self.clock = 0
        self.reach = Reach()
        self.greatest_time: int | None = None
        self.published_at: int | None = None
        self.signal = False
        self.finish = False
        self.panes: dict[tuple[Key, Window], Pane] = {}

    def step(self, step: Step) -> Outcome:
        """One step of the law, in its order."""
        before = self.reach
        if step.clock is not None:
            self.clock = max(self.clock, step.clock)
        if step.signal is not None or step.finish:
            self.signal = self.signal if step.signal is None else step.signal
            self.finish = step.finish
        intake = self._take_in(step.records, before)
        for place, entries in intake.came.items():
            tell(self.panes[place].trigger, len(entries), self.clock, min(entry.time for entry in entries))
        self.reach = self._next_reach(step)
        firings: list[Firing] = []
        for place in sorted(self.panes, key=_output_order):
            firings += self._examine(
                self.panes[place], before, came=place in intake.came, signalled=step.signal is True
            )
        self.panes = {place: pane for place, pane in self.panes.items() if not self._expired(pane.window, self.reach)}
        return Outcome(tuple(firings), tuple(intake.dead_letters), len(step.records), intake.accepted)

    # ── records ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _take_in(self, records: Sequence[Record], before: Reach) -> Intake:
        """Judge each record and let the accepted ones join their panes.

        No trigger finishes before the panes are examined, so the bundle is judged as a whole.
        """
        intake = Intake()
        reach = before
        for record in records:
            time = self._time(record)
            if isinstance(time, Reason):
                intake.dead_letters.append((time, record))
                continue
            reach = self._judged_against(reach, time)
            windows = self._judge(record, time, reach)
            if isinstance(windows, Reason):
                intake.dead_letters.append((windows, record))
                continue
            intake.accepted += 1
            key = self._key(record)
            for window in windows:
                entry = Entry(record, time, time < reach.watermark, not self._closed(window, before))
                pane = self.panes.setdefault((key, window), Pane(key, window, Node.of(self.spec.trigger)))
                pane.entries.append(entry)
                pane.pending.append(entry)
                intake.came.setdefault((key, window), []).append(entry)
        return intake

    def _time(self, record: Record) -> int | Reason:
        """A record's time. In processing time it is the clock, or the watermark where that instant is over."""
        if self.spec.in_processing_time:
            return max(self.clock, self.reach.watermark)
        time: int | None = record[self.spec.time]
        if time is None:
            return Reason.NULL_TIME
        return time if EARLIEST <= time <= LATEST else Reason.TIME_OUT_OF_RANGE

    def _judged_against(self, reach: Reach, time: int) -> Reach:
        """What a record is judged against: with a per-record strategy, also the records before it and itself."""
        if self.spec.in_processing_time or not isinstance(self.spec.watermark, BoundedDisorder):
            return reach
        self.greatest_time = time if self.greatest_time is None else max(self.greatest_time, time)
        if not self.spec.watermark.per_record:
            return reach
        return Reach(max(reach.watermark, time - self.spec.watermark.delay.micros), reach.ended)

    def _judge(self, record: Record, time: int, reach: Reach) -> list[Window] | Reason:
        """The windows a record joins, or why it joins none."""
        windows = list(self._windows(time))
        if not windows:
            return Reason.NO_WINDOW
        if self.semantics.late_by is LateBy.RECORD and self._is_late_record(time, reach):
            return Reason.EXPIRED
        alive = [window for window in windows if not self._expired(window, reach)]
        if not alive:
            return Reason.EXPIRED
        key = self._key(record)
        joined = [window for window in alive if not self._finished(key, window)]
        return joined or Reason.FINISHED

    def _is_late_record(self, time: int, reach: Reach) -> bool:
        return reach.ended or (not self.spec.lateness.is_forever and time < reach.watermark - self.spec.lateness.micros)

    def _finished(self, key: Key, window: Window) -> bool:
        pane = self.panes.get((key, window))
        return pane is not None and pane.trigger.finished

    def _key(self, record: Record) -> Key:
        return as_key(record.get(name) for name in self.spec.keys)

    # ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _windows(self, time: int) -> Iterator[Window]:
        """Every window with `start <= time < end` that the semantics allow."""
        match self.spec.window:
            case Global() | Same(of=Global()):
                yield WHOLE_TIME
                return
            case Same(of=Tumbling() | Hopping() as of):
                yield Window(time, time + of.size.micros)
                return
            case Tumbling(size=size, offset=offset):
                every = size
            case Hopping(size=size, every=every, offset=offset):
                pass
            case other:
                raise SpecError(f"oracle: window {other!r} is not one it knows. Use tumbling, hopping or global.")
        k = (time - size.micros - offset.micros) // every.micros
        while k * every.micros + offset.micros <= time:
            start = k * every.micros + offset.micros
            too_early = self.semantics.earliest_start is not None and start < self.semantics.earliest_start
            if time < start + size.micros and not too_early:
                yield Window(start, start + size.micros)
            k += 1

    def _closed(self, window: Window, reach: Reach) -> bool:
        if reach.watermark == END_OF_TIME:
            return True
        return reach.watermark > window.end if self.semantics.closes_after_end else reach.watermark >= window.end

    def _expired(self, window: Window, reach: Reach) -> bool:
        if reach.ended or self.spec.lateness.is_forever:
            return reach.ended
        if reach.watermark == END_OF_TIME:
            return True
        horizon = later(window.end, self.spec.lateness.micros)
        return reach.watermark > horizon if self.semantics.expires_after_horizon else reach.watermark >= horizon

    # ── the watermark ────────────────────────────────────────────────────────────────────────────────────────────

    def _next_reach(self, step: Step) -> Reach:
        """The new watermark, which never goes back."""
        if step.end or self.reach.ended:
            return Reach(END_OF_TIME, ended=True)
        candidates = [self.reach.watermark]
        if self.spec.in_processing_time:
            instant = self.spec.tick.micros if self.semantics.clock_instant_is_over else 0
            candidates.append(self.clock + instant)
            return Reach(max(candidates))
        if step.watermark is not None:
            candidates.append(step.watermark)
        match self.spec.watermark:
            case BoundedDisorder(delay=delay, every=every):
                has_time = any(not isinstance(self._time(record), Reason) for record in step.records)
                is_due = every is None or self.published_at is None or self.clock >= self.published_at + every.micros
                if has_time and is_due and self.greatest_time is not None:
                    self.published_at = self.clock
                    candidates.append(self.greatest_time - delay.micros)
            case FixedDistance(distance=distance):
                candidates.append(self.clock - distance.micros)
        return Reach(max(candidates))

    # ── firings ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _examine(self, pane: Pane, before: Reach, *, came: bool, signalled: bool) -> list[Firing]:
        """Fire the pane if something happened to it and its trigger, or the closing rule, says so."""
        if pane.trigger.finished:
            return []
        now = Moment(
            clock=self.clock,
            watermark=self.reach.watermark,
            closed=self._closed(pane.window, self.reach),
            expired=self._expired(pane.window, self.reach),
            signal=self.signal,
            finish=self.finish,
            delay_is_strict=self.semantics.delay_is_strict,
            event_timer_is_strict=self.semantics.event_timer_is_strict,
        )
        closed_now = now.closed and not self._closed(pane.window, before)
        expired_now = now.expired and not self._expired(pane.window, before)
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
        rows = rows_of(self.spec, pane, timing, is_last=is_last) if leaves else []
        pane.pending = []
        if self.spec.accumulation is Accumulation.DISCARDING or pane.trigger.finished:
            pane.entries = []
        return rows


def _output_order(place: tuple[Key, Window]) -> tuple[int, int, list[tuple[int, Any]]]:
    """By window end, window start, key; of the key values NaN comes after every number, and null last."""
    key, window = place
    return window.end, window.start, [_key_order(value) for value in key]


def _key_order(value: Any) -> tuple[int, Any]:
    if value is None:
        return 2, 0
    if isinstance(value, float) and math.isnan(value):
        return 1, 0
    return 0, value
