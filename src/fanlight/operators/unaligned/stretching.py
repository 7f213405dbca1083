"""Records of sessions made into stretches, and stretches into chunks and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.chains import chain
from fanlight.kernels.groups import Ints
from fanlight.kernels.intervals import Clusters
from fanlight.kernels.keys import KeyCodes, encode_loosely
from fanlight.operators.folded import Stretches
from fanlight.operators.log import in_one
from fanlight.operators.plan import Plan


def chained(keys: list[pa.Array], times: Ints, ends: Ints, *, touching: bool) -> tuple[KeyCodes, Clusters]:
    """The keys of records, and their intervals from `times` to `ends` joined by key into chains."""
    found = encode_loosely(keys, len(times))
    return found, chain(found.codes, times, ends, touching=touching)


class StretchShape:
    """The columns of a plan's stretches, and how they become chunks and back."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        own = [pa.field(name, pa.int64(), nullable=False) for name in ("start", "end")]
        self.schema = pa.schema([*own, *plan.key_fields, *plan.fold.fields])
        keys, nowhere = [pa.array([], field.type) for field in plan.key_fields], np.zeros(0, np.int64)
        self._none = Stretches(nowhere, nowhere, keys, plan.fold.identity(0))

    def none(self) -> Stretches:
        """No stretch."""
        return self._none

    def to_batch(self, rows: Stretches) -> pa.RecordBatch:
        """Stretches as a chunk."""
        own = [pa.array(rows.starts), pa.array(rows.ends)]
        return pa.record_batch([*own, *rows.keys, *self._plan.fold.to_arrays(rows.partials)], schema=self.schema)

    def from_batches(self, chunks: list[pa.RecordBatch]) -> Stretches:
        """The stretches of several chunks, one after the other."""
        if not chunks:
            return self._none
        whole = in_one(chunks, self.schema)
        starts, ends, *columns = whole.columns
        width = len(self._plan.key_fields)
        partials = self._plan.fold.from_arrays(columns[width:])
        return Stretches(starts.to_numpy(), ends.to_numpy(), columns[:width], partials)
