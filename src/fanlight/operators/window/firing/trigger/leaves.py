"""Triggers without parts: on counts, clocks, watermarks and signals."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Groups, Ints
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.window.firing.trigger.node import (
    NOT_DUE,
    UNSET,
    Finishing,
    News,
    Node,
    Now,
    State,
    is_due,
    least,
    length,
)

_FAR = 2**62


class AfterNode(Finishing):
    """Ready after so many records."""

    def __init__(self, name: str, records: int) -> None:
        super().__init__(name)
        self._records = records

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        return {**super().columns, f"{self.name}.count": ("int64", 0)}

    def told(self, state: State, mask: Bools, news: News) -> None:
        state[f"{self.name}.count"][mask] += news.counts[mask]

    def ready(self, state: State, now: Now) -> Bools:
        enough: Bools = state[f"{self.name}.count"] >= self._records
        return enough

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        self.finish(state, mask)

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        super().merge(olds, groups, closed, into)
        counts = np.zeros(groups.count, np.int64)
        np.add.at(counts, groups.codes, olds[f"{self.name}.count"])
        into[f"{self.name}.count"] = counts

    def reset(self, state: State, mask: Bools) -> None:
        super().reset(state, mask)
        state[f"{self.name}.count"][mask] = 0


class DelayNode(Finishing):
    """Ready when the clock is so far past the first record."""

    def __init__(self, name: str, delay: int, strictly: bool) -> None:
        super().__init__(name)
        self._wait = delay + strictly

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        return {**super().columns, f"{self.name}.since": ("int64", UNSET)}

    def told(self, state: State, mask: Bools, news: News) -> None:
        since = state[f"{self.name}.since"]
        since[mask & (since == UNSET)] = max(news.clock, UNSET + 1)

    def ready(self, state: State, now: Now) -> Bools:
        over: Bools = is_due(self._over(state), now.clock)
        return over

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        self.finish(state, mask)

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        super().merge(olds, groups, closed, into)
        into[f"{self.name}.since"] = least(olds[f"{self.name}.since"], groups)

    def reset(self, state: State, mask: Bools) -> None:
        super().reset(state, mask)
        state[f"{self.name}.since"][mask] = UNSET

    def due(self, state: State) -> tuple[Ints, Ints]:
        over = np.where(self.done(state), NOT_DUE, self._over(state))
        return over, np.full(length(state), NOT_DUE)

    def _over(self, state: State) -> Ints:
        since = state[f"{self.name}.since"]
        return np.where(since == UNSET, NOT_DUE, np.maximum(since, -_FAR) + self._wait)


class EveryNode(Node):
    """Ready each time the clock, or the watermark, has passed a multiple of the period."""

    def __init__(self, name: str, period: int, by_watermark: bool, strictly: bool) -> None:
        super().__init__(name)
        self._period = period
        self._by_watermark = by_watermark
        self._past = int(by_watermark and strictly)

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        return {f"{self.name}.last": ("int64", UNSET)}

    def told(self, state: State, mask: Bools, news: News) -> None:
        last = state[f"{self.name}.last"]
        fresh = mask & (last == UNSET)
        last[fresh] = news.least[fresh] if self._by_watermark else max(news.clock, UNSET + 1)

    def ready(self, state: State, now: Now) -> Bools:
        passed: Bools = is_due(self._next(state), self._time(now))
        return passed

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        state[f"{self.name}.last"][mask] = max(self._time(now) - self._past, UNSET + 1)

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        into[f"{self.name}.last"] = least(olds[f"{self.name}.last"], groups)

    def reset(self, state: State, mask: Bools) -> None:
        state[f"{self.name}.last"][mask] = UNSET

    def due(self, state: State) -> tuple[Ints, Ints]:
        never = np.full(length(state), NOT_DUE)
        return (never, self._next(state)) if self._by_watermark else (self._next(state), never)

    def _time(self, now: Now) -> Timestamp:
        return now.watermark if self._by_watermark else now.clock

    def _next(self, state: State) -> Ints:
        last = state[f"{self.name}.last"]
        following = (np.clip(last, -_FAR, _FAR) // self._period + 1) * self._period + self._past
        return np.where((last == UNSET) | (last >= _FAR), NOT_DUE, following)


class ExpiryNode(Finishing):
    """Ready when the window expires."""

    def ready(self, state: State, now: Now) -> Bools:
        return now.expired

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        self.finish(state, mask)


class SignalNode(Finishing):
    """Ready while the caller's signal is on."""

    def ready(self, state: State, now: Now) -> Bools:
        return np.full(length(state), now.signal.on)

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        if now.signal.finish:
            self.finish(state, mask)


class NeverNode(Node):
    """Never ready."""

    def ready(self, state: State, now: Now) -> Bools:
        return np.zeros(length(state), np.bool_)
