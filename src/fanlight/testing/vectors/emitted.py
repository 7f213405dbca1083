"""The ops `watermark_gen` and `watermark_merge`: which watermarks leave, from one input or from several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.ingest.inputs import Watermarks
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.expect import groups_of, over_steps, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.watermarks import policy_of, strategy_of


def emitted_watermarks(vector: Vector) -> list[str]:
    """What differs in the watermarks of each step.

    A watermark leaves when it has changed. Where the policy gives an initial value the watermark is there from the
    start, and the vector tells it after every step.
    """
    require_attributes(vector, {"watermark"})
    inputs = _Inputs(Watermarks(strategy_of(vector)))
    always, before = policy_of(vector).get("initial") is not None, START_OF_TIME
    steps: list[list[Row]] = []
    for step in vector.steps:
        inputs.take(step)
        current = inputs.watermarks.current
        steps.append([{"watermark": written(current)}] if always or current != before else [])
        before = current
    comparison = Comparison(vector.get("row_order", "any"))
    return [
        f"after step {after}: {problem}"
        for after, expected, actual in over_steps(vector.get("expect_mode", "each_step"), groups_of(vector), steps)
        for problem in comparison.differences(expected, actual)
    ]


@dataclass(slots=True)
class _Inputs:
    watermarks: Watermarks
    clock: Timestamp = 0

    def take(self, step: Mapping[str, Any]) -> None:
        if "clock" in step:
            self.clock = moment(step["clock"])
            self.watermarks.tick(self.clock)
        if "watermark" in step:
            self.watermarks.explicit(step.get("side"), moment(step["watermark"]))
        greatest: dict[str | None, Timestamp] = {}
        for record in step.get("in") or ():
            side, time = record.get("side"), moment(record[TIME])
            greatest[side] = max(time, greatest.get(side, time))
        for side, time in greatest.items():
            self.watermarks.observe(side, time, self.clock)
