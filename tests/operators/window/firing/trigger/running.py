"""A trigger at work in some panes side by side, as an operator runs it; every answer is a list, one entry a pane."""

from __future__ import annotations

from typing import Any

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Groups
from fanlight.model.semantics import Semantics
from fanlight.model.triggers import Trigger
from fanlight.operators.ingest.inputs import Signal
from fanlight.operators.window.firing.trigger import News, Now, State, build

Each = bool | list[bool]
"""The same for all panes, or one for each."""


class Running:
    """`panes` new panes under one trigger. They are told of records, asked, fired and merged by hand."""

    def __init__(self, trigger: Trigger, panes: int = 1, **semantics: Any) -> None:
        self.trigger = build(trigger, Semantics(**semantics))
        self.state = self._fresh(panes)

    @property
    def panes(self) -> int:
        return len(self.state["pending"])

    def told(self, *counts: int, clock: int = 0, least: int = 0) -> Running:
        """So many records came to each pane, all at `clock`, the earliest of time `least`; none: it hears nothing."""
        came = np.array(counts, np.int64)
        self.trigger.told(self.state, came > 0, News(came, clock, np.full(len(came), least)))
        return self

    def ready(self, **now: Any) -> list[bool]:
        """Which panes would fire; see `at` for the moment."""
        return self._is_ready(self.at(**now)).tolist()

    def fire(self, **now: Any) -> list[bool]:
        """Fire the panes that are ready, as an operator does; which these were."""
        moment = self.at(**now)
        ready = self._is_ready(moment)
        self.trigger.fired(self.state, ready, moment)
        return ready.tolist()

    def reset(self, *panes: int) -> Running:
        self.trigger.reset(self.state, np.isin(np.arange(self.panes), panes))
        return self

    def merge(self, *groups: int, closed: Each = False) -> Running:
        """Pane i becomes part of pane `groups[i]`; `closed` says whose windows of the new panes are closed."""
        count = len(closed) if isinstance(closed, list) else max(groups) + 1
        into = self._fresh(count)
        kinds = {name: column.dtype for name, column in into.items()}
        self.trigger.merge(self.state, Groups(np.array(groups), count), self._each(closed, count), into)
        assert {name: column.dtype for name, column in into.items()} == kinds
        self.state = into
        return self

    @property
    def finished(self) -> list[bool]:
        return self.trigger.done(self.state).tolist()

    @property
    def due(self) -> list[tuple[int, int]]:
        """When the next timers ring: by the clock, by the watermark."""
        by_clock, by_watermark = self.trigger.due(self.state)
        return list(zip(by_clock.tolist(), by_watermark.tolist(), strict=True))

    def at(
        self,
        clock: int = 0,
        watermark: int = 0,
        closed: Each = False,
        expired: Each = False,
        signal: bool = False,
        finish: bool = False,
    ) -> Now:
        """The moment a trigger is asked about."""
        sides = self._each(closed, self.panes), self._each(expired, self.panes)
        return Now(*sides, watermark, clock, Signal(signal, finish, signal))

    def _is_ready(self, moment: Now) -> Bools:
        """A trigger that has finished is not asked."""
        return self.trigger.ready(self.state, moment) & ~self.trigger.done(self.state)

    def _fresh(self, panes: int) -> State:
        columns = {name: np.full(panes, value, dtype) for name, (dtype, value) in self.trigger.columns.items()}
        return {"pending": np.zeros(panes, np.int64)} | columns

    def _each(self, answer: Each, count: int) -> Bools:
        return np.full(count, answer) if isinstance(answer, bool) else np.array(answer, np.bool_)
