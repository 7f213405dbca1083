"""Pre-aggregation of windows that all keys share: by slice and key.

Whether a record is accepted depends on its slice alone, unless the spec says otherwise. So records of a slice that no
watermark can have expired are sure.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes, Pairs, encode, encode_loosely, least_times
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.ingest.bundle import times_in
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.admission import Lateness, values_of
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregated import PreAggregatedSlices

RUNS, RUN = 128, 256
"""How many runs of rows are sampled, and the length of each."""
_HALVING = 1.593624
"""With this many rows drawn for each possible pair, half as many pairs as rows occur: 2(1 - e^-x) = x."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""The fractions of its multiples by squares are spread evenly, without a period."""


class SlicePreAggregator:
    """Pre-aggregates the records of windows that have slices."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lateness = Lateness(plan.spec, plan.slicing)
        self._timed = plan.spec.has_event_timers
        least = [pa.field("least", pa.int64(), nullable=False)] if self._timed else []
        self._own = [pa.field("slice", pa.int64(), nullable=False), *least]
        self.schema = pa.schema([*self._own, *plan.key_fields, *plan.aggregation.fields])

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times and slices of records, and which records may be dead letters (None if none may).

        `watermark` is the furthest one that their shards can have acted on.
        """
        times, faults = times_in(batch, self._plan.spec.time, self._plan.spec.unit)
        slices = self._plan.slicing.slices(times)
        doubtful = self._doubtful(slices, watermark)
        if faults.any():
            faulty: Bools = faults != 0
            doubtful = faulty if doubtful is None else doubtful | faulty
        if self._plan.operations is not None:
            strange = self._plan.operations.strange(batch)
            if strange.any():
                doubtful = strange if doubtful is None else doubtful | strange
        return times, slices, doubtful

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Whether at most half as many rows would remain, estimated from a sample.

        R rows drawn at random from N pairs of slice and key have N(1 - e^(-R/N)) distinct pairs: half of R where N is
        R / 1.594. Then a sample of n rows has N(1 - e^(-n/N)) pairs. The sample consists of runs of rows, so that it
        also shows keys that come in runs.
        """
        rows = sampled(len(slots))
        found = encode([plain(batch.column(name)).take(pa.array(rows)) for name in self._plan.spec.keys], len(rows))
        pairs = Pairs.of(slots[rows], found.codes, found.count)
        distinct = len(pairs.occurring(pairs.groups.sizes()))
        if len(rows) == len(slots):
            return 2 * distinct <= len(rows)
        most = len(slots) / _HALVING
        return distinct <= most * -math.expm1(-len(rows) / most)

    def aggregate(self, batch: pa.RecordBatch, times: Ints, slices: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """Pre-aggregate records: the chunk, ordered by slice, the key codes of the records, and those of the rows."""
        plan = self._plan
        found = encode_loosely([plain(batch.column(name)) for name in plan.spec.keys], len(batch))
        values = values_of(plan, batch)
        pairs = Pairs.of(slices, found.codes, found.count)
        deletes = None if plan.operations is None else plan.operations.deletes(batch)
        deletes = deletes if deletes is not None and deletes.any() else None
        partials = plan.aggregation.partial(values, times, pairs.groups, None, deletes=deletes)
        kept = pairs.occurring(partials.rows)
        least = [pa.array(least_times(times, pairs.groups)[kept])] if self._timed else []
        places, codes = pairs.split(kept)
        rows = plan.aggregation.to_arrays(partials if len(kept) == len(partials) else partials.take(kept))
        chunk = pa.record_batch([pa.array(places), *least, *found.take(codes), *rows], schema=self.schema)
        return chunk, found, codes

    def read(self, chunks: list[pa.RecordBatch]) -> PreAggregatedSlices | None:
        """The pre-aggregated records of several chunks, ordered by slice; within a slice in the order of the chunks."""
        table = pa.Table.from_batches(chunks, schema=self.schema).combine_chunks()
        if not len(table):
            return None
        batch = table.to_batches()[0]
        if len(chunks) > 1:
            batch = batch.take(pa.array(np.argsort(batch.column("slice").to_numpy(), kind="stable")))
        least = batch.column("least").to_numpy() if self._timed else None
        columns = batch.columns[len(self._own) :]
        width = len(self._plan.key_fields)
        return PreAggregatedSlices(
            batch.column("slice").to_numpy(),
            columns[:width],
            self._plan.aggregation.from_arrays(columns[width:]),
            least,
        )

    def expired(self, preaggregated: PreAggregatedSlices, watermark: Timestamp) -> int:
        """How many of these records are too late at `watermark`: 0 if `divide` was right."""
        dead = self._doubtful(preaggregated.slices, watermark)
        return 0 if dead is None else int(preaggregated.partials.rows[dead].sum())

    def _doubtful(self, slices: Ints, watermark: Timestamp) -> Bools | None:
        fates = self._lateness.fates(slices, self._lateness.expired_through(watermark))
        return None if fates is None else fates[0] | fates[1]


def sampled(count: int) -> Ints:
    """Which of `count` rows to sample: one run of rows in each of equal parts; all rows if they are few."""
    if count <= RUNS * RUN:
        return np.arange(count)
    parts = np.arange(RUNS)
    # Runs at equal distances would miss, or count twice, keys that come periodically.
    within = np.modf(parts * parts * _GOLDEN)[0] * (count // RUNS - RUN)
    starts = parts * count // RUNS + within.astype(np.int64)
    rows: Ints = starts[:, None] + np.arange(RUN)
    return rows.ravel()
