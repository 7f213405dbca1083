"""Any trigger over any story, pane by pane beside the oracle's reading of the same table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.triggers import Trigger
from fanlight.operators.window.firing.trigger import is_due
from fanlight.testing.oracle import triggers as law
from fanlight.testing.strategies.specs import triggers

from .running import Running

PANES = 3
flags = st.lists(st.booleans(), min_size=PANES, max_size=PANES)


@dataclass
class Beside:
    """The engine's panes, and one tree of the oracle's for each of them."""

    trigger: Trigger
    delay_is_strict: bool
    event_timer_is_strict: bool
    engine: Running = field(init=False)
    trees: list[law.TriggerNode] = field(init=False)
    now: dict[str, Any] = field(default_factory=lambda: {"clock": 0, "watermark": 0, "signal": False, "finish": False})

    def __post_init__(self) -> None:
        strict = {"delay_is_strict": self.delay_is_strict, "event_timer_is_strict": self.event_timer_is_strict}
        self.engine = Running(self.trigger, PANES, **strict)
        self.trees = [law.TriggerNode.of(self.trigger) for _ in range(PANES)]

    def tell(self, counts: list[int], least: int) -> None:
        """Panes that have finished are told nothing: what comes to them is a dead letter."""
        counts = [0 if tree.finished else count for tree, count in zip(self.trees, counts, strict=True)]
        self.engine.told(*counts, clock=self.now["clock"], least=least)
        for tree, count in zip(self.trees, counts, strict=True):
            if count:
                law.tell(tree, count, self.now["clock"], least)

    def ask(self, closed: list[bool], expired: list[bool], fires: bool) -> None:
        """All answers agree; then those that are ready fire, if they are to."""
        sides = {"closed": closed, "expired": expired}
        moments = [
            law.TriggerTime(
                **self.now,
                closed=is_closed,
                expired=is_expired,
                delay_is_strict=self.delay_is_strict,
                event_timer_is_strict=self.event_timer_is_strict,
            )
            for is_closed, is_expired in zip(closed, expired, strict=True)
        ]
        pairs = list(zip(self.trees, moments, strict=True))
        rings = [
            (is_due(by_clock, self.now["clock"]) or is_due(by_watermark, self.now["watermark"])) and not tree.finished
            for (by_clock, by_watermark), tree in zip(self.engine.due, self.trees, strict=True)
        ]
        assert rings == [law.timer_due(tree, moment) for tree, moment in pairs]
        ready = [law.ready(tree, moment) for tree, moment in pairs]
        assert self.engine.ready(**self.now, **sides) == ready
        if fires:
            self.engine.fire(**self.now, **sides)
            for (tree, moment), is_ready in zip(pairs, ready, strict=True):
                if is_ready:
                    law.fire(tree, moment)
        assert self.engine.finished == [tree.finished for tree in self.trees]

    def merge(self, groups: list[int], closed: list[bool]) -> None:
        """Panes become parts of others; a group that none becomes part of is a new pane."""
        self.engine.merge(*groups, closed=closed)
        former: list[list[law.TriggerNode]] = [[] for _ in range(PANES)]
        for tree, group in zip(self.trees, groups, strict=True):
            former[group].append(tree)
        self.trees = [
            law.merge(trees, closed=is_closed) if trees else law.TriggerNode.of(self.trigger)
            for trees, is_closed in zip(former, closed, strict=True)
        ]
        assert self.engine.finished == [tree.finished for tree in self.trees]


@given(triggers(), st.booleans(), st.booleans(), st.data())
def test_every_answer_is_the_oracles(
    trigger: Trigger, delay_is_strict: bool, event_timer_is_strict: bool, data: st.DataObject
) -> None:
    """Up to twelve turns: the time moves on, records come, panes are asked and fire, and now and then they merge."""
    beside = Beside(trigger, delay_is_strict, event_timer_is_strict)
    for _ in range(data.draw(st.integers(1, 12), "turns")):
        beside.now["clock"] += data.draw(st.integers(0, 9))
        beside.now["watermark"] += data.draw(st.integers(0, 9))
        beside.now["signal"] = data.draw(st.booleans())
        beside.now["finish"] = beside.now["signal"] and data.draw(st.booleans())
        match data.draw(st.sampled_from(["records", "records", "nothing", "merge"])):
            case "records":
                counts = data.draw(st.lists(st.integers(0, 3), min_size=PANES, max_size=PANES))
                beside.tell(counts, data.draw(st.integers(-9, 30)))
            case "merge":
                beside.merge(data.draw(st.lists(st.integers(0, 2), min_size=PANES, max_size=PANES)), data.draw(flags))
        closed = data.draw(flags)
        expired = [data.draw(st.booleans()) and is_closed for is_closed in closed]
        beside.ask(closed, expired, data.draw(st.booleans()))
