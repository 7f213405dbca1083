"""The field `watermark_policy`, read as a watermark strategy of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several, WatermarkStrategy
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment

_BOTH_SIDES = ("L", "R")


def policy_of(vector: Vector) -> Mapping[str, Any]:
    """The policy as a mapping; one written as a single word is its kind."""
    policy = vector.get("watermark_policy", "explicit")
    if isinstance(policy, str):
        policy = {"kind": policy}
    if not isinstance(policy, Mapping):
        raise VectorError(f"`watermark_policy` ({policy!r}) must be a mapping with a kind.")
    return policy


def strategy_of(vector: Vector) -> WatermarkStrategy:
    """How the vector's watermark follows its records."""
    policy = policy_of(vector)
    kind = policy.get("kind", "explicit")
    match kind:
        case "explicit":
            return Explicit()
        case "explicit_per_side":
            return _several({side: Explicit() for side in _sides(vector)}, policy)
        case "stream_time":
            return BoundedDisorder(Duration(0), per_record=True, every=_interval(vector))
        case "max_minus":
            return _max_minus(vector, policy)
    raise NotAdoptedError(f"watermark policy {kind}: not built yet")


def _max_minus(vector: Vector, policy: Mapping[str, Any]) -> WatermarkStrategy:
    delay, per_record = policy.get("delay", 0), policy.get("update") == "per_record"
    if isinstance(delay, Mapping):
        return _several({str(side): BoundedDisorder(length(of), per_record) for side, of in delay.items()}, policy)
    if policy.get("per_side"):
        return _several({side: BoundedDisorder(length(delay), per_record) for side in _sides(vector)}, policy)
    return BoundedDisorder(length(delay), per_record)


def _several(inputs: Mapping[str, Explicit | BoundedDisorder], policy: Mapping[str, Any]) -> Several:
    initial = policy.get("initial")
    return Several(
        tuple(inputs.items()),
        Combine(policy.get("combine", "min")),
        initial=START_OF_TIME if initial is None else moment(initial),
    )


def _sides(vector: Vector) -> list[str]:
    """The inputs: those the steps and records name; a side that never speaks is there all the same."""
    named = [step.get("side") for step in vector.steps] + [record.get("side") for record in vector.records]
    sides = {str(side) for side in named if side is not None}
    return sorted(sides | set(_BOTH_SIDES) if sides <= set(_BOTH_SIDES) else sides)


def _interval(vector: Vector) -> Duration | None:
    emit = vector.get("emit")
    interval = emit.get("interval_ms") if isinstance(emit, Mapping) else None
    return length(interval) if interval else None
