"""The fields `trigger` and `emit`, read as a trigger of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.time.domain import TimeDomain
from fanlight.model.triggers import (
    EVERY_UPDATE,
    After,
    AfterDelay,
    AllOf,
    AnyOf,
    AtExpiry,
    AtWatermark,
    Every,
    InOrder,
    Never,
    OnSignal,
    Repeat,
    Trigger,
    Until,
    samza_policies,
)
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length

_POLICIES = {"early", "late", "default", "only_updated_panes"}


def trigger_of(vector: Vector) -> Trigger:
    """What the vector says about when a pane fires: its trigger, or else how it emits.

    A count window that a peer spells as a trigger after every so many records fires when it is full.
    """
    declared = vector.get("trigger")
    if declared is None:
        return _emitting(emit_of(vector))
    return AtWatermark() if declared == {"repeat": {"count": _stride(vector)}} else read(declared)


def updated_only(vector: Vector) -> bool:
    """Whether firings that would repeat the last values are held back."""
    declared = vector.get("trigger")
    return isinstance(declared, Mapping) and bool(declared.get("only_updated_panes"))


def emit_of(vector: Vector) -> str | None:
    """How the vector emits: on_update, on_close and so on, without the interval some add."""
    emit = vector.get("emit")
    if isinstance(emit, Mapping):
        emit = emit.get("on", emit.get(True))  # YAML 1.1 reads an unquoted `on` as true
    if emit is not None and not isinstance(emit, str):
        raise VectorError(f"`emit` ({emit!r}) must be a word such as on_close.")
    return emit


def _stride(vector: Vector) -> Any:
    """After how many records the next count window is full."""
    window = vector.mapping("window")
    return {"count_tumbling": window.get("size"), "count_sliding": window.get("slide")}.get(str(window.get("kind")))


def _emitting(emit: str | None) -> Trigger:
    match emit:
        case None:
            return AtWatermark()
        case "on_update" | "on_update_per_batch":
            return Repeat(After(1))
        case "on_close" | "append":
            return AtExpiry()
        case "complete":
            return Never()
    raise NotAdoptedError(f"emit {emit}: not built yet")


def read(declared: Any) -> Trigger:
    """A trigger as written.

    >>> read({"repeat": {"any": [{"count": 2}, {"after_watermark": {}}]}})
    Repeat(trigger=AnyOf(triggers=(After(records=2), AtWatermark(early=None, late=None))))
    """
    if isinstance(declared, str) and declared in _WORDS:
        return _WORDS[declared]
    if isinstance(declared, Mapping):
        if declared and set(declared) <= _POLICIES:
            return _policies(declared)
        if len(declared) == 1:
            [(kind, body)] = declared.items()
            if kind in _READERS:
                return _READERS[kind](body)
    raise NotAdoptedError(f"trigger {declared}: not built yet")


def _policies(declared: Mapping[str, Any]) -> Trigger:
    """Early and late firings around the window's end, the way Samza (`default: true`) and Malhar declare them."""
    early = _optional(declared.get("early"))
    late = _optional(declared.get("late"))
    if not declared.get("default"):
        return AtWatermark(early, Never() if late is None else late)
    if early is None:
        return AtWatermark(late=EVERY_UPDATE if late is None else late)
    return samza_policies(early=early, full_size=AtWatermark(late=None), late=late)


def _at_watermark(body: Any) -> Trigger:
    body = body or {}
    return AtWatermark(_optional(body.get("early")), _optional(body.get("late")))


def _optional(declared: Any) -> Trigger | None:
    return None if declared is None else read(declared)


def _parts(body: Any) -> tuple[Trigger, ...]:
    if not isinstance(body, list):
        raise VectorError(f"trigger parts ({body!r}) must be a list.")
    return tuple(read(part) for part in body)


def _until(body: Any) -> Trigger:
    parts = _parts(body)
    if len(parts) != 2:
        raise VectorError(f"or_finally ({body!r}) must be a list of two: the trigger, and what ends it.")
    return Until(*parts)


_WORDS: dict[str, Trigger] = {"default": AtWatermark(), "never": Never(), "manual": OnSignal()}

_READERS: dict[str, Callable[[Any], Trigger]] = {
    "count": After,
    "every_count": After,
    "processing_delay": lambda body: AfterDelay(length(body)),
    "every_processing": lambda body: Every(length(body)),
    "after_watermark": _at_watermark,
    "continuous_event_time": lambda body: AtWatermark(Every(length(body), TimeDomain.EVENT)),
    "continuous_processing_time": lambda body: AtWatermark(Every(length(body))),
    "repeat": lambda body: Repeat(read(body)),
    "any": lambda body: AnyOf(_parts(body)),
    "all": lambda body: AllOf(_parts(body)),
    "each": lambda body: InOrder(_parts(body)),
    "or_finally": _until,
}
