"""An aggregating join: a left row leaves when it is complete, with aggregates over the right rows that match it.

right   key a   3  5  9 12          sorted by key and time: the matches of a left row are a range of them
left    key a   from 4 to 10  ──►   rows 5 and 9, merged with all other ranges at once
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Groups, Ints, encode_together
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.search_key_time import window_rows
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.aggregated.plan import MatchAggregates
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import JoinOperator, moved
from fanlight.operators.operator import BoundSpec, Progress
from fanlight.operators.over.withheld import withhold
from fanlight.state.store import ChunkStore


def bind_aggregated_join(spec: AggregatedJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """An aggregating join bound to the columns of both sides."""
    for name in (spec.left.name, spec.right.name, *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = JoinPlan.bind(spec, schema)
    aggregates = MatchAggregates.bind(spec, plan)
    return BoundSpec(schema, aggregates.result, partial(AggregatedJoin, plan, aggregates), times=TimeReader.of(spec))


class AggregatedJoin(JoinOperator):
    """Both sides wait; the matches of a left row are aggregated once, when it is complete."""

    sorts_left: ClassVar[bool] = False

    def __init__(self, plan: JoinPlan, aggregates: MatchAggregates, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert isinstance(plan.spec, AggregatedJoinSpec)
        self._match = plan.spec.match
        self._aggregates = aggregates

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights.where(self._plan.has_keys(rights, left=False)))
        self._left.append(lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The left rows that are complete now, in their order, with their aggregates."""
        low, high = self._complete(progress)
        lefts, due = self._left.due(low, high)
        if not len(due):
            return []
        lefts = lefts if len(due) == len(lefts) else lefts.take(due)
        rights = self._matchable(low, high)
        codes, of = self._codes(rights, lefts)
        order, codes, times = sort_by_key_time(codes, rights.times)
        rights = rights.take(order)
        looks, of, when = sort_by_key_time(of, lefts.times)
        starts, ends = window_rows(codes, times, of, when + self._match.least, when + (self._match.most + 1))
        ends = np.where(self._plan.has_keys(lefts, left=True)[looks], ends, starts)
        return self._leaving(lefts, looks, ends > starts, self._merged(rights, starts, ends), progress)

    def retire(self, progress: Progress) -> None:
        """Delete the rows that nothing complete later can match."""
        _, high = self._complete(progress)
        self._left.drop(high)
        self._right.drop(moved(high, self._match.least))

    def _complete(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """From and up to which time left rows are complete now."""
        spec = self._plan.spec
        low, high = (
            min(look(spec.left, progress), moved(look(spec.right, progress), -self._match.most))
            for look in (self._before, self._after)
        )
        return low, high

    def _matchable(self, low: Timestamp, high: Timestamp) -> SideRows:
        """The right rows that may match left rows from `low` up to `high`, as they came."""
        rows = self._right.between(moved(low, self._match.least), moved(high, self._match.most))
        return rows.take(np.argsort(rows.came, kind="stable"))

    def _codes(self, rights: SideRows, lefts: SideRows) -> tuple[Ints, Ints]:
        """The keys of both sides as numbers that only equal keys have in common."""
        if self._plan.is_exact:
            return rights.codes, lefts.codes
        theirs, own = self._plan.keys_of(rights, left=False), self._plan.keys_of(lefts, left=True)
        _, codes, of = encode_together(theirs, len(rights), own, len(lefts))
        return codes, of

    def _merged(self, rights: SideRows, starts: Ints, ends: Ints) -> Partials:
        """The aggregates of ranges of right rows, unfinished."""
        aggregation = self._aggregates.aggregation
        if not len(rights):
            return aggregation.identity(len(starts))
        values = self._aggregates.values(rights, self._plan.right)
        alone = Groups.alone(len(rights))
        return ranges(aggregation, aggregation.partial(values, rights.times, alone, None, rights.came), starts, ends)

    def _leaving(
        self, lefts: SideRows, looks: Ints, has_match: Any, merged: Partials, progress: Progress
    ) -> list[pa.RecordBatch]:
        """Left rows beside their aggregates, by time, then as they came; `looks` says whose the aggregates are."""
        back = np.empty(len(looks), np.int64)
        back[looks] = np.arange(len(looks))
        order = sort_by_key_time(lefts.times, lefts.came).order
        if self._plan.spec.how is JoinType.INNER:
            order = order[has_match[back[order]]]
        if not len(order):
            return []
        of = pa.array(back[order])
        found = [column.take(of) for column in self._aggregates.aggregation.finish(merged)]
        own = [column.take(pa.array(order)) for column in lefts.columns]
        return [
            withhold(
                self._aggregates.rows(own, found), self._outside(merged, looks, order), self._books, progress.watermark
            )
        ]

    def _outside(self, merged: Partials, looks: Ints, order: Ints) -> dict[int, dict[str, Any]]:
        """By row that leaves and name of aggregate: the exact text of what its type cannot hold."""
        told: dict[int, dict[str, Any]] = {}
        for name, each in zip(self._aggregates.names, self._aggregates.aggregation.outside(merged), strict=True):
            for place, text in each.items():
                (row,) = np.flatnonzero(order == looks[place]).tolist()
                told.setdefault(row, {})[name] = text
        return told
