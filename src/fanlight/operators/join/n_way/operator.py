"""What every n-way join does: it parts a bundle by input, judges records by their own, and looks for matches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.join.probe import Ranges, ranges
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.accounting import INPUT, Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.join.n_way.matched import Leads, Matched
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.join.plan import RowPairs
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.join.sides import moved, rows_of_side
from fanlight.operators.operator import Operator, Progress
from fanlight.state.store import ChunkStore


class _Search(NamedTuple):
    """Rows of the lead that were looked for in a chunk of another input, and the ranges that were found there."""

    chunk: SideRows
    leads: Ints
    ranges: Ranges


class NWayJoin(Operator):
    """The rows of all inputs that one shard keeps, and nothing between them; subclasses say when they are combined."""

    def __init__(self, plan: NWayPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._logs = [SideLog(store, f"input{number}", own) for number, (_, own) in enumerate(plan.sides)]

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take in the records of all inputs; those behind the watermark of their own are expired."""
        spec, came = self._plan.spec, bundle.first + np.arange(len(bundle))
        of = pc.index_in(bundle.batch.column(INPUT), pa.array([side.name for side in spec.sides])).to_numpy()
        judged = np.array([before for before, _ in self._passed(progress)], np.int64)[of]
        late = bundle.times < judged
        self._books.reject(bundle.batch, late, Reason.EXPIRED, judged)
        taken = []
        for number, (side, own) in enumerate(self._plan.sides):
            mask = (of == number) & ~late
            rows = rows_of_side(self._plan.pairs[0], bundle.where(mask), came[mask], side, own)
            taken.append(self._matchable(number, rows).by_key())
        self._take(taken, bundle.first)
        return len(bundle) - int(np.count_nonzero(late))

    @abstractmethod
    def _take(self, rows: list[SideRows], first: int) -> None:
        """Take in rows of all inputs, each by key and time; `first` is the number of the first record."""

    @abstractmethod
    def _kept(self, passed: list[Timestamp]) -> list[Timestamp]:
        """From which time on the rows of each input are kept, once their watermarks have come so far."""

    def retire(self, progress: Progress) -> None:
        """Delete the rows that no later combination can have."""
        for log, since in zip(self._logs, self._kept([after for _, after in self._passed(progress)]), strict=True):
            log.retire(since)

    def kept(self, progress: Progress) -> dict[str, pa.Table]:
        """The rows that are kept, by input, by time, then as they came; chunks may have others too."""
        found, each = {}, zip(self._plan.sides, self._logs, strict=True)
        horizons = self._kept([after for _, after in self._passed(progress)])
        for ((side, own), log), since in zip(each, horizons, strict=True):
            rows = log.between(since, END_OF_TIME)
            rows = rows.take(np.lexsort([rows.came, rows.times]))
            found[side.name] = pa.Table.from_arrays(rows.columns, schema=own)
        return found

    def _passed(self, progress: Progress) -> list[tuple[Timestamp, Timestamp]]:
        """The watermark of each input less the lateness, before the step and after it."""
        assert progress.inputs is not None  # the spec goes by each input
        late = self._plan.spec.lateness.micros
        each = (progress.inputs[side.name] for side in self._plan.spec.sides)
        return [(moved(before, -late), moved(after, -late)) for before, after in each]

    def _closed(self, passed: list[Timestamp]) -> list[Timestamp]:
        """For each other input, before which time a row of the lead finds no match in it any more."""
        others = zip(passed[1:], self._plan.spec.matches, strict=True)
        return [moved(watermark, -match.most) for watermark, match in others]

    def _hopeful(self, leads: Leads, fresh: Sequence[SideRows]) -> Leads:
        """Of rows of the lead, by key and time, those that may have a match in every other input, or need none.

        All inputs are searched before a match is made or a row is moved: so there are hardly ever more matches than
        combinations. `fresh` are the rows of each other input that are not kept yet.
        """
        if self._plan.spec.pads:
            return leads
        places = np.arange(len(leads))
        for number in range(len(self._plan.pairs)):
            has_match = np.zeros(len(leads), np.bool_)
            for one in self._searched(number, leads, places, fresh[number : number + 1]):
                has_match[one.leads[one.ranges.hits[one.ranges.counts > 0]]] = True
            places = np.flatnonzero(has_match)
            if not len(places):
                break
        return leads.take(places)

    def _matched(
        self,
        leads: Leads,
        fresh: Sequence[SideRows],
        before: Sequence[Timestamp],
        closed: Sequence[Timestamp],
        since: int,
    ) -> list[Matched] | None:
        """What rows of the lead, by time, have in each other input; None if they make no combination.

        `fresh` are the rows of each other input that are not kept yet. For each of these, `closed` says before which
        time rows of the lead find no match any more, and `before` the same before the step. Rows that came from the
        number `since` on are new.
        """
        rows, pads, found = leads.rows, self._plan.spec.pads, []
        by_key = sort_by_key_time(rows.codes, rows.times).order
        alive = np.ones(len(rows), np.bool_)
        for number, closes in enumerate(closed):
            pairs = self._pairs(number, leads, by_key[alive[by_key]], fresh[number : number + 1])
            is_alone = alive & (rows.times < closes) if pads else np.zeros(len(rows), np.bool_)
            alive = is_alone.copy()
            for both in pairs:
                alive[both.left] = True
                is_alone[both.left] = False
            if not alive.any():
                return None
            alone = np.flatnonzero(is_alone)
            had_hope = rows.times[alone] >= before[number]
            found.append(Matched.of(pairs, self._nothing(number + 1), alone, had_hope, len(rows), since))
        return found

    def _pairs(self, number: int, leads: Leads, sought: Ints, fresh: Sequence[SideRows]) -> list[RowPairs]:
        """The matches of rows of the lead at `sought`, by key, in one of the other inputs."""
        plan, found = self._plan.pairs[number], []
        for one in self._searched(number, leads, sought, fresh):
            left, right = one.ranges.spread()
            both = RowPairs(leads.rows, one.chunk, one.leads[left], right)
            fine = plan.meets(both)
            if fine.any():
                found.append(both if fine.all() else both.take(np.flatnonzero(fine)))
        return found

    def _searched(self, number: int, leads: Leads, sought: Ints, fresh: Sequence[SideRows]) -> Iterator[_Search]:
        """The searches for rows of the lead at `sought`, by key, in one of the other inputs."""
        match, rows = self._plan.spec.matches[number], leads.rows
        looking = sought[leads.looks_back[number][sought]]
        old = self._logs[number + 1].since(int(rows.times[looking].min()) + match.least) if len(looking) else ()
        for chunks, places in ((old, looking), (fresh, sought)):
            codes, times = rows.codes[places], rows.times[places]
            for chunk in chunks:
                found = ranges(chunk.codes, chunk.times, codes, times + match.least, times + match.most)
                yield _Search(chunk, places, found)

    def _new(self, rows: SideRows) -> Leads:
        every = np.ones(len(rows), np.bool_)
        return Leads(every, rows, [every] * len(self._plan.pairs))

    def _matchable(self, number: int, rows: SideRows) -> SideRows:
        """The rows of an input that can be in a combination: a null key matches nothing, but may stand alone."""
        if number == 0 and self._plan.spec.pads:
            return rows
        pair = self._plan.pairs[max(number - 1, 0)]
        return rows.where(pair.has_keys(rows, left=number == 0))

    def _nothing(self, number: int) -> SideRows:
        empty: Ints = np.zeros(0, np.int64)
        _, own = self._plan.sides[number]
        return SideRows(empty, empty, empty, [pa.array([], field.type) for field in own])
