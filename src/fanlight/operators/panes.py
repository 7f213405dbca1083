"""What both kinds of panes share: the moment a step has reached, and what a pane holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Ints
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.timestamp import Timestamp
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken


@dataclass(frozen=True, slots=True)
class Signal:
    """What the caller says to triggers that wait for it."""

    on: bool = False
    finish: bool = False
    said: bool = False
    """Whether it was given in this very step."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a step stands: watermark and clock, and in window numbers what was closed and expired before and is now."""

    watermark: Timestamp
    clock: Timestamp
    closed_before: int
    closed: int
    expired_before: int
    expired: int
    arrived: int
    """The number of the last record that has come."""
    signal: Signal = Signal()


@dataclass(frozen=True, slots=True)
class Content:
    """What panes hold now, in order of window and key."""

    windows: Ints
    keys: list[pa.Array]
    rows: Ints
    values: list[pa.Array]
    starts: Ints | None = None
    """Where unaligned windows start; others are known by their number."""

    def bounds(self, plan: Plan) -> tuple[Ints, Ints]:
        """Where the panes' windows start and end."""
        return plan.slicing.bounds(self.windows) if self.starts is None else (self.starts, self.windows)

    @staticmethod
    def empty(plan: Plan) -> Content:
        """No pane."""
        none = np.zeros(0, np.int64)
        keys = [pa.array([], field.type) for field in plan.key_fields]
        values = [pa.array([], plan.result.field(name).type) for name, _ in plan.spec.aggregates]
        return Content(none, keys, none, values, none)


class Panes(Protocol):
    """The panes of one shard. A step calls `take_in`, `fire`, `retire`, in this order."""

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Add records to their panes, judged ones and folded ones; return those whose panes had not all finished."""

    def fire(self, moment: Moment) -> Firings | None:
        """What leaves in this step."""

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step; asked before they are retired."""

    def retire(self, through: int) -> None:
        """Forget the windows up to `through`."""

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold."""
