"""How long an interval join keeps the rows of each side, in numbers: by its bounds and the delays of all sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder, Combine, FixedDistance, Several, WatermarkStrategy

if TYPE_CHECKING:
    from fanlight.model.join.interval import IntervalJoinSpec
    from fanlight.model.join.sided import SidedSpec


def kept_told(spec: IntervalJoinSpec) -> str:
    """What is kept of each side, as `explain` says it.

    >>> import fanlight as fl
    >>> o = fl.stream([], time="ts", unit="s", delay="5 s", name="o")
    >>> p = fl.stream([], time="ts", unit="s", delay="1 min", name="p")
    >>> print(kept_told(o.join(p, fl.interval("-10 s", "5 min"), on="id").spec))
    rows of o: rate × 6 min; rows of p: rate × 15 s; by the bounds, and by delays of o 5 s, p 1 min
    """
    return kept_by_name(spec, lambda delays: _kept_for(spec, *delays))


def kept_by_name(spec: SidedSpec, kept_for: Callable[[tuple[int, ...]], Iterable[int]]) -> str:
    """What is kept of each side, by its name; `kept_for` says how long, by how far each side is behind."""
    delays, names = _delays(spec), [side.name for side in spec.sides]
    lengths = zip(names, kept_for(tuple(delays[name] or 0 for name in names)), strict=True)
    late = spec.lateness.micros
    kept = "; ".join(f"rows of {name}: rate × {Duration(max(length, 0) + late)}" for name, length in lengths)
    behind = ", ".join(f"{name} {_behind(delays[name])}" for name in names)
    return f"{kept}; by the bounds, and by delays of {behind}{f', and the lateness {spec.lateness}' if late else ''}"


def _kept_for(spec: IntervalJoinSpec, left: int, right: int) -> tuple[int, int]:
    """How long behind the newest time rows of the left side are kept, and of the right; sides are so far behind."""
    least, most = spec.match.lower.micros, spec.match.upper.micros
    watermark, rules = spec.watermark, spec.semantics
    if isinstance(watermark, Several) and watermark.combine is Combine.MAX:
        left = right = min(left, right)
    elif rules.goes_by_both:
        left = right = max(left, right)
    of_left, of_right = most + right, left - least
    if spec.mode is EmissionMode.ON_CLOSE:
        left_waits, right_waits = max(left, of_left), max(right, of_right)
        of_left, of_right = left_waits, left_waits - least
        if spec.how.pads_right:
            of_left, of_right = max(of_left, right_waits + most), max(of_right, right_waits)
    elif rules.takes_late and rules.keeps_length:
        of_left, of_right = max(of_left, left + most - least), max(of_right, right + most - least)
    else:
        of_left = of_left if spec.left.changes is None else max(of_left, left)
        of_right = of_right if spec.right.changes is None else max(of_right, right)
    return of_left, of_right


def _behind(delay: int | None) -> str:
    return "as it is told, here 0 s" if delay is None else str(Duration(delay))


def _delays(spec: SidedSpec) -> dict[str, int | None]:
    """How far the watermark of each side is behind; None if it is told, as that of a stage before is."""
    if not isinstance(spec.watermark, Several):
        return dict.fromkeys(side.name for side in spec.sides)
    return {name: _delay(strategy) for name, strategy in spec.watermark.inputs}


def _delay(strategy: WatermarkStrategy) -> int | None:
    match strategy:
        case BoundedDisorder(delay=delay) | FixedDistance(distance=delay):
            return delay.micros
    return None
