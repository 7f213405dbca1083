"""Several inputs as one stream, read slowly from the law: which records a step has, and how far its watermark goes.

web     bundle 1   bundle 2   ended
shop    bundle 1   bundle 2   bundle 3
        step 1     step 2     step 3      then the end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Several
from fanlight.testing.script import InputScript, Record, Step

INPUT = "input"
"""The column that says of a record from which input it came."""


@dataclass(slots=True)
class _OracleInput:
    """How far one input has come."""

    delay: int
    watermark: int | None = None
    spoke: int | None = None
    """The clock at which it said something last; the first clock there was, if it has said nothing."""
    ended: bool = False


class UnionOracle:
    """The inputs of one run; `step` takes them further, and says the watermark that their records end with.

    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> union = UnionOracle(several({"web": bounded_disorder("0 s"), "shop": bounded_disorder("0 s")}))
    >>> union.step({"web": ({"ts": 9},), "shop": ({"ts": 4},)}).watermark
    4
    >>> union.step({"web": ({"ts": 12},), "shop": None}).watermark
    12
    """

    def __init__(self, strategy: Several, time: str = "ts") -> None:
        self.strategy = strategy
        self.time = time
        self.clock = START_OF_TIME
        self.watermark = START_OF_TIME
        self.inputs = {name: _OracleInput(_delay(name, own)) for name, own in strategy.inputs}

    def step(self, came: Mapping[str, tuple[Record, ...] | None], clock: int | None = None) -> Step:
        """The step that has these bundles; None says that an input has ended."""
        self.clock = max(self.clock, START_OF_TIME if clock is None else clock)
        for name, one in self.inputs.items():
            self._hear(one, came[name])
        self.watermark = max(self.watermark, self._together())
        records = tuple({**record, INPUT: name} for name in self.inputs for record in came[name] or ())
        return Step(records=records, watermark=self.watermark, clock=clock)

    def _hear(self, one: _OracleInput, bundle: tuple[Record, ...] | None) -> None:
        """An input speaks when it brings a record whose time can be read. Its silence begins with the first clock."""
        times = [record[self.time] for record in bundle or () if record[self.time] is not None]
        readable = [time for time in times if EARLIEST <= time <= LATEST]
        if readable:
            reached = max(readable) - one.delay
            one.watermark = reached if one.watermark is None else max(one.watermark, reached)
        if self.clock != START_OF_TIME and (readable or one.spoke is None):
            one.spoke = self.clock
        one.ended = bundle is None

    def _together(self) -> int:
        """The watermark of all: inputs that have ended are none any more, and idle ones are left out."""
        least = self.strategy.combine is Combine.MIN
        going = [one for one in self.inputs.values() if not (one.ended and least)]
        awake = [one for one in going if not self._is_idle(one)]
        if not going:
            return END_OF_TIME
        if not awake:
            return max((one.watermark for one in going if one.watermark is not None), default=START_OF_TIME)
        said = [START_OF_TIME if one.watermark is None else one.watermark for one in awake]
        return min(said) if least else max(said)

    def _is_idle(self, one: _OracleInput) -> bool:
        idle = self.strategy.idle
        return idle is not None and one.spoke is not None and self.clock >= one.spoke + idle.micros


def union_steps(strategy: Several, inputs: Mapping[str, InputScript]) -> list[Step]:
    """The steps of a union: each has the next bundle of every input, until all have ended; then comes the end.

    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> least = several({"a": bounded_disorder("0 s"), "b": bounded_disorder("0 s")})
    >>> inputs = {"a": InputScript((({"ts": 5},),)), "b": InputScript((({"ts": 3},), ({"ts": 4},)))}
    >>> [(len(step.records), step.watermark) for step in union_steps(least, inputs)]
    [(2, 3), (1, 4), (0, None)]
    """
    union, steps = UnionOracle(strategy), []
    for place in range(max(len(script.bundles) for script in inputs.values())):
        clocks = [script.clocks[place] for script in inputs.values() if place < len(script.clocks)]
        steps.append(union.step({name: one.bundle(place) for name, one in inputs.items()}, max(clocks, default=None)))
    return [*steps, Step(end=True)]


def _delay(name: str, strategy: object) -> int:
    if not isinstance(strategy, BoundedDisorder) or strategy.per_record or strategy.every is not None:
        raise SpecError(f"oracle of several inputs: the watermark of {name!r} must be its greatest time, less a delay.")
    return strategy.delay.micros
