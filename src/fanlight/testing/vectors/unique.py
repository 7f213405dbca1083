"""The op `dedup_within_watermark`: which rows leave after each step, where the first of each key leaves."""

from __future__ import annotations

from fanlight.model.unique import UniqueSpec
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length
from fanlight.testing.vectors.sort import EngineRows, schema_of, sort_differences
from fanlight.testing.vectors.watermarks import strategy_of

_KEY = "k"


def unique(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine leaves out what is repeated."""
    spec = UniqueSpec(TIME, (_KEY,), (_KEY,), length(vector.get("lateness_ms")), watermark=strategy_of(vector))
    return sort_differences(vector, lambda vector: EngineRows(spec, schema_of(vector), engine))
