"""Records folded by slice and key before they reach their shard, where nothing needs them one by one.

    records ─ fold ─► (slice, key, partials) ─ moved ─► shard
       └── those that may be dead letters, as they are ──┘

What becomes of a record depends on its slice alone, unless the spec says otherwise. So records of a slice that no
watermark can have expired may travel as partials; the others travel as they came, and the shard judges them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.keys import KeyCodes, encode_loosely
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.times import read_times
from fanlight.model.kinds import is_aligned
from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, Timestamp
from fanlight.model.triggers import AtExpiry, AtWatermark, Every, Never, Repeat
from fanlight.model.windows import TimeDomain
from fanlight.operators.lateness import Lateness
from fanlight.operators.plan import Plan, given, plain


@dataclass(frozen=True, slots=True)
class Folded:
    """Accepted records by slice and key, ordered by slice; a pair may occur more than once."""

    slices: Ints
    keys: list[pa.Array]
    partials: Partials
    least: Ints | None
    """The least time of each row's records, where the trigger asks for it."""

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def records(self) -> int:
        """How many records these are."""
        return int(self.partials.rows.sum())


def folds_early(spec: WindowSpec) -> bool:
    """Whether records may be folded before they are judged.

    Not where messages are kept, where a record's own time or watermark decides, where the shard gives the time, where
    each key has its own windows, or where a pane can finish and make dead letters of what still comes.
    """
    by_slice = spec.semantics.late_by is LateBy.WINDOW and not spec.semantics.holds
    by_time = spec.window.domain is TimeDomain.EVENT and is_aligned(spec.window)
    return by_slice and by_time and not (spec.needs_messages or _finishes(spec))


def _finishes(spec: WindowSpec) -> bool:
    """Whether a pane can have finished while its window has not expired."""
    match spec.trigger:
        case AtExpiry() | Never() | Every() | Repeat():
            return False
        case AtWatermark(late=None):
            return spec.lateness.micros > 0 or spec.closes_strictly != spec.expires_strictly
        case AtWatermark():
            return False
    return True


def wants_times(spec: WindowSpec) -> bool:
    """Whether the trigger asks for the least time of what came."""
    return any(isinstance(part, Every) and part.domain is TimeDomain.EVENT for part in spec.trigger.walk())


def least_times(times: Ints, groups: Groups) -> Ints:
    """The least time of each group."""
    least = np.full(groups.count, END_OF_TIME)
    np.minimum.at(least, groups.codes, times)
    return least


class Folding:
    """Folds a plan's records, and writes and reads what comes of it as chunks."""

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

    def fold(self, batch: pa.RecordBatch, times: Ints, slices: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """A chunk of folded records, ordered by slice; and their keys as codes: of the records, and of the rows."""
        plan = self._plan
        found = encode_loosely([plain(batch.column(name)) for name in plan.spec.keys], len(batch))
        values = [given(batch, columns) for _, columns in plan.folded]
        pairs = Pairs.of(slices, found.codes, found.count)
        partials = plan.fold.partial(values, times, pairs.groups, None)
        kept = pairs.occurring(partials.rows)
        least = [pa.array(least_times(times, pairs.groups)[kept])] if self._timed else []
        places, codes = pairs.split(kept)
        rows = plan.fold.to_arrays(partials if len(kept) == len(partials) else partials.take(kept))
        chunk = pa.record_batch([pa.array(places), *least, *found.take(codes), *rows], schema=self.schema)
        return chunk, found, codes

    def read(self, chunks: list[pa.RecordBatch]) -> Folded | None:
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
        return Folded(
            batch.column("slice").to_numpy(), columns[:width], self._plan.fold.from_arrays(columns[width:]), least
        )

    def expired(self, folded: Folded, watermark: Timestamp) -> int:
        """How many of these records are too late at `watermark`: none, if they were divided as they should be."""
        dead = self._doubtful(folded.slices, watermark)
        return 0 if dead is None else int(folded.partials.rows[dead].sum())

    def _doubtful(self, slices: Ints, watermark: Timestamp) -> Bools | None:
        fates = self._lateness.fates(slices, self._lateness.expired_through(watermark))
        return None if fates is None else fates[0] | fates[1]
