"""The matches of rows of the lead in the other inputs, and the combinations that they make.

lead    o1       o2              matches, found input by input
p       p1 p2    p3
s       s1       —               an inner join looks no further for o2

o1 p1 s1,  o1 p2 s1              combinations: made at once of what each row of the lead has, nothing in between
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.pair_order import pair_order
from fanlight.kernels.join.products import products
from fanlight.operators.join.n_way.plan import Combinations
from fanlight.operators.join.plan import RowPairs, numbers_at, united
from fanlight.operators.join.side_log import SideRows


@dataclass(frozen=True, slots=True)
class Leads(Columnar):
    """Rows of the lead whose combinations are looked for."""

    is_new: Bools
    rows: SideRows
    looks_back: list[Bools]
    """Of each other input, whether its old rows may be in something new."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What rows of the lead have in one input, row by row of the lead."""

    rows: SideRows
    places: Ints
    """Which of these rows, match by match, in the order of the lead, then by time, then as they came; -1 for none."""
    parted: Ints
    """The matches of each row of the lead, the old ones first."""
    first: Ints
    """Where those of each row of the lead begin."""
    old: Ints
    """How many of them are old."""
    every: Ints

    @staticmethod
    def of(pairs: list[RowPairs], nothing: SideRows, alone: Ints, is_new: Bools, leads: int, since: int) -> Matched:
        """What pairs of the lead and an input say; rows that have come from the number `since` on are new.

        The rows of the lead at `alone` have no match and never will; `is_new` says which of them had hope before.
        """
        rows, places = united([(pair.rights, pair.right) for pair in pairs]) if pairs else (nothing, alone[:0])
        lead = np.concatenate([*(pair.left for pair in pairs), alone])
        fresh = np.concatenate([rows.came[places] >= since, is_new])
        places = np.concatenate([places, np.full(len(alone), -1)])
        order = pair_order(lead, lead, numbers_at(rows.times, places), numbers_at(rows.came, places))
        lead, fresh, places = lead[order], fresh[order], places[order]
        parted = np.arange(len(lead)) if fresh.all() or not fresh.any() else np.lexsort([fresh, lead])
        every = np.bincount(lead, minlength=leads)
        old = np.bincount(lead[~fresh], minlength=leads)
        return Matched(rows, places, parted, np.cumsum(every) - every, old, every)


def combined(leads: SideRows, matched: list[Matched]) -> Combinations:
    """All combinations of rows of the lead with what they have in the other inputs, in order."""
    groups, entries = products([one.every for one in matched])
    found = [one.places[one.first[groups] + entry] for one, entry in zip(matched, entries, strict=True)]
    return Combinations((leads, *(one.rows for one in matched)), (groups, *found))


def newly_combined(leads: Leads, matched: list[Matched]) -> Combinations:
    """The combinations that have something new, each once, in order.

    The last input in which a combination has something new tells it apart: those before have anything, those after
    what is old. Combinations without nulls come before those that have some.
    """
    groups, entries = _last_new(0, [one.old * leads.is_new for one in matched], matched)
    for last in range(1, len(matched) + 1):
        counts = [one.every for one in matched[: last - 1]]
        counts += [matched[last - 1].every - matched[last - 1].old, *(one.old for one in matched[last:])]
        found = _last_new(last, counts, matched)
        groups = np.concatenate([groups, found[0]])
        entries = [np.concatenate(both) for both in zip(entries, found[1], strict=True)]
    places = [one.places[entry] for one, entry in zip(matched, entries, strict=True)]
    has_null = np.any([place < 0 for place in places], axis=0)
    order = np.lexsort([*entries[::-1], groups, has_null])
    return Combinations((leads.rows, *(one.rows for one in matched)), (groups, *places)).take(order)


def _last_new(last: int, counts: list[Ints], matched: list[Matched]) -> tuple[Ints, list[Ints]]:
    """The combinations in which the last input with something new is this one: rows of the lead, and matches."""
    groups, entries = products(counts)
    found = []
    for number, (one, entry) in enumerate(zip(matched, entries, strict=True), 1):
        begins = one.first[groups] + (one.old[groups] if number == last else 0)
        found.append(one.parted[begins + entry])
    return groups, found
