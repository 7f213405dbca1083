"""A vector's declaration, read as a `WindowSpec`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import TimeUnit, WindowSpec
from fanlight.model.windows import Global, Hopping, TimeDomain, Tumbling, WindowKind
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.aggregates import aggregates_of
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment
from fanlight.testing.vectors.triggers import emit_of, trigger_of, updated_only
from fanlight.testing.vectors.watermarks import strategy_of

TIME, KEY = "ts", "k"
TICK = Duration(1_000)
"""The format counts milliseconds, so two instants are at least one apart."""

_PEERS = {
    "flink": "flink",
    "kafka": "kafka",
    "apex-malhar": "malhar",
    "samza": "samza",
    "spark": "spark",
    "risingwave": "risingwave",
}
_ACCUMULATIONS = {accumulation.value: accumulation for accumulation in Accumulation}
_BEHAVIOURS = {"fire_always": "always", "fire_if_non_empty": "if_new"}
_FIRING_TIMES = {"eow": FiringTime.END, "earliest": FiringTime.EARLIEST, "latest": FiringTime.LATEST}


def declare(vector: Vector) -> WindowSpec:
    """The windowed aggregation a vector declares, with the semantics of the peer it comes from."""
    window = window_of(vector)
    return WindowSpec(
        time=TIME,
        window=window,
        aggregates=aggregates_of(vector),
        keys=(KEY,) if vector.get("key") else (),
        trigger=trigger_of(vector),
        accumulation=_choice("mode", vector.get("mode", "accumulating"), _ACCUMULATIONS),
        updated_only=updated_only(vector),
        lateness=_lateness(vector, window),
        retention=Retention() if is_maintained_view(vector) else None,
        watermark=strategy_of(vector),
        semantics=semantics_of(vector),
        firing_time=_choice("ts_combiner", vector.get("ts_combiner", "eow"), _FIRING_TIMES),
        unit=TimeUnit.MILLISECONDS,
        tick=TICK,
    )


def peer_of(vector: Vector) -> str:
    """The preset of `Semantics` that is named after the vector's peer; Fanlight's own for all others."""
    project = vector.repo.rsplit("/", 1)[-1]
    if project == "beam":
        return "beam_python" if vector.path.startswith("sdks/python") else "beam"
    return _PEERS.get(project, "fanlight")


def semantics_of(vector: Vector) -> Semantics:
    """The peer's answers, except where the vector gives its own.

    Where only the assignment of windows is asked, no window is too early unless the vector says so.
    """
    semantics = Semantics.named(peer_of(vector))
    min_start = vector.mapping("window").get("min_start")
    if min_start is not None:
        semantics = replace(semantics, earliest_start=moment(min_start))
    elif vector.op in ("assign", "assign_groups"):
        semantics = replace(semantics, earliest_start=None)
    closing, on_time = vector.get("closing"), vector.get("on_time")
    if closing is not None:
        semantics = replace(semantics, closing=Closing(_choice("closing", closing, _BEHAVIOURS)))
    if on_time is not None:
        semantics = replace(semantics, on_time=OnTime(_choice("on_time", on_time, _BEHAVIOURS)))
    return semantics


def window_of(vector: Vector) -> WindowKind:
    """The kind of window, on the clock the vector names."""
    window = vector.mapping("window")
    domain = TimeDomain(window.get("time", "event"))
    kind = window.get("kind")
    if kind == "global":
        return Global(domain)
    if kind not in ("fixed", "sliding"):
        raise NotAdoptedError(f"{kind} windows are not built yet")
    size, offset = length(_needed(vector, "size")), length(window.get("offset", 0))
    if kind == "fixed":
        return Tumbling(size, offset, domain)
    slide = length(_needed(vector, "slide"))
    return Hopping(size, slide, offset, domain, gaps=slide > size)


def is_maintained_view(vector: Vector) -> bool:
    """Whether the result is a view that keeps what the watermark has passed: RisingWave without ON WINDOW CLOSE."""
    return peer_of(vector) == "risingwave" and emit_of(vector) is None


def is_on_close_view(vector: Vector) -> bool:
    """Whether the result is a view of closed windows only: RisingWave's EMIT ON WINDOW CLOSE."""
    return peer_of(vector) == "risingwave" and emit_of(vector) == "on_close"


def _lateness(vector: Vector, window: WindowKind) -> Duration:
    if window.domain is TimeDomain.PROCESSING:
        return Duration(0)
    if emit_of(vector) == "complete":
        return Duration.FOREVER  # the whole table is kept, so nothing is ever too late for it
    return length(vector.get("lateness_ms", 0))


def _needed(vector: Vector, field: str) -> Any:
    value = vector.mapping("window").get(field)
    if value is None:
        raise VectorError(f"`window` has no `{field}`; a window of this kind needs one.")
    return value


def _choice(field: str, value: Any, choices: dict[str, Any]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise NotAdoptedError(f"{field} {value}: not built yet")
    return choices[value]
