"""Runs of session records: overlapping intervals of one key, aggregated; and runs as chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Ints, KeyCodes, encode_loosely
from fanlight.kernels.sessions.chain import chain
from fanlight.kernels.sessions.cluster import Clusters
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.operators.chunk_log import in_one
from fanlight.operators.window.plan import Plan


@dataclass(frozen=True, slots=True)
class SessionRuns(Columnar):
    """Runs of session records, in no order: a row stands for records of one key whose intervals overlap in a chain.

        records    [----)[----)        [----)
                      [----)
        rows       [----------)        [----)

    A row starts with its first record and ends with the last of its intervals. Rows of one key may overlap.
    """

    starts: Ints
    ends: Ints
    keys: list[pa.Array]
    partials: Partials

    @property
    def records(self) -> int:
        """How many records these are."""
        return int(self.partials.rows.sum())

    def missed(self, slicing: Slicing, expired: int) -> int:
        """Always 0: records are pre-aggregated only where none can miss its session."""
        return 0


def chained(keys: list[pa.Array], times: Ints, ends: Ints, *, touching: bool) -> tuple[KeyCodes, Clusters]:
    """The keys of records, and the chains of their intervals from `times` to `ends`."""
    found = encode_loosely(keys, len(times))
    return found, chain(found.codes, times, ends, touching=touching)


class SessionRunsShape:
    """The columns of a plan's runs, and their conversion to chunks and back."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        own = [pa.field(name, pa.int64(), nullable=False) for name in ("start", "end")]
        self.schema = pa.schema([*own, *plan.key_fields, *plan.aggregation.fields])
        keys, nowhere = [pa.array([], field.type) for field in plan.key_fields], np.zeros(0, np.int64)
        self._none = SessionRuns(nowhere, nowhere, keys, plan.aggregation.identity(0))

    def none(self) -> SessionRuns:
        """No run."""
        return self._none

    def to_batch(self, rows: SessionRuns) -> pa.RecordBatch:
        """Runs as a chunk."""
        own = [pa.array(rows.starts), pa.array(rows.ends)]
        return pa.record_batch([*own, *rows.keys, *self._plan.aggregation.to_arrays(rows.partials)], schema=self.schema)

    def from_batches(self, chunks: list[pa.RecordBatch]) -> SessionRuns:
        """The runs of several chunks, one after the other."""
        if not chunks:
            return self._none
        whole = in_one(chunks, self.schema)
        starts, ends, *columns = whole.columns
        width = len(self._plan.key_fields)
        partials = self._plan.aggregation.from_arrays(columns[width:])
        return SessionRuns(starts.to_numpy(), ends.to_numpy(), columns[:width], partials)
