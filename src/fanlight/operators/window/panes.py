"""The protocol of pane stores, and the content of panes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.firing.rows import Firings
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.offsets import offset_fields
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class Content:
    """The content of panes, in order of window and key."""

    windows: Ints
    keys: list[pa.Array]
    rows: Ints
    values: list[pa.Array]
    starts: Ints | None = None
    """The starts of unaligned windows; other windows are known by their number."""
    offsets: list[pa.Array] | None = None
    """The first and the last offset of each pane, where the pipeline keeps offsets."""
    members: tuple[Ints, Ints] | None = None
    """The arrival number and the pane of each message, where the bounds of windows do not tell whose it is."""

    def bounds(self, plan: Plan) -> tuple[Ints, Ints]:
        """Where the panes' windows start and end."""
        return plan.slicing.bounds(self.windows) if self.starts is None else (self.starts, self.windows)

    @staticmethod
    def empty(plan: Plan) -> Content:
        """No pane."""
        none = np.zeros(0, np.int64)
        keys = [pa.array([], field.type) for field in plan.key_fields]
        values = [pa.array([], plan.result.field(name).type) for name, _ in plan.spec.aggregates]
        return Content(none, keys, none, values, none, [pa.array([], field.type) for field in offset_fields(plan)])


class Panes(Protocol):
    """The panes of one shard. A step calls `take_in`, `fire`, `retire`, in this order."""

    def take_in(
        self,
        accepted: Accepted | None,
        preaggregated: Any,  # from the plan's own pre-aggregator, or None
        step: StepTime,
    ) -> Accepted | None:
        """Add judged and pre-aggregated records to their panes; returns those whose panes had not all finished."""

    def fire(self, step: StepTime) -> Firings | None:
        """The firings of this step."""

    def expiring(self, step: StepTime) -> Content:
        """The content of the windows that expire in this step; called before they are retired."""

    def retire(self, through: int) -> None:
        """Delete the windows up to `through`."""

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live panes of these windows."""


MakePanes = Callable[[ChunkStore, Messages | None, Lateness, Books], Panes]
"""Makes the panes of a shard; chosen once, when a spec is bound."""
