"""The op `cogroup`: what the window of two sides holds after each step, the values of each side as a list."""

from __future__ import annotations

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.aggregates import list as gathered
from fanlight.model.cogroup import TIME
from fanlight.model.spec import WindowSpec
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.windows import window_of
from fanlight.testing.vectors.word import NO_WORD

_SIDES = {"L": "left", "R": "right"}


def cogroup(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine merges two sides. Records without a time are of one time."""
    require_attributes(vector, set(_SIDES.values()))
    if vector.get("expect_mode") != "state" or vector.get("agg") != "cogroup":
        raise VectorError("a cogroup is known by what its window holds: `expect_mode: state` and `agg: cogroup`.")
    lists = tuple((called, gathered(f"{side}.v", by_arrival=True)) for side, called in _SIDES.items())
    spec = WindowSpec(TIME, window_of(vector), lists)
    schema = pa.schema({TIME: pa.int64(), **{f"{side}.v": pa.int64() for side in _SIDES}})
    driver, expected = ENGINES[engine](spec, schema), groups_of(vector)
    comparison, problems = Comparison(vector.get("row_order", "any")), []
    for place, step in enumerate(vector.steps):
        for record in step["in"]:
            row = {TIME: record.get("ts", 0), f"{record['side']}.v": record["v"]}
            driver.bundle(pa.RecordBatch.from_pylist([row], schema), side=None, clock=None, word=NO_WORD)
        held = driver.state().select([*_SIDES.values()]).to_pylist()
        found = comparison.differences(expected.get(place, []), held) if place in expected else []
        problems += [f"after step {place}: {problem}" for problem in found]
    return problems
