"""Where the rows of a join go that is spread: to the shards of their spans of time, each once, and marked as copies in
all but the first.

    time     |   0   |   1   |      shards of key 7 in span 0 and 1: A and B
    left        ●                   A
    right           └─○─┘           A, and a copy to B
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.join.sides import COPY, INPUT, TIME
from fanlight.model.join.spread import SpreadJoinSpec, SpreadRule
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.operators.ingest.bundle import times_in
from fanlight.operators.ingest.columns import plain
from fanlight.operators.ingest.conform import conform
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.join.plan import JoinPlan
from fanlight.spark.shards import key_codes, places_in_time

_COPY_FIELD = pa.field(COPY, pa.bool_())


def with_copies(spec: StreamSpec, schema: pa.Schema) -> pa.Schema:
    """The columns that the shards of a stage see: where a join is spread, one more says which rows are copies."""
    return schema.append(_COPY_FIELD) if isinstance(spec, SpreadJoinSpec) and spec.is_spread else schema


class Spreading:
    """Places the records of either side of a join among so many shards."""

    def __init__(self, spec: SpreadJoinSpec, spans: SpreadRule, schema: pa.Schema, shards: int) -> None:
        """`schema` has the columns that the shards see."""
        self.spec = spec
        self._spans = spans
        self._schema = schema
        self._shards = shards

    @classmethod
    def of(cls, spec: StreamSpec, schema: pa.Schema, shards: int) -> Spreading | None:
        """How the records of `spec` are spread; None if they are not."""
        if not isinstance(spec, SpreadJoinSpec) or spec.spans is None:
            return None
        return cls(spec, spec.spans, schema, shards)

    def placed(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The records, each followed by its copy if it has one, and their shards by position."""
        keys = [batch.column(name).cast(self._schema.field(name).type) for name in self.spec.keys]
        # all records of a batch are of one input
        is_left = len(batch) > 0 and batch.column(INPUT)[0].as_py() == self.spec.left.name
        first, last = self._of(keys, _times(batch.column(TIME)), is_left=is_left)
        copied = first != last
        for key in keys:
            if key.null_count:  # it matches nothing
                copied &= key.is_valid().to_numpy(zero_copy_only=False)
        if not copied.any():
            return self._marked(batch, np.zeros(len(batch), np.bool_)), first
        sent = np.repeat(np.arange(len(batch)), 1 + copied)
        is_copy = np.zeros(len(sent), np.bool_)
        is_copy[1:] = sent[1:] == sent[:-1]
        shards = np.where(is_copy, last[sent], first[sent])
        return self._marked(batch.take(pa.array(sent)), is_copy), shards

    def owners(self, keys: list[pa.Array], times: Ints, *, is_left: bool) -> Ints:
        """The shards by position that count these rows of a side: others have copies."""
        return self._of(keys, times, is_left=is_left)[0]

    def _of(self, keys: list[pa.Array], times: Ints, *, is_left: bool) -> tuple[Ints, Ints]:
        """The shards of the first and the last span of rows of a side."""
        spans, codes = self._spans, key_codes(keys, len(times))
        low, high = spans.left if is_left else spans.right
        first = places_in_time(codes, (times + low) // spans.width, self._shards)
        return first, first if low == high else places_in_time(codes, (times + high) // spans.width, self._shards)

    def _marked(self, rows: pa.RecordBatch, is_copy: Bools) -> pa.RecordBatch:
        """Rows as the shards see them, with whether they are copies."""
        return conform(rows.append_column(_COPY_FIELD, pa.array(is_copy)), self._schema)


def without_copies(plan: JoinPlan | NWayPlan, name: str, rows: pa.Table, ids: Sequence[int], shard: int) -> pa.Table:
    """The rows of the side called `name`, as they came, that the shard with this id has not got as copies."""
    spreading = Spreading.of(plan.spec, plan.schema, len(ids))
    if spreading is None or not len(rows):
        return rows
    spec, batch = spreading.spec, rows.combine_chunks().to_batches()[0]
    is_left = name == spec.left.name
    side = spec.left if is_left else spec.right
    kinds = [plan.schema.field(name).type for name in spec.keys]
    keys = [plain(batch.column(name)).cast(kind) for name, kind in zip(side.keys, kinds, strict=True)]
    times, _ = times_in(batch, side.time, side.unit)
    return rows.filter(pa.array(spreading.owners(keys, times, is_left=is_left) == ids.index(shard)))


def _times(column: pa.Array) -> Ints:
    """Times as microseconds; one that cannot be used is a time all the same, so that its record has a shard."""
    known = column.fill_null(0) if column.null_count else column
    times: Ints = np.clip(known.to_numpy(), EARLIEST, LATEST)
    return times
