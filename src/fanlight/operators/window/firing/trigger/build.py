"""Build the running trigger from the declared one."""

from __future__ import annotations

from fanlight.errors import SpecError
from fanlight.model import triggers
from fanlight.model.semantics import Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.operators.window.firing.trigger.branches import (
    AllNode,
    AnyNode,
    InOrderNode,
    RepeatNode,
    UntilNode,
    WatermarkNode,
)
from fanlight.operators.window.firing.trigger.leaves import (
    AfterNode,
    DelayNode,
    EveryNode,
    ExpiryNode,
    NeverNode,
    SignalNode,
)
from fanlight.operators.window.firing.trigger.node import Node


def build(trigger: triggers.Trigger, semantics: Semantics, name: str = "t") -> Node:
    """The running form of `trigger`. Names follow the tree, so state is found again after a restart."""

    def part(inner: triggers.Trigger, place: str | int) -> Node:
        return build(inner, semantics, f"{name}.{place}")

    match trigger:
        case triggers.After(records):
            return AfterNode(name, records)
        case triggers.AfterDelay(delay):
            return DelayNode(name, delay.micros, semantics.delay_is_strict)
        case triggers.Every(period, domain):
            return EveryNode(name, period.micros, domain is TimeDomain.EVENT, semantics.event_timer_is_strict)
        case triggers.AtExpiry():
            return ExpiryNode(name)
        case triggers.OnSignal():
            return SignalNode(name)
        case triggers.Never():
            return NeverNode(name)
        case triggers.AtWatermark(early, late):
            sides = [None if side is None else part(side, where) for side, where in ((early, "e"), (late, "l"))]
            return WatermarkNode(name, *sides)
        case triggers.Repeat(inner):
            return RepeatNode(name, [part(inner, 0)])
    parts = [part(inner, place) for place, inner in enumerate(trigger.parts)]
    match trigger:
        case triggers.AnyOf():
            return AnyNode(name, parts)
        case triggers.AllOf():
            return AllNode(name, parts)
        case triggers.InOrder():
            return InOrderNode(name, parts)
        case triggers.Until():
            return UntilNode(name, parts)
    raise SpecError(f"trigger: {trigger!r} is not a trigger. Use the words of fanlight, such as at_watermark().")
