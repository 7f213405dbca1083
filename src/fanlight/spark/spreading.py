"""Where the rows of a join go that is spread: to the shards of their spans of time, each once, and marked as copies in
all but the first.

    time     |   0   |   1   |      shards of key 7 in span 0 and 1: A and B
    left        ●                   A
    right           └─○─┘           A, and a copy to B
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.join.sides import INPUT, TIME
from fanlight.model.join.spread import COPY, Spans, SpreadJoinSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.operators.ingest.conform import conform
from fanlight.spark.shards import hashed_places

_COPY_FIELD = pa.field(COPY, pa.bool_())


def with_copies(spec: StreamSpec, schema: pa.Schema) -> pa.Schema:
    """The columns that the shards of a stage see: where a join is spread, one more says which rows are copies."""
    return schema.append(_COPY_FIELD) if isinstance(spec, SpreadJoinSpec) and spec.is_spread else schema


class Spreading:
    """Places the records of either side of a join among so many shards."""

    def __init__(self, spec: SpreadJoinSpec, spans: Spans, schema: pa.Schema, shards: int) -> None:
        """`schema` has the columns that the shards see."""
        self._spec = spec
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
        keys = [batch.column(name).cast(self._schema.field(name).type) for name in self._spec.keys]
        times = _times(batch.column(TIME))
        is_left = np.asarray(batch.column(INPUT)) == self._spec.left.name
        first, last = self._of(keys, times, is_left)
        copied = first != last
        for key in keys:
            if key.null_count:  # it matches nothing
                copied &= key.is_valid().to_numpy(zero_copy_only=False)
        sent = np.repeat(np.arange(len(batch)), 1 + copied)
        is_copy = np.zeros(len(sent), np.bool_)
        is_copy[1:] = sent[1:] == sent[:-1]
        rows = batch.take(pa.array(sent)) if copied.any() else batch
        shards = np.where(is_copy, last[sent], first[sent])
        return conform(rows.append_column(_COPY_FIELD, pa.array(is_copy)), self._schema), shards

    def owners(self, keys: list[pa.Array], times: Ints, *, is_left: bool) -> Ints:
        """The shards by position that count rows of a side: all others have copies."""
        return self._of(keys, times, np.full(len(times), is_left))[0]

    def _of(self, keys: list[pa.Array], times: Ints, is_left: Bools) -> tuple[Ints, Ints]:
        """The shards of the first and the last span of rows."""
        found = []
        for left, right in zip(self._spans.left, self._spans.right, strict=True):
            spans = (times + np.where(is_left, left, right)) // self._spans.width
            found.append(self._places(keys, spans))
        return found[0], found[1]

    def _places(self, keys: list[pa.Array], spans: Ints) -> NDArray[np.int64]:
        return hashed_places([*keys, pa.array(spans)], len(spans), self._shards)


def _times(column: pa.Array) -> Ints:
    """Times as microseconds; one that cannot be used is a time all the same, so that its record has a shard."""
    known = column.fill_null(0) if column.null_count else column
    times: Ints = np.clip(known.to_numpy(), EARLIEST, LATEST)
    return times
