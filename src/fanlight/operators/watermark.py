"""The watermark as it runs: what the inputs have said, made into one number that never goes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fanlight.errors import EngineError, StateError
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.watermarks import (
    BoundedDisorder,
    Combine,
    Explicit,
    FixedDistance,
    Several,
    WatermarkStrategy,
)

_InputStrategy: TypeAlias = Explicit | BoundedDisorder | FixedDistance

_ONLY = ""
"""The input of a strategy that knows only one."""


def watermark_of(spec: WindowSpec, clock: Timestamp, times: NDArray[np.int64] | None) -> Timestamp | None:
    """The watermark that a step's own domain gives it; None in event time, where watermarks come from outside.

    In processing time it is the clock, with its instant where that counts as over. In order of arrival it is the
    position after those of the step's records, which are its `times`; without records nothing moves.
    """
    if spec.in_processing_time:
        over = spec.tick.micros if spec.semantics.clock_instant_is_over else 0
        return clock if clock == START_OF_TIME else min(clock + over, END_OF_TIME)
    if spec.in_arrival_order:
        return START_OF_TIME if times is None or not len(times) else int(times.max()) + 1
    return None


@dataclass(slots=True)
class _Input:
    """What one input has said so far; None stands for nothing yet."""

    watermark: Timestamp | None = None
    greatest: Timestamp | None = None
    heard: Timestamp | None = None
    publishes: Timestamp | None = None

    def as_dict(self) -> dict[str, Timestamp | None]:
        """All of it by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def say(self, watermark: Timestamp) -> None:
        """Move on to `watermark`, never back."""
        reached = max(START_OF_TIME, min(watermark, END_OF_TIME))
        self.watermark = reached if self.watermark is None else max(self.watermark, reached)

    def see(self, strategy: _InputStrategy, greatest: Timestamp, clock: Timestamp) -> None:
        """Take note of a bundle with records, and publish if it is time to."""
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
        if not isinstance(strategy, BoundedDisorder):
            return
        if strategy.every is not None:
            if self.publishes is not None and clock < self.publishes:
                return
            self.publishes = clock + strategy.every.micros
        self.say(self.greatest - strategy.delay.micros)


