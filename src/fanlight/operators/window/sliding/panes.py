"""Choose how sliding windows are stored: with panes, or only as records if they fire once."""

from __future__ import annotations

from functools import partial

from fanlight.model.windows.sliding import Sliding
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Lateness
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Panes
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.sliding.multi_firing import SlidingWindows
from fanlight.operators.window.sliding.single_firing import SlidingOnce
from fanlight.operators.window.unaligned.end_buckets import width_for
from fanlight.operators.window.unaligned.panes import UnalignedPanes
from fanlight.state.store import ChunkStore


def sliding_panes(
    kind: Sliding, plan: Plan, store: ChunkStore, _messages: Messages | None, lateness: Lateness, books: Books
) -> Panes:
    """The pane store of sliding windows."""
    if plan.spec.fires_once and not plan.spec.keeps_panes:
        return SlidingOnce(plan, kind, store, lateness, books)
    width = width_for(kind.difference.micros)
    return UnalignedPanes(plan, store, lateness, books, partial(SlidingWindows, kind=kind), width=width)
