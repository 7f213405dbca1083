"""The operator of `over` inside windows: what windows have gathered is looked over, each (key, window) by itself.

    a row a window    a  [●●●]  12:00         a row a record    a  ●  12:00  1
                      b  [●●]   12:00    ─►                     a  ●  12:00  2
                                                                …

It keeps nothing: a window says all of its records when it is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from fanlight.kernels.sort_time import check_tie
from fanlight.model.continuation import RECORD, WINDOW_END, WINDOW_START
from fanlight.model.over.windowed import BOUNDS, WindowedOverSpec
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.operators.over.partition_values import PartitionValues
from fanlight.operators.over.plan import FrameAggregates, bound_columns
from fanlight.operators.over.withheld import withhold
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What one shard needs to know: the spec, the columns of the records, the kernels."""

    spec: WindowedOverSpec
    records: pa.Schema
    """The columns of the records that windows have gathered."""
    result: pa.Schema
    aggregates: tuple[FrameAggregates, ...]

    @staticmethod
    def bind(spec: WindowedOverSpec, schema: pa.Schema) -> PartitionPlan:
        """Look up every column in the records that windows have gathered, and choose the kernels."""
        for name in spec.columns:
            require_column(schema, name)
        records = pa.schema(list(schema.field(spec.rows).type.value_type))
        with_whole = records.append(pa.field(RECORD, pa.struct(list(records))))  # what a function of whole rows sees
        worked_on = [name for one in spec.new_columns for name in one.function.columns if name != RECORD]
        for name in (spec.record_time, *(by.column for by in spec.order), *worked_on):
            require_column(records, name)
        for by in spec.order:
            check_tie(by.column, records.field(by.column).type, "over")
        outputs, found = bound_columns(spec.new_columns, with_whole)
        windows = [schema.field(name) for name in BOUNDS]
        kept = [field for field in records if field.name not in BOUNDS]
        return PartitionPlan(spec, records, pa.schema([*kept, *windows, *outputs]), tuple(found))


def bind_windowed_over(spec: WindowedOverSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """`over` inside windows bound to its columns: those of the records, the window, and the new ones."""
    plan = PartitionPlan.bind(spec, schema)
    return BoundSpec(schema, plan.result, partial(OverPartitions, plan))


class OverPartitions(Operator):
    """The windows of the step that is under way; nothing stays."""

    def __init__(self, plan: PartitionPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._came: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """All windows that are over."""
        self._came.append(bundle.batch)
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """A row for each record of each of them: as the windows come, and inside each in its order."""
        came, self._came = self._came, []
        return [self._looked_over(batch, progress) for batch in came if len(batch)]

    def _looked_over(self, batch: pa.RecordBatch, progress: Progress) -> pa.RecordBatch:
        """The rows of these windows, with the new columns."""
        spec = self._plan.spec
        found = PartitionValues(spec, self._plan.records, self._plan.aggregates, batch.column(spec.rows))
        columns, outside = found.columns()
        own = [found.records.column(name) for name in self._plan.records.names if name not in BOUNDS]
        places = pa.array(found.partitions)
        bounds = [batch.column(name).take(places) for name in (WINDOW_START, WINDOW_END)]
        if not spec.window.has_ends:  # what a global window has in the place of its bounds is no time
            bounds = [pa.nulls(len(places), bound.type) for bound in bounds]
        rows = pa.RecordBatch.from_arrays([*own, *bounds, *columns], schema=self._plan.result)
        return withhold(rows, outside, self._books, progress.watermark)
