"""An n-way join bound to the columns of its inputs: the lead beside each other input, and the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import Side
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
    result: pa.Schema

    @staticmethod
    def bind(spec: NWayJoinSpec, schema: pa.Schema) -> NWayPlan:
        """Look the columns up; an input of which nothing has come has none."""
        pairs = tuple(JoinPlan.bind(pair, schema) for pair in spec.pairs)
        return NWayPlan(spec, schema, pairs, _columns(spec, pairs))

    @property
    def sides(self) -> list[tuple[Side, pa.Schema]]:
        """The inputs in the order in which they are named, and the columns of each."""
        own = [self.pairs[0].left, *(pair.right for pair in self.pairs)]
        return list(zip(self.spec.sides, own, strict=True))

    def rows(self, found: Combinations) -> pa.RecordBatch:
        """Joined rows."""
        columns: list[pa.Array] = []
        for (side, own), rows, places in zip(self.sides, found.rows, found.places, strict=True):
            unshown = () if side is self.spec.lead else self.spec.unshown_of(side)
            shown = [column for column, name in zip(rows.columns, own.names, strict=True) if name not in unshown]
            columns += taken(replace(rows, columns=shown), places)
        return pa.RecordBatch.from_arrays(columns, schema=self.result)


def _columns(spec: NWayJoinSpec, pairs: tuple[JoinPlan, ...]) -> pa.Schema:
    """The columns of a joined row: those of the lead, then of each other input those that are no keys.

    Of an input of which nothing has come, the time is known by name; of the lead the keys too.
    """
    fields = list(pairs[0].left)
    if not fields:
        fields = [pair.result.field(key) for pair in pairs if pair.right for key in spec.lead.keys][
            : len(spec.lead.keys)
        ]
    known = {spec.lead.time, *spec.lead.keys, *pairs[0].left.names}
    for side, pair in zip(spec.others, pairs, strict=True):
        before, unshown = frozenset(known), spec.unshown_of(side)
        for name in dict.fromkeys([side.time, *pair.right.names]):
            called = spec.name_of(side, name, before)
            if name in unshown:
                continue
            if called in known:
                raise InputError(
                    f"join: two columns of a joined row would be called {called!r}. Rename one with select(…) first."
                )
            known.add(called)
            if name in pair.right.names:
                fields.append(pair.right.field(name).with_name(called))
    return pa.schema(fields)
