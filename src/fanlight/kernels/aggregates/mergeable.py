"""Aggregates that are merged range by range: those that need the messages gather them in lists first."""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.aggregates.bind import bind
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.kernels.aggregates.inputs import input_type
from fanlight.kernels.reducer import MessageReducer, Reducer
from fanlight.model.aggregates.aggregate import Aggregate


def mergeable(aggregate: Aggregate, schema: pa.Schema) -> Reducer:
    """What computes an aggregate over the columns of `schema` from partials of single rows."""
    kind = input_type(aggregate.columns, schema)
    reducer = bind(aggregate, kind)
    if not isinstance(reducer, MessageReducer):
        return reducer
    assert kind is not None  # an aggregate over messages works on a column
    return GatheredLists(reducer, kind)
