"""The inputs of a shard besides records: clock, watermarks, signal, and how far its sources were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fanlight.errors import EngineError, StateError
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, TimestampLike, timestamp
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, FixedDistance, Several, WatermarkStrategy
from fanlight.operators.ingest.conform import CheckedBatch

Offsets = int | Sequence[int] | NDArray[np.int64] | None
"""The positions of records in their source: of the first, or of each."""

_InputStrategy: TypeAlias = Explicit | BoundedDisorder | FixedDistance

_ONLY = ""
"""The name of the input of a strategy with only one."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What the caller says to triggers that wait for it."""

    on: bool = False
    finish: bool = False
    said: bool = False
    """Whether it was given in this very step."""


NO_SIGNAL = Signal()


@dataclass(frozen=True, slots=True)
class Said:
    """What the caller gives with a step: watermark, clock and signal; None if it is not given."""

    source: str | None = None
    watermark: TimestampLike | None = None
    clock: TimestampLike | None = None
    signal: bool | None = None
    finish: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is said that a step could act on."""
        return self.watermark is None and self.clock is None and self.signal is None and not self.finish


NOTHING_SAID = Said()


class Arrival(NamedTuple):
    """What one input brings to a step."""

    came: CheckedBatch | None = None
    said: Said = NOTHING_SAID
    """Of the watermark and the source it speaks of this input alone."""
    offset: Offsets = None
    """The source position of the first record, or of each."""
    filtered: int = 0
    """How many records were left out before they came here."""
    preaggregated: int = 0
    """How many records of this input came pre-aggregated."""


class Inputs:
    """The current clock, watermarks and signal, which survive a restart and a failed step.

    With `followed`, whoever packs records follows them, as on Spark, and tells the watermark with every step; this is
    what is left of the strategy. Where nothing else moves the watermark, nothing of this outlives the step.
    """

    def __init__(
        self, strategy: WatermarkStrategy, *, by_event: bool, followed: WatermarkStrategy | None = None
    ) -> None:
        """`by_event` says whether watermarks are about event time, where they may come from outside."""
        self._by_event = by_event
        self._told = isinstance(followed, Explicit)
        self.names = tuple(name for name, _ in strategy.inputs) if isinstance(strategy, Several) else ()
        self.clock: Timestamp = START_OF_TIME  # until a clock is given: before every clock
        self.signal = Signal()
        self.positions: dict[str, int] = {}
        self._controls: list[tuple[str | None, Timestamp]] = []
        self.watermarks = Watermarks(strategy if followed is None else followed)

    def hear(self, said: Said) -> None:
        """Move the clock, never back; and set the signal, which holds until it is set again."""
        if said.clock is not None:
            self.clock = max(self.clock, timestamp(said.clock))
        if said.signal is not None or said.finish:
            on = self.signal.on if said.signal is None else said.signal
            self.signal = Signal(on, said.finish, said=said.signal is True)

    def hear_watermark(self, said: Said) -> None:
        """Take an explicit watermark; it means nothing where time is the clock or a position."""
        if said.watermark is not None and self._by_event:
            self.watermarks.explicit(said.source, timestamp(said.watermark))

    def judge(
        self, source: str | None, times: NDArray[np.int64], acted_on: Timestamp, left_out: Timestamp | None
    ) -> NDArray[np.int64]:
        """The watermarks that records are judged by; afterwards the watermark has followed these records.

        It has followed those too that `where` left out; `left_out` is the greatest of their times.
        """
        if not self._by_event:
            return np.array([acted_on])
        judged = np.atleast_1d(self.watermarks.judging(source, times, acted_on))
        greatest = int(times.max()) if len(times) else left_out
        if greatest is not None and left_out is not None:
            greatest = max(greatest, left_out)
        self.watermarks.observe(source, greatest, self.clock)
        return judged

    def by_input(self, *, ends: bool) -> dict[str, tuple[Timestamp, Timestamp]]:
        """The watermark of each input, before this step and after it; with `ends` all have ended."""
        before, after = self.watermarks.since, self.watermarks.by_input(ends=ends)
        return {name: (before[name], after[name]) for name in before}

    def control(self, source: str | None, watermark: Timestamp | None) -> None:
        """Note the watermark that control rows of a bundle say; it counts after the bundle."""
        if watermark is not None and self._by_event:
            self._controls.append((source, watermark))

    def hear_controls(self) -> None:
        """Take the watermarks that control rows have said."""
        while self._controls:
            self.watermarks.explicit(*self._controls.pop())

    def acted(self) -> None:
        """The step is done: the signal stays on or off, but no longer counts as given in this step."""
        if self.signal.said:
            self.signal = replace(self.signal, said=False)

    def notes(self) -> dict[str, Any]:
        """All of it as JSON data, which nothing changes afterwards."""
        if self._told:
            return {}
        return {
            "clock": self.clock,
            "positions": dict(self.positions),
            "watermarks": self.watermarks.state(),
            "signal": [self.signal.on, self.signal.finish],
        }

    def restore(self, notes: dict[str, Any]) -> None:
        """Continue from `notes`."""
        self._controls.clear()
        if self._told:
            return
        self.clock = notes["clock"]
        self.positions = dict(notes["positions"])
        self.watermarks.restore(notes["watermarks"])
        self.signal = Signal(*notes["signal"])


@dataclass(slots=True)
class _Input:
    """The state of one input; None where nothing is known yet."""

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
        """Note a bundle with records, and publish a watermark if it is time to."""
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
        if not isinstance(strategy, BoundedDisorder):
            return
        if strategy.every is not None:
            if self.publishes is not None and clock < self.publishes:
                return
            self.publishes = clock + strategy.every.micros
        self.say(self.greatest - strategy.delay.micros)


class Watermarks:
    """Runs a watermark strategy over bundles, explicit watermarks and moves of the clock.

    A step calls `judging` for the bundle of each input, then `observe` for each, then `current` once. Only `current`
    combines the inputs, so the order in which a step observes them makes no difference.

    >>> from fanlight.model.time.watermarks import several, bounded_disorder, Explicit
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
        self._rule = strategy if isinstance(strategy, Several) else _alone(strategy)
        self._strategies = dict(self._rule.inputs)
        self._ready = dict(self._rule.ready)
        self._inputs = {name: _Input() for name in self._strategies}
        self._clock: Timestamp | None = None
        self._reached = self._rule.initial
        self._since: dict[str, Timestamp] = {}

    @property
    def current(self) -> Timestamp:
        """The watermark now: `START_OF_TIME` at first, and never less than its last value."""
        self._reached = max(self._reached, self._combined(self._active()))
        return self._reached

    def by_input(self, *, ends: bool = False) -> dict[str, Timestamp]:
        """The watermark of each input: its own; that of all together for one that is idle, unless the greatest counts.

        With `ends` all have ended. None goes back: `since` has the last answer.
        """
        if ends:
            self._since = dict.fromkeys(self._inputs, END_OF_TIME)
            return dict(self._since)
        together, active = self.current, self._active()
        for name in self._inputs:
            own = START_OF_TIME if (told := self._told(name)) is None else told
            follows = self._rule.combine is Combine.MIN and name not in active
            reached = max(own, together) if follows and own != END_OF_TIME else own
            self._since[name] = max(self._since.get(name, START_OF_TIME), reached)
        return dict(self._since)

    @property
    def since(self) -> dict[str, Timestamp]:
        """What `by_input` has answered last."""
        return {name: self._since.get(name, START_OF_TIME) for name in self._inputs}

    @property
    def per_record_delay(self) -> int | None:
        """The delay, if the strategy has one input and judges it record by record; else see `judging`."""
        return None if self._named else _per_record_delay(self._strategies[_ONLY])

    def observe(self, source: str | None, greatest: Timestamp | None, clock: Timestamp) -> None:
        """Note the greatest time of one bundle of `source`, after it was judged; None if it had no record.

        A bundle without records only moves the clock, and needs no source. A strategy with one input treats every
        source as that input.
        """
        name = _ONLY if source is None and greatest is None else self._input_of(source)
        now = self._move(clock)
        if greatest is not None:
            entry = self._inputs[name]
            entry.heard = self._clock
            entry.see(self._strategies[name], greatest, now)

    def explicit(self, source: str | None, watermark: Timestamp) -> None:
        """Take an explicit watermark for `source`; every strategy allows it, and none goes back."""
        entry = self._inputs[self._input_of(source)]
        entry.heard = self._clock
        entry.say(watermark)

    def tick(self, clock: Timestamp) -> None:
        """Move the clock, never back: fixed distances follow it, and silences are measured by it."""
        self._move(clock)

    def judging(self, source: str | None, times: NDArray[np.int64], before: Timestamp) -> Timestamp | NDArray[np.int64]:
        """The watermarks that the records of a bundle are judged by; called before the bundle is observed.

        The answer is `before`, the watermark acted on last, unless `source` is judged record by record. Then each
        record is judged by what the watermark would be after it:

            time    3    9    4   12        delay 2, before 5
            judge   5    7    7   10

        Of several inputs under `MIN`, the others may hold it back. `times` has only times that could be read.
        """
        name = self._input_of(source)
        delay = _per_record_delay(self._strategies[name])
        others = [other for other in self._active() if other != name]
        held = self._rule.combine is Combine.MIN and bool(others)
        most = self._combined(others) if held else END_OF_TIME
        # int64 may be too narrow for a time minus the delay, but not for a time above `before + delay`
        if delay is None or most <= before or before + delay > END_OF_TIME:
            return before
        reached: NDArray[np.int64] = np.maximum(np.maximum.accumulate(times), before + delay) - delay
        return np.minimum(reached, most, out=reached)

    def state(self) -> dict[str, Any]:
        """Everything it knows, as JSON data."""
        return {
            "clock": self._clock,
            "reached": self._reached,
            "inputs": {name: entry.as_dict() for name, entry in self._inputs.items()},
            **({"since": dict(self._since)} if self._since else {}),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`; the inputs must have the same names."""
        try:
            inputs = {name: _Input(**said) for name, said in state["inputs"].items()}
            clock, reached, since = state["clock"], state["reached"], dict(state.get("since", {}))
        except (KeyError, TypeError, AttributeError) as problem:
            raise StateError(
                f"watermark: the stored state cannot be read ({problem!r}). "
                "Restore a whole snapshot, or start without it."
            ) from problem
        if inputs.keys() != self._inputs.keys():
            raise StateError(
                f"watermark: the stored inputs are {_listed(inputs)}, the strategy's are {_listed(self._inputs)}; "
                "their watermarks cannot be matched. Use the strategy it was stored with, or start without it."
            )
        self._inputs, self._clock, self._reached, self._since = inputs, clock, reached, since

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
        """The clock now: the start of time while none was given, which is no move."""
        if clock == START_OF_TIME and self._clock is None:
            return clock
        now = clock if self._clock is None else max(self._clock, clock)
        self._clock = now
        for name, entry in self._inputs.items():
            strategy = self._strategies[name]
            if isinstance(strategy, FixedDistance):
                # such an input follows the clock, so it is never idle
                entry.heard = now
                entry.say(now - strategy.distance.micros)
            elif entry.heard is None:
                entry.heard = now
        return now

    def _active(self) -> list[str]:
        """The inputs that are not idle and have not ended."""
        going = self._going()
        if self._rule.idle is None or self._clock is None:
            return going
        since = self._clock - self._rule.idle.micros
        awaited = [name for name in self._ready if self._told(name) is None]
        return [n for n in going if n in awaited or (heard := self._inputs[n].heard) is None or heard > since]

    def _told(self, name: str) -> Timestamp | None:
        """The watermark of an input; None before it counts."""
        reached = self._inputs[name].watermark
        return reached if reached is not None and reached >= self._ready.get(name, START_OF_TIME) else None

    def _going(self) -> list[str]:
        """The inputs that have not ended. Where the greatest counts, one at the end of time is the greatest."""
        if self._rule.combine is Combine.MAX:
            return list(self._inputs)
        return [name for name, entry in self._inputs.items() if entry.watermark != END_OF_TIME]

    def _combined(self, names: list[str]) -> Timestamp:
        """The combined watermark of these inputs; if all are idle, the greatest that one of them has said."""
        if not names:
            going = self._going()
            told = [one for name in going if (one := self._told(name)) is not None]
            return max(told, default=self._reached) if going else END_OF_TIME
        said = [self._told(name) for name in names]
        together = max if self._rule.combine is Combine.MAX else min
        return together(self._rule.initial if watermark is None else watermark for watermark in said)


@lru_cache(maxsize=64)
def _alone(strategy: _InputStrategy) -> Several:
    """A strategy as the only one of several; kept, because Spark makes its shards anew in every micro-batch."""
    return Several(((_ONLY, strategy),))


def _per_record_delay(strategy: _InputStrategy) -> int | None:
    return strategy.delay.micros if isinstance(strategy, BoundedDisorder) and strategy.per_record else None


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(repr(name) for name in names)
