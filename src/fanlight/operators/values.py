"""The values of panes: what was folded is finished, what was gathered is computed from the messages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.reducers.user import UserStates
from fanlight.operators.messages import Messages
from fanlight.operators.plan import Plan


def pane_values(
    plan: Plan, messages: Messages | None, windows: Ints, keys: list[pa.Array], partials: Partials, after: Ints | None
) -> list[pa.Array]:
    """One column an aggregate, in the order of the result.

    `after` leaves out, pane by pane, the messages that arrived up to that number: the discarding mode.
    """
    values = dict(zip((place for place, _ in plan.folded), plan.fold.finish(partials), strict=True))
    if messages is not None and plan.gathered:
        values.update(messages.values(windows, keys, after))
    return [values[place] for place in sorted(values)]


def retractions(plan: Plan, shown: list[pa.Array], again: Bools) -> list[pa.Array]:
    """What rows carry that take these values back: the values, unless a user's aggregate says otherwise.

    Only the panes that fire `again` have shown anything.
    """
    back = list(shown)
    rows = np.flatnonzero(again)
    for (place, _), reducer in zip(plan.folded, plan.fold.reducers, strict=True):
        if isinstance(reducer, UserStates) and len(rows):
            said = reducer.retractions(shown[place].take(pa.array(rows)))
            places = np.zeros(len(again), np.int64)
            places[rows] = np.arange(len(rows))
            back[place] = said.take(pa.array(places))
    return back
