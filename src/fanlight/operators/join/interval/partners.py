"""The pairs of an interval join: rows of one side, searched for in the chunks of the other."""

from __future__ import annotations

from collections.abc import Iterable

from fanlight.kernels.join.probe import matches
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import JoinOperator
from fanlight.state.store import ChunkStore


class IntervalJoin(JoinOperator):
    """A join whose rows match by key and by how far apart they are; subclasses say when pairs are looked for."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert isinstance(plan.spec, IntervalJoinSpec)
        self._match = plan.spec.match

    def _partners(self, lefts: SideRows, rights: Iterable[SideRows]) -> list[RowPairs]:
        """The pairs of left rows, by key and time, with the right rows of each chunk."""
        least, most = self._match.least, self._match.most
        found = []
        for chunk in rights:
            left, right = matches(chunk.codes, chunk.times, lefts.codes, lefts.times + least, lefts.times + most)
            found += self._met(RowPairs(lefts, chunk, left, right))
        return found

    def _partners_of_right(self, rights: SideRows, lefts: Iterable[SideRows]) -> list[RowPairs]:
        """The pairs of right rows, by key and time, with the left rows of each chunk."""
        least, most = self._match.least, self._match.most
        found = []
        for chunk in lefts:
            right, left = matches(chunk.codes, chunk.times, rights.codes, rights.times - most, rights.times - least)
            found += self._met(RowPairs(chunk, rights, left, right))
        return found
