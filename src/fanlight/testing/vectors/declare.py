"""A vector's declaration, read as a `WindowSpec`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.aggregates import aggregates_of
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment
from fanlight.testing.vectors.peers import peer_of
from fanlight.testing.vectors.triggers import emit_of, trigger_of, updated_only
from fanlight.testing.vectors.watermarks import strategy_of
from fanlight.testing.vectors.windows import window_of

TIME, KEY = "ts", "k"
TICK = Duration(1_000)
"""The format counts milliseconds, so two instants are at least one apart."""

_MODES = {mode.value: mode for mode in Accumulation}
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
        accumulation=_accumulation(vector, window),
        updated_only=updated_only(vector),
        lateness=_lateness(vector, window),
        retention=Retention() if is_maintained_view(vector) and window.is_aligned else None,
        watermark=strategy_of(vector),
        semantics=semantics_of(vector),
        firing_time=_choice("ts_combiner", vector.get("ts_combiner", "eow"), _FIRING_TIMES),
        unit=TimeUnit.MILLISECONDS,
        tick=TICK,
    )


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


def is_maintained_view(vector: Vector) -> bool:
    """Whether the result is a view that keeps what the watermark has passed: RisingWave without ON WINDOW CLOSE."""
    return peer_of(vector) == "risingwave" and emit_of(vector) is None


def is_on_close_view(vector: Vector) -> bool:
    """Whether the result is a view of closed windows only: RisingWave's EMIT ON WINDOW CLOSE."""
    return peer_of(vector) == "risingwave" and emit_of(vector) == "on_close"


def updates_replace(vector: Vector) -> bool:
    """Whether a row takes the place of the one before without taking it back: updates leave, and no mode is named.

    Sessions that were merged are taken back all the same, as Kafka forwards their removal: nothing takes their place.
    """
    return emit_of(vector) in ("on_update", "on_update_per_batch") and vector.get("mode") is None


def _accumulation(vector: Vector, window: WindowKind) -> Accumulation:
    merges = isinstance(window, Session) and updates_replace(vector)
    unsaid = Accumulation.RETRACTING if merges else Accumulation.ACCUMULATING
    mode: Accumulation = _choice("mode", vector.get("mode", unsaid.value), _MODES)
    return mode


def _lateness(vector: Vector, window: WindowKind) -> Duration:
    if window.domain is not TimeDomain.EVENT:
        return Duration(0)
    if emit_of(vector) == "complete":
        return Duration.FOREVER  # the whole table is kept, so nothing is ever too late for it
    if is_maintained_view(vector) and not window.is_aligned:
        return Duration.FOREVER  # windows of one key are not retained, but they need not expire
    if isinstance(window, Session) and _reads_session_store(vector):
        return Duration.FOREVER
    return length(vector.get("lateness_ms", 0))


def _reads_session_store(vector: Vector) -> bool:
    """Whether sessions stay where they can be merged.

    Kafka's store keeps them longer than grace, which only says which records come too late. Where none does, and
    nothing waits for the close, they might as well stay forever.
    """
    waits = emit_of(vector) == "on_close" or vector.get("trigger") is not None
    return peer_of(vector) == "kafka" and not waits and vector.get("dropped") is None


def _choice(field: str, value: Any, choices: dict[str, Any]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise NotAdoptedError(f"{field} {value}: not built yet")
    return choices[value]
