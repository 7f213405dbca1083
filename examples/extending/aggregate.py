"""An aggregate of one's own: the geometric mean, as a class with four methods.

Run it: `python examples/extending/aggregate.py`. A partial is a list of two numbers, the sum of the logarithms and how
many there are; merging adds them up. So it works with every window, trigger and accumulation, on both engines.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

import fanlight as fl


class GeometricMean(fl.UserAggregate):
    """The n-th root of the product of n positive values; null where there is none."""

    state_type = pa.list_(pa.float64())
    output_type = pa.float64()

    def zero(self) -> list[float]:
        """Nothing has come."""
        return [0.0, 0.0]

    def add(self, state: list[float], value: Any) -> list[float]:
        """Take one value in; those that are not positive have no logarithm and are left out."""
        return [state[0] + math.log(value), state[1] + 1] if value > 0 else state

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        """What two parts of a pane hold together."""
        return [left[0] + right[0], left[1] + right[1]]

    def finish(self, state: list[float]) -> float | None:
        """The mean itself."""
        total, count = state
        return math.exp(total / count) if count else None


GROWTH = [
    {"ts": second, "factor": factor} for second, factor in ((1, 2.0), (20, 8.0), (50, 4.0), (70, 9.0), (80, -1.0))
]


def growth() -> fl.Result:
    """The mean growth of each minute."""
    minutes = fl.stream(GROWTH, time="ts", unit="s").window(fl.tumbling("1 minute"))
    return minutes.agg(n=fl.count(), mean=GeometricMean("factor"))


if __name__ == "__main__":
    for row in growth().table().to_pylist():
        print(f"{row['window']['start']:%H:%M}  {row['n']} values, mean {row['mean']:.3f}")
