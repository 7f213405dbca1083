"""An aggregating join bound to the columns of its two inputs: its kernels, and the columns they work on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.aggregates.aggregation import Aggregation
from fanlight.kernels.aggregates.inputs import input_values
from fanlight.kernels.aggregates.mergeable import mergeable
from fanlight.model.aggregates import Count
from fanlight.model.firing import FiringTime
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.operators.ingest.columns import plain, require_column
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows


@dataclass(frozen=True, slots=True)
class MatchAggregates:
    """The aggregates of matches: their names, the right columns they work on, their kernels; the columns of rows.

    Of a right side of which nothing has come only counts are known: all other aggregates are null, without a type.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    aggregation: Aggregation
    result: pa.Schema

    @staticmethod
    def bind(spec: AggregatedJoinSpec, plan: JoinPlan) -> MatchAggregates:
        """Look the columns up, and choose the kernels."""
        reducers, columns, names, outputs = [], [], [], []
        for name, aggregate in spec.aggregates:
            if name in plan.left.names:
                raise InputError(f"agg: the left side has a column {name!r} already. Give the aggregate another name.")
            if not plan.right and not isinstance(aggregate, Count):
                outputs.append(pa.field(name, pa.null()))
                continue
            own = tuple(spec.right_column(written) for written in aggregate.columns)
            for column in own if plan.right else ():
                require_column(plan.right, column)
            kinds = [plan.right.field(column).type if plan.right else pa.null() for column in own]
            reducers.append(mergeable(aggregate, pa.schema([*zip(aggregate.columns, kinds, strict=True)])))
            columns.append(own)
            names.append(name)
            outputs.append(pa.field(name, reducers[-1].output))
        aggregation = Aggregation(tuple(reducers), FiringTime.END)
        return MatchAggregates(tuple(names), tuple(columns), aggregation, pa.schema([*plan.left, *outputs]))

    def rows(self, left: list[pa.Array], found: list[pa.Array]) -> pa.RecordBatch:
        """The columns of left rows beside their aggregates."""
        known = dict(zip(self.names, found, strict=True))
        outputs = [known.get(name, pa.nulls(len(left[0]))) for name in self.result.names[len(left) :]]
        return pa.RecordBatch.from_arrays([*left, *outputs], schema=self.result)

    def values(self, rows: SideRows, schema: pa.Schema) -> list[pa.Array | None]:
        """What each aggregate works on in right rows of this schema."""
        found: dict[tuple[str, ...], pa.Array | None] = {}
        for names in self.columns:
            if names not in found:
                own = [plain(rows.columns[schema.get_field_index(name)]) for name in names]
                found[names] = input_values(names, own)
        return [found[names] for names in self.columns]
