"""Records of windows that all keys share, folded by slice and key.

What becomes of a record depends on its slice alone, unless the spec says otherwise. So records of a slice that no
watermark can have expired are sure to be accepted.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import KeyCodes, encode, encode_loosely
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.times import read_times
from fanlight.model.timestamp import Timestamp
from fanlight.operators.folded import Folded, FoldedSlices, least_times, wants_times
from fanlight.operators.lateness import Lateness
from fanlight.operators.plan import Plan, plain, values_of

_RUNS, _RUN = 128, 256
"""How many runs of rows are looked at, and how long each is."""
_HALVING = 1.593624
"""With this many rows for each pair they are drawn from, half as many pairs as rows are drawn: 2(1 - e^-x) = x."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Its multiples by squares fall anywhere between two whole numbers, in no order."""


class SliceFolding:
    """Folds the records of a plan whose windows are cut into slices."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lateness = Lateness(plan.spec, plan.slicing)
        self._timed = wants_times(plan.spec)
        least = [pa.field("least", pa.int64(), nullable=False)] if self._timed else []
        self._own = [pa.field("slice", pa.int64(), nullable=False), *least]
        self.schema = pa.schema([*self._own, *plan.key_fields, *plan.fold.fields])

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times and slices of records, and which of these may be dead letters; None if none may.

        `watermark` is the furthest one that their shards can have acted on.
        """
        times, faults = read_times(plain(batch.column(self._plan.spec.time)), self._plan.spec.unit)
        slices = self._plan.slicing.slices(times)
        doubtful = self._doubtful(slices, watermark)
        if faults.any():
            faulty: Bools = faults != 0
            doubtful = faulty if doubtful is None else doubtful | faulty
        return times, slices, doubtful

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Whether folding leaves at most half as many rows, as far as a sample of them tells.

        R rows drawn at random make N(1 - e^(-R/N)) of N pairs of slice and key: half as many as they are where N is
        R / 1.594. Then n of them make N(1 - e^(-n/N)). The sample is of runs of rows, so that keys which come in
        runs are seen to.
        """
        rows = _sampled(len(slots))
        found = encode([plain(batch.column(name)).take(pa.array(rows)) for name in self._plan.spec.keys], len(rows))
        pairs = Pairs.of(slots[rows], found.codes, found.count)
        distinct = len(pairs.occurring(pairs.groups.sizes()))
        if len(rows) == len(slots):
            return 2 * distinct <= len(rows)
        most = len(slots) / _HALVING
        return distinct <= most * -math.expm1(-len(rows) / most)

    def fold(self, batch: pa.RecordBatch, times: Ints, slices: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """A chunk of folded records, ordered by slice; and their keys as codes: of the records, and of the rows."""
        plan = self._plan
        found = encode_loosely([plain(batch.column(name)) for name in plan.spec.keys], len(batch))
        values = values_of(plan, batch)
        pairs = Pairs.of(slices, found.codes, found.count)
        partials = plan.fold.partial(values, times, pairs.groups, None)
        kept = pairs.occurring(partials.rows)
        least = [pa.array(least_times(times, pairs.groups)[kept])] if self._timed else []
        places, codes = pairs.split(kept)
        rows = plan.fold.to_arrays(partials if len(kept) == len(partials) else partials.take(kept))
        chunk = pa.record_batch([pa.array(places), *least, *found.take(codes), *rows], schema=self.schema)
        return chunk, found, codes

    def read(self, chunks: list[pa.RecordBatch]) -> FoldedSlices | None:
        """The folded records of several chunks, ordered by slice and, within one, as the chunks come."""
        table = pa.Table.from_batches(chunks, schema=self.schema).combine_chunks()
        if not len(table):
            return None
        batch = table.to_batches()[0]
        if len(chunks) > 1:
            batch = batch.take(pa.array(np.argsort(batch.column("slice").to_numpy(), kind="stable")))
        least = batch.column("least").to_numpy() if self._timed else None
        columns = batch.columns[len(self._own) :]
        width = len(self._plan.key_fields)
        return FoldedSlices(
            batch.column("slice").to_numpy(), columns[:width], self._plan.fold.from_arrays(columns[width:]), least
        )

    def expired(self, folded: Folded, watermark: Timestamp) -> int:
        """How many of these records are too late at `watermark`: none, if they were divided as they should be."""
        assert isinstance(folded, FoldedSlices)
        dead = self._doubtful(folded.slices, watermark)
        return 0 if dead is None else int(folded.partials.rows[dead].sum())

    def _doubtful(self, slices: Ints, watermark: Timestamp) -> Bools | None:
        fates = self._lateness.fates(slices, self._lateness.expired_through(watermark))
        return None if fates is None else fates[0] | fates[1]


def _sampled(count: int) -> Ints:
    """Which of `count` rows to look at: a run of them in each of equal parts; all if they are few."""
    if count <= _RUNS * _RUN:
        return np.arange(count)
    parts = np.arange(_RUNS)
    # Runs as far from each other as the parts are would miss, or see twice, keys that come in turn.
    within = np.modf(parts * parts * _GOLDEN)[0] * (count // _RUNS - _RUN)
    starts = parts * count // _RUNS + within.astype(np.int64)
    rows: Ints = starts[:, None] + np.arange(_RUN)
    return rows.ravel()
