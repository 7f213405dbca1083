"""The values of panes: what was folded is finished, what was gathered is computed from the messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.reducers.user import UserStates
from fanlight.operators.messages import Messages
from fanlight.operators.plan import Plan

Outside = dict[int, dict[int, Any]]
"""Of some rows, by their place, the values that their types cannot hold: by the aggregate's place, in exact words."""


@dataclass(frozen=True, slots=True)
class PaneValues:
    """The values of panes, one column an aggregate; null where its type cannot hold a value, and `outside` has it."""

    columns: list[pa.Array]
    outside: Outside = field(default_factory=dict)

    def take(self, rows: Ints) -> PaneValues:
        """The values at `rows`, in that order; a row may be taken once."""
        places = pa.array(rows)
        columns = [column.take(places) for column in self.columns]
        return PaneValues(columns, outside_at(self.outside, rows))

    def fit(self, count: int) -> Bools:
        """Which of the `count` rows have only values that their types can hold."""
        return fitting(self.outside, count)

    @staticmethod
    def concat(parts: list[PaneValues]) -> PaneValues:
        """The values of several, one after the other."""
        columns = [pa.concat_arrays(same) for same in zip(*(part.columns for part in parts), strict=True)]
        ends = np.cumsum([len(part.columns[0]) if part.columns else 0 for part in parts]).tolist()
        starts = [0, *ends]
        outside = {
            start + row: said for start, part in zip(starts, parts, strict=False) for row, said in part.outside.items()
        }
        return PaneValues(columns, outside)


def outside_at(outside: Outside, rows: Ints) -> Outside:
    """What is told of rows, when those at `rows` are taken."""
    if not outside:
        return outside
    return {place: outside[row] for place, row in enumerate(rows.tolist()) if row in outside}


def fitting(outside: Outside, count: int) -> Bools:
    """Which of `count` rows nothing is told of."""
    fits = np.ones(count, np.bool_)
    fits[list(outside)] = False
    return fits


def folded_values(plan: Plan, partials: Partials) -> PaneValues:
    """The values of panes that keep no messages, in the order of the result."""
    places = [place for place, _ in plan.folded]
    return PaneValues(plan.fold.finish(partials), _by_row(dict(zip(places, plan.fold.outside(partials), strict=True))))


def pane_values(
    plan: Plan, messages: Messages | None, windows: Ints, keys: list[pa.Array], partials: Partials, after: Ints | None
) -> PaneValues:
    """One column an aggregate, in the order of the result.

    `after` leaves out, pane by pane, the messages that arrived up to that number: the discarding mode.
    """
    folded = folded_values(plan, partials)
    if messages is None or not plan.gathered:
        return folded
    values = dict(zip((place for place, _ in plan.folded), folded.columns, strict=True))
    beyond: dict[int, dict[int, Any]] = {}
    for place, column, outside in messages.values(windows, keys, after):
        values[place], beyond[place] = column, outside
    outside = {row: dict(said) for row, said in folded.outside.items()}
    for row, said in _by_row(beyond).items():
        outside.setdefault(row, {}).update(said)
    return PaneValues([values[place] for place in sorted(values)], outside)


def _by_row(by_place: dict[int, dict[int, Any]]) -> Outside:
    outside: Outside = {}
    for place, own in by_place.items():
        for row, exact in own.items():
            outside.setdefault(row, {})[place] = exact
    return outside


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
