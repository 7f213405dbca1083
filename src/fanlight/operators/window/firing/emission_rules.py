"""Which firings are emitted, and with which timing and number: the law of emission, for all panes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.semantics import Closing, OnTime
from fanlight.model.spec import WindowSpec
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.trigger import Now


@dataclass(slots=True)
class Emission:
    """For each pane: whether it fires, whether the firing is emitted, and its timing and number."""

    fires: Bools
    leaves: Bools
    timing: Ints
    is_last: Bools


def decide(
    spec: WindowSpec,
    table: PaneTable,
    ready: Bools,
    ended: Bools,
    now: Now,
    closing: Bools,
    held: Ints | None = None,
) -> Emission:
    """Decide about the panes that are `ready`, and about those whose window has `ended` by expiring.

    `closing` marks the windows that closed in this very step. Where changes came, `held` is how many rows are left in
    each pane: a pane that holds none but has shown some still has that to say; one that has neither says nothing.
    """
    semantics, state = spec.semantics, table.state
    new = state["pending"] > 0
    content = (
        new if spec.accumulation is Accumulation.DISCARDING else (table.partials.rows if held is None else held) > 0
    )
    if spec.changes is not None:
        content = content | table.stands
    on_time = now.closed & (state["revision"] == 0) & (closing | (state["held"] & new))
    if spec.fires_once:
        on_time = np.ones_like(new)
    is_last = now.expired | state["finished"]

    repeated = new | content if semantics.refires else new
    punctual = {OnTime.ALWAYS: np.ones_like(new), OnTime.IF_CONTENT: content, OnTime.IF_NEW: new}[semantics.on_time]
    wanted = np.where(on_time, punctual, repeated)
    if semantics.closing is Closing.ALWAYS:
        wanted = wanted | is_last

    unasked = ended & ~ready
    match semantics.closing:
        case Closing.ALWAYS:
            flushed = unasked
        case Closing.IF_NEW:
            flushed = unasked & (new | on_time) if semantics.on_time is OnTime.ALWAYS else unasked & new
        case Closing.NEVER:
            flushed = np.zeros_like(unasked)
    timing = np.where(on_time, Timing.ON_TIME, np.where(now.closed, Timing.LATE, Timing.EARLY))
    leaves = (ready & wanted) | flushed
    return Emission(ready | flushed, leaves if spec.changes is None else leaves & content, timing, is_last)
