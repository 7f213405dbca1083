"""Choose how aligned panes are stored: by how often they fire, and by what a firing carries."""

from __future__ import annotations

from fanlight.operators.window.aligned.corrected import CorrectedPanes
from fanlight.operators.window.aligned.multi_firing import MultiFiringPanes
from fanlight.operators.window.aligned.slices import SingleFiringPanes
from fanlight.operators.window.panes import MakePanes
from fanlight.operators.window.plan import Plan


def aligned_panes(plan: Plan) -> MakePanes:
    """How to make the pane store of a plan whose windows are made of slices."""
    if plan.spec.keeps_panes:
        return lambda store, messages, _, books: MultiFiringPanes(plan, store, messages, books)
    if plan.spec.fires_once:
        return lambda store, messages, *_: SingleFiringPanes(plan, store, messages)
    return lambda store, messages, *_: CorrectedPanes(plan, store, messages)
