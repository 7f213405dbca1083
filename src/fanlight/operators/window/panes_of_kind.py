"""The pane store of each kind of window: kinds are registered here.

Aligned windows are made of slices and need no registration. Unaligned kinds are registered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch

from fanlight.model.windows.counting import Counting
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.operators.window.aligned.panes import aligned_panes
from fanlight.operators.window.count_by_key import counting_panes
from fanlight.operators.window.custom import custom_panes
from fanlight.operators.window.panes import MakePanes, Panes
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.panes import session_panes
from fanlight.operators.window.sliding.panes import sliding_panes


@singledispatch
def panes_of(_kind: WindowKind, plan: Plan) -> MakePanes:
    """How to make the pane store of a plan with this kind of window; asked once, when a spec is bound."""
    return aligned_panes(plan)


def _register(kind: type[WindowKind], make: Callable[..., Panes]) -> None:
    panes_of.register(kind, lambda own, plan: partial(make, own, plan))


_register(Counting, counting_panes)
_register(Custom, custom_panes)
_register(Session, session_panes)
_register(Sliding, sliding_panes)
