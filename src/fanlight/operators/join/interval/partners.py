"""The pairs of an interval join: rows of one side, searched for in the chunks of the other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.join.probe import matches
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Combine, Several
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import JoinOperator, moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class IntervalJoin(JoinOperator):
    """A join whose rows match by key and by how far apart they are; subclasses say when pairs are looked for."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert isinstance(plan.spec, IntervalJoinSpec)
        self._match = plan.spec.match
        self._rules = plan.spec.semantics
        watermark = plan.spec.watermark
        self._by_both = self._rules.goes_by_both or (
            isinstance(watermark, Several) and watermark.combine is Combine.MAX
        )

    def _before(self, side: Side, progress: Progress) -> Timestamp:
        """The watermark that records of a side are judged by: none where late ones are taken."""
        return START_OF_TIME if self._rules.takes_late else self._passed(side, progress)[0]

    def _passed(self, side: Side, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """The watermark that a side goes by, before the step and after it."""
        reached = (progress.before, progress.watermark) if self._by_both else self._own(side, progress)
        lateness = self._plan.spec.lateness.micros
        return moved(reached[0], -lateness), moved(reached[1], -lateness)

    @abstractmethod
    def _kept(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """From which time on left rows are kept after the step, and right rows."""

    def kept(self, progress: Progress) -> dict[str, pa.Table]:
        """The rows that are kept, by side, by time, then as they came; chunks may have others too."""
        plan, found = self._plan, {}
        sides = (plan.spec.left, plan.left, self._left), (plan.spec.right, plan.right, self._right)
        for (side, schema, log), since in zip(sides, self._kept(progress), strict=True):
            rows = log.between(since, END_OF_TIME)
            rows = rows.take(np.lexsort([rows.came, rows.times]))
            found[side.name] = pa.Table.from_arrays(rows.columns, schema=schema)
        return found

    def _own(self, side: Side, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """The watermark of a side's own input, before the step and after it."""
        assert progress.inputs is not None  # the spec goes by each input
        return progress.inputs[side.name]

    def _pairs_new(
        self,
        lefts: SideRows,
        rights: SideRows,
        left_since: Timestamp = START_OF_TIME,
        right_since: Timestamp = START_OF_TIME,
    ) -> list[RowPairs]:
        """The pairs that have a row of this step, each once: with rows that are kept, and of both.

        Rows that are kept count from these times on.
        """
        pairs: list[RowPairs] = []
        if len(rights):
            kept = self._left.since(int(rights.times.min()) - self._match.most)
            pairs += self._partners_of_right(rights, kept, left_since)
        if len(lefts):
            kept = self._right.since(int(lefts.times.min()) + self._match.least)
            pairs += self._partners(lefts, kept, right_since)
            pairs += self._partners(lefts, [rights]) if len(rights) else []
        return pairs

    def _partners(
        self, lefts: SideRows, rights: Iterable[SideRows], since: Timestamp = START_OF_TIME
    ) -> list[RowPairs]:
        """The pairs of left rows, by key and time, with the right rows of each chunk, from `since` on."""
        low, high = _from(since, lefts.times + self._match.least, lefts.times + self._match.most)
        found = []
        for chunk in rights:
            left, right = matches(chunk.codes, chunk.times, lefts.codes, low, high)
            found += self._met(RowPairs(lefts, chunk, left, right))
        return found

    def _partners_of_right(
        self, rights: SideRows, lefts: Iterable[SideRows], since: Timestamp = START_OF_TIME
    ) -> list[RowPairs]:
        """The pairs of right rows, by key and time, with the left rows of each chunk, from `since` on."""
        low, high = _from(since, rights.times - self._match.most, rights.times - self._match.least)
        found = []
        for chunk in lefts:
            right, left = matches(chunk.codes, chunk.times, rights.codes, low, high)
            found += self._met(RowPairs(chunk, rights, left, right))
        return found


def _from(since: Timestamp, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Ranges of times without what is before `since`; one of which nothing is left is empty."""
    if since == START_OF_TIME:
        return low, high
    low = np.maximum(low, min(since, LATEST + 1))  # no row is later
    return low, np.maximum(high, low - 1)
