"""An n-way join bound to the columns of its inputs: the lead beside each other input, and the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import Side
from fanlight.operators.join.condition import JoinCondition
from fanlight.operators.join.plan import JoinPlan, taken
from fanlight.operators.join.side_log import SideRows


@dataclass(frozen=True, slots=True)
class Combinations:
    """Rows of all inputs, side by side: for each input its rows, and the places there; -1 where it has none."""

    rows: tuple[SideRows, ...]
    places: tuple[Ints, ...]

    def take(self, order: Ints) -> Combinations:
        """These combinations, in this order."""
        return Combinations(self.rows, tuple(places[order] for places in self.places))

    def __len__(self) -> int:
        return len(self.places[0])


@dataclass(frozen=True, slots=True)
class NWayPlan:
    """What a shard of an n-way join must know. A match is a pair of the lead and another input, by a plan of theirs."""

    spec: NWayJoinSpec
    schema: pa.Schema
    pairs: tuple[JoinPlan, ...]
    """The lead joined with each other input."""
    shown: dict[str, tuple[int, int]]
    """The columns of a joined row: of which input each is, and which of its columns."""
    result: pa.Schema
    condition: JoinCondition | None
    """What a combination must meet."""

    @staticmethod
    def bind(spec: NWayJoinSpec, schema: pa.Schema) -> NWayPlan:
        """Look the columns up; an input of which nothing has come has none."""
        pairs = tuple(JoinPlan.bind(pair, schema) for pair in spec.pairs)
        sides = [pairs[0].sides[0], *(pair.sides[1] for pair in pairs)]
        shown = _shown(spec, [own for _, own in sides])
        fields = [sides[side][1].field(place).with_name(name) for name, (side, place) in shown.items()]
        if not pairs[0].left:  # then keys have the types of others, until it has come
            known = next((list(pair.result) for pair in pairs if pair.right), [])
            fields = [*known[: len(spec.lead.keys)], *fields]
        condition = None if spec.where is None else JoinCondition(spec.where, sides, shown)
        if condition is not None and all(len(own) for _, own in sides):
            condition.require()
        return NWayPlan(spec, schema, pairs, shown, pa.schema(fields), condition)

    @property
    def sides(self) -> list[tuple[Side, pa.Schema]]:
        """The inputs in the order in which they are named, and the columns of each."""
        return [self.pairs[0].sides[0], *(pair.sides[1] for pair in self.pairs)]

    def met(self, found: Combinations) -> Combinations:
        """The combinations that meet the condition."""
        if self.condition is None or not len(found):
            return found
        return found.take(np.flatnonzero(self.condition.holds(found.rows, found.places)))

    def rows(self, found: Combinations) -> list[pa.RecordBatch]:
        """Joined rows, if there are any."""
        if not len(found):
            return []
        columns: list[pa.Array] = []
        for side, (rows, places) in enumerate(zip(found.rows, found.places, strict=True)):
            own = [rows.columns[place] for of, place in self.shown.values() if of == side]
            columns += taken(replace(rows, columns=own), places)
        return [pa.RecordBatch.from_arrays(columns, schema=self.result)]


def _shown(spec: NWayJoinSpec, columns: list[pa.Schema]) -> dict[str, tuple[int, int]]:
    """The columns of a joined row: those of the lead, then of each other input those that are no keys.

    Of an input of which nothing has come, the time is known by name; of the lead the keys too.
    """
    shown = {name: (0, place) for place, name in enumerate(columns[0].names)}
    known = {spec.lead.time, *spec.lead.keys, *shown}
    for number, (side, own) in enumerate(zip(spec.others, columns[1:], strict=True), 1):
        before, unshown = frozenset(known), spec.unshown_of(side)
        for place, name in enumerate(own.names or [side.time]):
            called = spec.name_of(side, name, before)
            if name in unshown:
                continue
            if called in known:
                raise InputError(
                    f"join: two columns of a joined row would be called {called!r}. Rename one with select(…) first."
                )
            known.add(called)
            if own:
                shown[called] = (number, place)
    return shown
