"""The trigger table of the law, column by column: told, ready, fired, reset; and the table of merging.

A `TriggerNode` is the state one trigger of the tree keeps for one pane. Four of the functions below are the columns of
the table in `docs/semantics.md`, and `merge` is the other table; each `case` is one of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.time.domain import TimeDomain
from fanlight.model.triggers import (
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
)


@dataclass(frozen=True, slots=True)
class TriggerTime:
    """What a trigger may look at when it is asked: the step's end, as this pane's window sees it."""

    clock: int
    watermark: int
    closed: bool
    expired: bool
    signal: bool
    finish: bool
    delay_is_strict: bool
    event_timer_is_strict: bool


@dataclass(slots=True)
class TriggerNode:
    """One trigger of the tree, and what it remembers."""

    trigger: Trigger
    parts: list[TriggerNode] = field(default_factory=list)
    count: int = 0
    since: int | None = None
    was_on_time: bool = False
    finished: bool = False

    @classmethod
    def of(cls, trigger: Trigger) -> TriggerNode:
        """The tree of a trigger that has been told nothing."""
        return cls(trigger, [cls.of(part) for part in trigger.parts])

    @property
    def active(self) -> list[TriggerNode]:
        """The unfinished parts that count now: those that are told, that can be ready and whose timers run."""
        unfinished = [part for part in self.parts if not part.finished]
        match self.trigger:
            case AtWatermark(early=early, late=late):
                if (late if self.was_on_time else early) is None:
                    return []
                return [self.parts[-1 if self.was_on_time else 0]]
            case InOrder():
                return unfinished[:1]
        return unfinished


def tell(node: TriggerNode, count: int, clock: int, least_time: int) -> None:
    """`count` records came at `clock`; the least of their times is `least_time`."""
    match node.trigger:
        case After():
            node.count += count
        case AfterDelay():
            node.since = clock if node.since is None else node.since
        case Every(domain=TimeDomain.EVENT):
            node.since = least_time if node.since is None else node.since
        case Every():
            node.since = clock if node.since is None else node.since
    for part in node.active:
        tell(part, count, clock, least_time)


def ready(node: TriggerNode, now: TriggerTime) -> bool:
    """Whether the trigger wants its pane to fire."""
    if node.finished:
        return False
    match node.trigger:
        case AtWatermark():
            return (now.closed and not node.was_on_time) or _any_ready(node, now)
        case AllOf():
            return all(ready(part, now) for part in node.active)
        case AnyOf() | InOrder() | Repeat() | Until():
            return _any_ready(node, now)
    return _leaf_ready(node, now)


def _leaf_ready(node: TriggerNode, now: TriggerTime) -> bool:
    match node.trigger:
        case After(records=records):
            return node.count >= records
        case AfterDelay(delay=delay):
            if node.since is None:
                return False
            over = node.since + delay.micros
            return now.clock > over if now.delay_is_strict else now.clock >= over
        case Every(period=period, domain=domain):
            return node.since is not None and _hand(domain, now) // period.micros > node.since // period.micros
        case AtExpiry():
            return now.expired
        case OnSignal():
            return now.signal
        case Never():
            return False
    raise SpecError(f"oracle: trigger {node.trigger!r} is not one it knows. Use those of fanlight.model.triggers.")


def fire(node: TriggerNode, now: TriggerTime) -> None:
    """The pane fired because this trigger was ready."""
    match node.trigger:
        case After() | AfterDelay() | AtExpiry():
            node.finished = True
        case Every(domain=domain):
            node.since = _hand(domain, now)
        case OnSignal():
            node.finished = now.finish
        case AtWatermark(late=late) if now.closed and not node.was_on_time:
            node.was_on_time = True
            node.finished = late is None
        case AtWatermark() | Repeat():
            (part,) = node.active
            fire(part, now)
            if part.finished:
                reset(part)
        case AnyOf() | AllOf():
            for part in [part for part in node.active if ready(part, now)]:
                fire(part, now)
            node.finished = True
        case InOrder():
            fire(node.active[0], now)
            node.finished = node.parts[-1].finished
        case Until():
            main, until = node.parts
            ends = ready(until, now)
            fire(until if ends else main, now)
            node.finished = ends or main.finished


def reset(node: TriggerNode) -> None:
    """Forget everything, as if the trigger had just started."""
    node.count, node.since, node.was_on_time, node.finished = 0, None, False, False
    for part in node.parts:
        reset(part)


def merge(nodes: Sequence[TriggerNode], *, closed: bool) -> TriggerNode:
    """What panes hand on to the one that takes their place; `closed`: its window is closed."""
    first = nodes[0]
    parts = [merge(same_part, closed=closed) for same_part in zip(*(node.parts for node in nodes), strict=True)]
    merged = TriggerNode(first.trigger, parts)
    match first.trigger:
        case After():
            merged.count = sum(node.count for node in nodes)
            merged.finished = any(node.finished for node in nodes)
        case AfterDelay() | Every():
            merged.since = min((node.since for node in nodes if node.since is not None), default=None)
            merged.finished = any(node.finished for node in nodes)
        case AtWatermark(late=late):
            merged.was_on_time = closed and all(node.was_on_time for node in nodes)
            merged.finished = merged.was_on_time and late is None
        case AtExpiry() | OnSignal():
            merged.finished = any(node.finished for node in nodes)
        case AnyOf() | Until():
            merged.finished = any(part.finished for part in parts)
        case AllOf():
            merged.finished = all(part.finished for part in parts)
        case InOrder():
            merged.finished = parts[-1].finished
    return merged


def timer_due(node: TriggerNode, now: TriggerTime) -> bool:
    """Whether the moment that an unfinished, active `AfterDelay` or `Every` waits for has been reached."""
    if node.finished:
        return False
    if isinstance(node.trigger, AfterDelay | Every):
        return ready(node, now)
    return any(timer_due(part, now) for part in node.active)


def _any_ready(node: TriggerNode, now: TriggerTime) -> bool:
    return any(ready(part, now) for part in node.active)


def _hand(domain: TimeDomain, now: TriggerTime) -> int:
    """What `Every` reads: the clock, or in the event domain the watermark (strictly: the last instant before it)."""
    return now.watermark - now.event_timer_is_strict if domain is TimeDomain.EVENT else now.clock