class Watermarks:
    """Runs a strategy: told of every bundle, every explicit watermark and every move of the clock.

    In a step: `judging` for the bundle of each input, then `observe` for each, then `current` once. `current` combines
    what holds when it is asked, so the order in which a step observes its inputs makes no difference.

    >>> from fanlight.model.watermarks import several, bounded_disorder, Explicit
    >>> watermarks = Watermarks(several({"left": bounded_disorder("1 s"), "right": Explicit()}))
    >>> watermarks.observe("left", 5_000_000, clock=0)
    >>> watermarks.current == START_OF_TIME
    True
    >>> watermarks.explicit("right", 3_000_000)
    >>> watermarks.current
    3000000
    """

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._named = isinstance(strategy, Several)
        self._rule = strategy if isinstance(strategy, Several) else Several(((_ONLY, strategy),))
        self._strategies = dict(self._rule.inputs)
        self._inputs = {name: _Input() for name in self._strategies}
        self._clock: Timestamp | None = None
        self._reached = self._rule.initial

    @property
    def current(self) -> Timestamp:
        """The watermark now: `START_OF_TIME` before anything was said, and never less than it was when last asked."""
        self._reached = max(self._reached, self._combined(self._active()))
        return self._reached

    @property
    def per_record_delay(self) -> int | None:
        """The delay, if the strategy has one input and judges it record by record; of several, ask `judging`."""
        return None if self._named else _per_record_delay(self._strategies[_ONLY])

    def observe(self, source: str | None, greatest: Timestamp | None, clock: Timestamp) -> None:
        """Take note of one bundle of `source`, after it was judged: its greatest time, None if it had no record.

        A bundle without a record is only a move of the clock, and need not say where it comes from. A strategy
        with one input takes every source for that input.
        """
        name = _ONLY if source is None and greatest is None else self._input_of(source)
        now = self._move(clock)
        if greatest is not None:
            entry = self._inputs[name]
            entry.heard = self._clock
            entry.see(self._strategies[name], greatest, now)

    def explicit(self, source: str | None, watermark: Timestamp) -> None:
        """Take the caller's word for `source`; every strategy allows it, and none goes back for it."""
        entry = self._inputs[self._input_of(source)]
        entry.heard = self._clock
        entry.say(watermark)

    def tick(self, clock: Timestamp) -> None:
        """Move the clock, never back: fixed distances follow it, and silences are measured by it."""
        self._move(clock)

    def judging(self, source: str | None, times: NDArray[np.int64], before: Timestamp) -> Timestamp | NDArray[np.int64]:
        """What the records of a bundle are judged against; called before the bundle is observed.

        `before` is the watermark acted on last, and it is the answer, unless `source` is judged record by record. Then
        the answer is, for each record, what the watermark would be after it:

            time    3    9    4   12        delay 2, before 5
            judge   5    7    7   10

        Of several inputs under `MIN`, the others may hold it back. `times` has only times that could be read.
        """
        name = self._input_of(source)
        delay = _per_record_delay(self._strategies[name])
        others = [other for other in self._active() if other != name]
        held = self._rule.combine is Combine.MIN and bool(others)
        most = self._combined(others) if held else END_OF_TIME
        # a delay may be too long for int64 to be taken off a time, but not off one that is above `before + delay`
        if delay is None or most <= before or before + delay > END_OF_TIME:
            return before
        reached: NDArray[np.int64] = np.maximum(np.maximum.accumulate(times), before + delay) - delay
        return np.minimum(reached, most, out=reached)

    def state(self) -> dict[str, Any]:
        """Everything that was said, in values that JSON can write."""
        return {
            "clock": self._clock,
            "reached": self._reached,
            "inputs": {name: entry.as_dict() for name, entry in self._inputs.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken; the inputs must have the same names."""
        try:
            inputs = {name: _Input(**said) for name, said in state["inputs"].items()}
            clock, reached = state["clock"], state["reached"]
        except (KeyError, TypeError, AttributeError) as problem:
            raise StateError(
                f"watermark: the stored state cannot be read ({problem!r}). "
                "Restore a whole snapshot, or start without it."
            ) from problem
        if inputs.keys() != self._inputs.keys():
            raise StateError(
                f"watermark: the stored inputs are {_listed(inputs)}, the strategy's are {_listed(self._inputs)}; "
                "what they said cannot be matched. Use the strategy it was stored with, or start without it."
            )
        self._inputs, self._clock, self._reached = inputs, clock, reached

    def _input_of(self, source: str | None) -> str:
        if not self._named:
            return _ONLY
        if source is None or source not in self._inputs:
            given = "`source` is missing" if source is None else f"`source` ({source!r}) is no input of the strategy"
            raise EngineError(
                f"watermark: {given}, so it is unknown whose watermark moves. Use one of {_listed(self._inputs)}."
            )
        return source

    def _move(self, clock: Timestamp) -> Timestamp:
        """The clock now: the start of time while none was told, which is no move."""
        if clock == START_OF_TIME and self._clock is None:
            return clock
        now = clock if self._clock is None else max(self._clock, clock)
        self._clock = now
        for name, entry in self._inputs.items():
            strategy = self._strategies[name]
            if isinstance(strategy, FixedDistance):
                # the clock speaks for such an input, so it is never silent
                entry.heard = now
                entry.say(now - strategy.distance.micros)
            elif entry.heard is None:
                entry.heard = now
        return now

    def _active(self) -> list[str]:
        """The inputs that are not idle."""
        if self._rule.idle is None or self._clock is None:
            return list(self._inputs)
        silent_since = self._clock - self._rule.idle.micros
        return [name for name, entry in self._inputs.items() if entry.heard is None or entry.heard > silent_since]

    def _combined(self, names: list[str]) -> Timestamp:
        """What these inputs say together; if all are idle, what was reached."""
        if not names:
            return self._reached
        said = [self._inputs[name].watermark for name in names]
        together = max if self._rule.combine is Combine.MAX else min
        return together(self._rule.initial if watermark is None else watermark for watermark in said)


def _per_record_delay(strategy: _InputStrategy) -> int | None:
    return strategy.delay.micros if isinstance(strategy, BoundedDisorder) and strategy.per_record else None


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(repr(name) for name in names)
