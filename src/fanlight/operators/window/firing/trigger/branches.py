"""Triggers that are made of other triggers."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Groups, Ints
from fanlight.operators.window.firing.trigger.node import NOT_DUE, Finishing, News, Node, Now, State, length


class Branch(Finishing):
    """A trigger with parts."""

    def __init__(self, name: str, parts: list[Node]) -> None:
        super().__init__(name)
        self.parts = parts

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        own = super().columns
        for part in self.parts:
            own = own | part.columns
        return own

    def told(self, state: State, mask: Bools, news: News) -> None:
        for part in self.parts:
            part.told(state, mask & ~part.done(state), news)

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        for part in self.parts:
            part.merge(olds, groups, closed, into)
        into[f"{self.name}.done"] = self.finished(into)

    def finished(self, merged: State) -> Bools:
        """Which merged panes this trigger has finished in, given the state of its parts."""
        return np.zeros(length(merged), np.bool_)

    def reset(self, state: State, mask: Bools) -> None:
        super().reset(state, mask)
        for part in self.parts:
            part.reset(state, mask)

    def due(self, state: State) -> tuple[Ints, Ints]:
        """The earliest timer of the parts that are active."""
        clock = watermark = np.full(length(state), NOT_DUE)
        for part, active in zip(self.parts, self.active(state), strict=True):
            by_clock, by_watermark = part.due(state)
            clock = np.minimum(clock, np.where(active, by_clock, NOT_DUE))
            watermark = np.minimum(watermark, np.where(active, by_watermark, NOT_DUE))
        return clock, watermark

    def active(self, state: State) -> list[Bools]:
        """For each part, the panes in which it is active."""
        running = ~self.done(state)
        return [running & ~part.done(state) for part in self.parts]


class AnyNode(Branch):
    """Ready when one part is."""

    def ready(self, state: State, now: Now) -> Bools:
        ready = np.zeros(length(state), np.bool_)
        for part in self.parts:
            ready |= part.ready(state, now) & ~part.done(state)
        return ready

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        for part in self.parts:
            part.fired(state, mask & part.ready(state, now) & ~part.done(state), now)
        self.finish(state, mask)

    def finished(self, merged: State) -> Bools:
        return _any([part.done(merged) for part in self.parts])


class AllNode(Branch):
    """Ready when every unfinished part is."""

    def ready(self, state: State, now: Now) -> Bools:
        ready = np.ones(length(state), np.bool_)
        for part in self.parts:
            ready &= part.ready(state, now) | part.done(state)
        return ready

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        for part in self.parts:
            part.fired(state, mask & ~part.done(state), now)
        self.finish(state, mask)

    def finished(self, merged: State) -> Bools:
        return ~_any([~part.done(merged) for part in self.parts])


class InOrderNode(Branch):
    """Ready when its first unfinished part is."""

    def told(self, state: State, mask: Bools, news: News) -> None:
        for part, active in zip(self.parts, self.active(state), strict=True):
            part.told(state, mask & active, news)

    def ready(self, state: State, now: Now) -> Bools:
        ready = np.zeros(length(state), np.bool_)
        for part, active in zip(self.parts, self.active(state), strict=True):
            ready |= active & part.ready(state, now)
        return ready

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        for part, active in zip(self.parts, self.active(state), strict=True):
            part.fired(state, mask & active, now)
        self.finish(state, mask & self.parts[-1].done(state))

    def finished(self, merged: State) -> Bools:
        return self.parts[-1].done(merged).copy()

    def active(self, state: State) -> list[Bools]:
        remaining = ~self.done(state)
        masks = []
        for part in self.parts:
            done = part.done(state)
            masks.append(remaining & ~done)
            remaining = remaining & done
        return masks


class RepeatNode(Branch):
    """Ready when its part is; the part starts again when it has finished."""

    def ready(self, state: State, now: Now) -> Bools:
        return self.parts[0].ready(state, now)

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        part = self.parts[0]
        part.fired(state, mask, now)
        part.reset(state, mask & part.done(state))


class UntilNode(Branch):
    """Ready when either part is; the second ends it."""

    def ready(self, state: State, now: Now) -> Bools:
        main, until = self.parts
        return (main.ready(state, now) & ~main.done(state)) | until.ready(state, now)

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        main, until = self.parts
        ending = mask & until.ready(state, now)
        until.fired(state, ending, now)
        main.fired(state, mask & ~ending, now)
        self.finish(state, ending | (mask & main.done(state)))

    def finished(self, merged: State) -> Bools:
        return _any([part.done(merged) for part in self.parts])


class WatermarkNode(Branch):
    """Ready when the window closes; its early part before, its late part after."""

    def __init__(self, name: str, early: Node | None, late: Node | None) -> None:
        super().__init__(name, [part for part in (early, late) if part is not None])
        self._early = early
        self._late = late

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        return {**super().columns, f"{self.name}.past": ("bool", 0)}

    def told(self, state: State, mask: Bools, news: News) -> None:
        past = self._past(state)
        if self._early is not None:
            self._early.told(state, mask & ~past, news)
        if self._late is not None:
            self._late.told(state, mask & past, news)

    def ready(self, state: State, now: Now) -> Bools:
        past = self._past(state)
        before = now.closed if self._early is None else now.closed | self._early.ready(state, now)
        after = np.zeros_like(past) if self._late is None else self._late.ready(state, now)
        return np.where(past, after, before)

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        past = self._past(state).copy()
        if self._early is not None:
            _fire_again(self._early, state, mask & ~past & ~now.closed, now)
        if self._late is not None:
            _fire_again(self._late, state, mask & past, now)
        on_time = mask & ~past & now.closed
        state[f"{self.name}.past"][on_time] = True
        if self._late is None:
            self.finish(state, on_time)

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        super().merge(olds, groups, closed, into)
        not_past = groups.codes[~self._past(olds)]
        past = groups.sizes() > 0
        past[not_past] = False
        past &= closed
        into[f"{self.name}.past"] = past
        into[f"{self.name}.done"] = past.copy() if self._late is None else np.zeros_like(past)

    def reset(self, state: State, mask: Bools) -> None:
        super().reset(state, mask)
        state[f"{self.name}.past"][mask] = False

    def active(self, state: State) -> list[Bools]:
        running, past = ~self.done(state), self._past(state)
        sides = [] if self._early is None else [running & ~past]
        return sides if self._late is None else [*sides, running & past]

    def _past(self, state: State) -> Bools:
        return state[f"{self.name}.past"]


def _any(masks: list[Bools]) -> Bools:
    found: Bools = np.logical_or.reduce(masks)
    return found


def _fire_again(part: Node, state: State, mask: Bools, now: Now) -> None:
    part.fired(state, mask, now)
    part.reset(state, mask & part.done(state))
