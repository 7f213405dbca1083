"""Sliding windows: one for each distinct set of a key's records that lie close together."""

from __future__ import annotations

from collections.abc import Sequence

from fanlight.model.reason import Reason
from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.firing import OraclePane
from fanlight.testing.oracle.intake import Panes, TakenIn, by_key, entry_of
from fanlight.testing.oracle.reach import Reach, expired, too_far_back
from fanlight.testing.oracle.time import ArrivedRecord
from fanlight.testing.oracle.triggers import TriggerNode
from fanlight.testing.script import Key


class Slides:
    """Keeps every accepted record of each key, for the windows that come into being later."""

    def __init__(self, spec: WindowSpec, kind: Sliding, panes: Panes) -> None:
        self.spec = spec
        self.kind = kind
        self.panes = panes
        self.held: dict[Key, list[ArrivedRecord]] = {}

    def take_in(self, arrivals: Sequence[ArrivedRecord], before: Reach) -> TakenIn:
        intake = TakenIn()
        for key, came in by_key(arrivals):
            accepted = self._judge(key, came, before, intake)
            intake.accepted += len(accepted)
            fates = [intake.dead.get(arrival.number) for arrival in came]
            intake.missed_windows += fates.count(Reason.EXPIRED) + fates.count(Reason.FINISHED)
            intake.missed_windows += sum(self._misses_its_own(arrival, before) for arrival in accepted)
            self.held.setdefault(key, []).extend(accepted)
            for window in self._windows(self.held[key]):
                if not expired(self.spec, window, before):
                    self._join(key, window, accepted, before, intake)
        return intake

    # ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _judge(self, key: Key, came: list[ArrivedRecord], before: Reach, intake: TakenIn) -> list[ArrivedRecord]:
        """The records that are accepted; why the others are not goes to `intake`.

        A record that is refused makes no windows, and without these more may be refused: judged until nothing changes.
        """
        left = came
        while True:
            dead = self._refused(key, left, before)
            if not dead:
                return left
            intake.dead |= dead
            left = [arrival for arrival in left if arrival.number not in dead]

    def _refused(self, key: Key, came: list[ArrivedRecord], before: Reach) -> dict[int, Reason]:
        """The records that no window takes: first those that none covers, then those too late, then the finished."""
        early = [arrival for arrival in came if not _holds(self._own(arrival), arrival)]
        if early:
            return {arrival.number: Reason.NO_WINDOW for arrival in early}
        held = self.held.get(key, [])
        in_time = [arrival for arrival in came if not expired(self.spec, self._own(arrival), arrival.reach)]
        windows = self._anchored([*held, *in_time])
        late = [arrival for arrival in came if self._too_late(arrival, windows)]
        if late:
            return {arrival.number: Reason.EXPIRED for arrival in late}
        windows = [window for window in self._windows([*held, *came]) if not expired(self.spec, window, before)]
        shut = [arrival for arrival in came if self._is_shut_out(key, arrival, windows)]
        return {arrival.number: Reason.FINISHED for arrival in shut}

    def _too_late(self, arrival: ArrivedRecord, windows: list[Window]) -> bool:
        """Whether every window has expired that holds the record."""
        if self.spec.semantics.late_by is LateBy.RECORD:
            return too_far_back(self.spec, arrival.time, arrival.reach)
        holding = [self._own(arrival), *(window for window in windows if _holds(window, arrival))]
        return all(expired(self.spec, window, arrival.reach) for window in holding)

    def _is_shut_out(self, key: Key, arrival: ArrivedRecord, windows: list[Window]) -> bool:
        """Whether every window that holds the record has finished."""
        panes = [self.panes.get((key, window)) for window in windows if _holds(window, arrival)]
        return bool(panes) and all(pane is not None and pane.trigger.finished for pane in panes)

    def _misses_its_own(self, arrival: ArrivedRecord, before: Reach) -> bool:
        """Whether an accepted record counts in windows of others only."""
        own = self._own(arrival)
        pane = self.panes.get((arrival.key, own))
        return expired(self.spec, own, before) or (pane is not None and pane.trigger.finished)

    # ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _own(self, arrival: ArrivedRecord) -> Window:
        """The window that starts at the record, or ends at it."""
        reaches_back = 0 if self.kind.anchor is Anchor.FORWARD else self.kind.difference.micros
        return self._starting(arrival.time - reaches_back)

    def _starting(self, start: int) -> Window:
        """The window from `start`; one that would start too early starts where it may."""
        earliest = self.spec.semantics.earliest_start
        start = start if earliest is None else max(start, earliest)
        return Window(start, start + self.kind.difference.micros + self.spec.tick.micros)

    def _windows(self, held: list[ArrivedRecord]) -> list[Window]:
        """The windows of these records of a key."""
        return [window for window in self._anchored(held) if any(_holds(window, arrival) for arrival in held)]

    def _anchored(self, held: list[ArrivedRecord]) -> list[Window]:
        """Where these records have windows, also those that start after one and wait for another to be in them."""
        windows = [self._own(arrival) for arrival in held]
        if self.kind.anchor is Anchor.BOTH:
            windows += [self._starting(arrival.time + self.spec.tick.micros) for arrival in held]
        return list(dict.fromkeys(windows))

    def _join(self, key: Key, window: Window, accepted: list[ArrivedRecord], before: Reach, intake: TakenIn) -> None:
        """Let records join a window that is there; one that comes into being holds every record of the key in it."""
        place = (key, window)
        pane = self.panes.get(place)
        if pane is not None and pane.trigger.finished:
            return
        joining = accepted
        if pane is None:
            pane = self.panes[place] = OraclePane(key, window, TriggerNode.of(self.spec.trigger))
            joining = self.held[key]
        entries = [entry_of(self.spec, arrival, window, before) for arrival in joining if _holds(window, arrival)]
        if entries:
            pane.join(entries)
            intake.told[place] = entries


def _holds(window: Window, arrival: ArrivedRecord) -> bool:
    return window.start <= arrival.time < window.end
