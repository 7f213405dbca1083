"""The op `accumulation`: what inputs come to, folded one by one and merged with what others came to.

An accumulator is the part of a window that one slice holds. The inputs of the first lie in the first slice; what a
`merge` brings lies in the next one, so that the engine merges their partials:

    add add add      merge          slices of one hopping window
    [-----------)[-----------)
    [------- the value ------)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import VectorError
from fanlight.model.aggregates import Count
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.model.windows.hopping import Hopping
from fanlight.testing.vectors.accumulations import SIDE, AccumulationCase, accumulation_of
from fanlight.testing.vectors.aggregates import MESSAGES
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.word import NO_WORD

Inputs = list[tuple[Any, Any]]
"""What came to one accumulator, each with the side it came from."""

OUT, TIME = "out", "ts"
SLICE = 1_000_000
"""How much time an accumulator has; each of its inputs takes the next microsecond."""


def accumulate(vector: Vector, engine: str) -> list[str]:
    """What differs in what the inputs up to each step come to."""
    require_attributes(vector, {OUT})
    problems = []
    for after, expected in groups_of(vector).items():
        accumulators = _accumulators(vector.steps[: after + 1])
        accumulation = accumulation_of(vector.get("agg"), [value for inputs in accumulators for value, _ in inputs])
        comparison = Comparison("exact", unordered_lists=accumulation.is_set)
        actual = _out(accumulation, accumulators, engine)
        problems += [f"after step {after}: {problem}" for problem in comparison.differences(expected, actual)]
    return problems


def _out(accumulation: AccumulationCase, accumulators: list[Inputs], engine: str) -> list[Row]:
    """The value of the window that spans all slices."""
    spec = WindowSpec(
        time=TIME,
        window=Hopping(Duration(len(accumulators) * SLICE), Duration(SLICE)),
        aggregates=((OUT, accumulation.aggregate), (MESSAGES, Count())),
        watermark=Explicit(),
    )
    batches = _batches(accumulation, accumulators)
    driver = ENGINES[engine](spec, batches[0].schema)
    for batch in batches:
        driver.bundle(batch, side=None, clock=None, word=NO_WORD)
    state = driver.state()
    starts = pc.struct_field(state.column("window"), "start").cast(pa.int64()).to_pylist()
    return [{OUT: _plain(state.column(OUT)[starts.index(0)].as_py())}]


def _accumulators(steps: Sequence[Mapping[str, Any]]) -> list[Inputs]:
    """The inputs of each accumulator: what is added, and what each merge brings."""
    accumulators: list[Inputs] = [[]]
    for step in steps:
        if "add" in step:
            accumulators[0].append((step["add"], step.get(SIDE)))
        elif "merge" in step:
            merged = step["merge"] if isinstance(step["merge"], list) else [step["merge"]]
            accumulators.append([(value, step.get(SIDE)) for value in merged])
        else:
            raise VectorError(f"`steps`: {step!r} neither adds an input nor merges an accumulator.")
    return accumulators


def _batches(accumulation: AccumulationCase, accumulators: list[Inputs]) -> list[pa.RecordBatch]:
    """One bundle for each input; all have the types of all."""
    records = [
        {TIME: place * SLICE + moment, **accumulation.record(value, side)}
        for place, inputs in enumerate(accumulators)
        for moment, (value, side) in enumerate(inputs)
    ]
    whole = pa.RecordBatch.from_pylist(records)
    return [whole.slice(place, 1) for place in range(len(whole))]


def _plain(value: Any) -> Any:
    """A value as the format writes it: a struct is the list of its fields."""
    if isinstance(value, Mapping):
        return [_plain(part) for part in value.values()]
    return [_plain(part) for part in value] if isinstance(value, list) else value
