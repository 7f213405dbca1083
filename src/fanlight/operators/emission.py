"""Which firings leave, and what they say of themselves: the emission law, for all panes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.groups import Bools, Ints
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.semantics import Closing, OnTime
from fanlight.model.spec import WindowSpec
from fanlight.operators.frame import Frame
from fanlight.operators.trigger import Now


@dataclass(slots=True)
class Emission:
    """For each pane: whether it fires, whether the firing leaves, and its timing and place."""

    fires: Bools
    leaves: Bools
    timing: Ints
    is_last: Bools


def decide(spec: WindowSpec, frame: Frame, ready: Bools, ended: Bools, now: Now, closing: Bools) -> Emission:
    """What becomes of the panes that are `ready`, and of those whose window has `ended` by expiring.

    `closing` marks the windows that closed in this very step.
    """
    semantics, state = spec.semantics, frame.state
    new = state["pending"] > 0
    content = new if spec.accumulation is Accumulation.DISCARDING else frame.partials.rows > 0
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
    return Emission(ready | flushed, (ready & wanted) | flushed, timing, is_last)
