"""How a result looks: the one thing a sink must know of the pipeline behind it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.model.firing import Accumulation, FiringTime
from fanlight.operators.plan import Plan
from fanlight.spark.leaving import LEAVING_ARROW

ACCOUNTING = pa.schema([field for field in LEAVING_ARROW if field.name not in ("kind", "payload")])
"""One row for each step of a shard: `received = accepted + duplicates + dead_letters`, and the watermark acted on."""


@dataclass(frozen=True)
class Shape:
    """Plain values about a result, such that a process elsewhere can be told them."""

    rows: pa.Schema
    """The rows as they leave the shards: a pane that fires once has no number."""
    dead_letters: pa.Schema
    keys: tuple[str, ...]
    fires_once: bool
    increments: bool
    """Whether a firing adds to those before it, rather than standing for them."""
    stamped: bool
    """Whether the time a firing carries says more than its window does."""

    @staticmethod
    def of(plan: Plan, dead_letters: pa.Schema) -> Shape:
        """The shape of what `plan` gives, and of the dead letters that come with it."""
        spec = plan.spec
        return Shape(
            plan.rows,
            dead_letters,
            spec.keys,
            spec.fires_once,
            spec.accumulation is Accumulation.DISCARDING and not spec.fires_once,
            spec.firing_time is not FiringTime.END and not spec.fires_once,
        )
