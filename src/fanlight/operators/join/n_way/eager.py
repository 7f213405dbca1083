"""An eager n-way join: a combination leaves in the step that brings its last row, or the last word on what is missing.

rows of the lead that the step says something of:   new ones, kept ones that a new row matches,
                                                    kept ones that find no match any more
their matches, old and new                    ──►   the combinations that have something new, each once
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from fanlight.kernels.join.probe import ranges
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.join.n_way.matched import Leads, newly_combined
from fanlight.operators.join.n_way.operator import NWayJoin
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore

_NOTHING_NEW = END_OF_TIME
"""The number from which on records are new, where none has come."""


class NWayEager(NWayJoin):
    """Rows of all inputs are kept while something new can come to a combination of theirs."""

    def __init__(self, plan: NWayPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        self._came, self._first = self._nobody, _NOTHING_NEW

    def _take(self, rows: list[SideRows], first: int) -> None:
        self._came, self._first = rows, first

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The new combinations: those without nulls in the order of the lead, then those with some."""
        passed = self._passed(progress)
        before, after = (self._closed([step[place] for step in passed]) for place in (0, 1))
        (fresh, since), self._came, self._first = (self._came, self._first), self._nobody, _NOTHING_NEW
        parts = [self._new(fresh[0]), *self._touched(fresh[1:], before, after)]
        leads = Leads.concat([self._hopeful(part, fresh[1:]) for part in parts])
        leads = leads.take(np.lexsort([leads.rows.came, leads.rows.times]))
        matched = self._matched(leads, fresh[1:], before, after, since)
        for log, rows, kept in zip(self._logs, fresh, self._kept([one for _, one in passed]), strict=True):
            log.append(rows.where(rows.times >= kept))
        return [] if matched is None else self._plan.rows(self._plan.met(newly_combined(leads, matched)))

    def _touched(self, fresh: list[SideRows], before: list[Timestamp], after: list[Timestamp]) -> Iterator[Leads]:
        """The kept rows of the lead that new rows of other inputs match, or that have lost the hope for a match.

        One that new rows of a single input match has nothing new with the old rows of that input.
        """
        lost = [*zip(before, after, strict=True)] if self._plan.spec.pads else []
        each = list(zip(fresh, self._plan.spec.matches, strict=True))
        reach = [int(rows.times.min()) - match.most for rows, match in each if len(rows)]
        reach += [low for low, high in lost if high > low]
        for chunk in self._logs[0].since(min(reach)) if reach else ():
            meets = [
                ranges(chunk.codes, chunk.times, rows.codes, rows.times - match.most, rows.times - match.least).covers(
                    len(chunk)
                )
                for rows, match in each
            ]
            is_lost = np.zeros(len(chunk), np.bool_)
            for low, high in lost:
                is_lost |= (chunk.times >= low) & (chunk.times < high)
            many = np.sum(meets, axis=0)
            looks_back = [is_lost | (many > own) for own in meets]
            is_touched = is_lost | (many > 0)
            old = Leads(np.zeros(len(chunk), np.bool_), chunk, looks_back)
            yield old.where(is_touched)

    def _kept(self, passed: list[Timestamp]) -> list[Timestamp]:
        """From which time on rows are kept: those of the lead until they find no match any more, whatever the input.

        A row of another input may be wanted by a row of the lead that comes, or that waits for one of the rest. Where
        rows leave with nulls, it stays as long as its lead does, which must not be taken for one without a match.
        """
        closed = self._closed(passed)
        found = [min(closed)]
        for place, match in enumerate(self._plan.spec.matches):
            waits = closed if self._plan.spec.pads else [*closed[:place], *closed[place + 1 :]]
            found.append(moved(min([passed[0], *waits]), match.least))
        return found

    @property
    def _nobody(self) -> list[SideRows]:
        return [self._nothing(number) for number in range(len(self._logs))]
