"""Records of sessions that only silence ends, folded by key where their intervals hang together.

A record is sure if its own interval has not expired: the session it would be in ends no earlier, so it is accepted
whichever of the two is judged.
"""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import KeyCodes
from fanlight.kernels.times import read_times
from fanlight.model.semantics import LateSessions
from fanlight.model.sessions import Session
from fanlight.model.timestamp import Timestamp
from fanlight.operators.folded import Folded, Stretches
from fanlight.operators.lateness import Lateness
from fanlight.operators.plan import Plan, plain, values_of
from fanlight.operators.unaligned.gaps import ends_of
from fanlight.operators.unaligned.stretching import StretchShape, chained


class SessionFolding:
    """Folds the records of a plan with sessions."""

    def __init__(self, plan: Plan, kind: Session) -> None:
        self._plan = plan
        self._kind = kind
        self._lateness = Lateness(plan.spec, plan.slicing)
        self._shape = StretchShape(plan)
        self.schema = self._shape.schema

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times of records, where their intervals end, and which of them are not sure; None if all are.

        `watermark` is the furthest one that their shards can have acted on.
        """
        times, faults = read_times(plain(batch.column(self._plan.spec.time)), self._plan.spec.unit)
        ends, homeless = ends_of(self._plan, self._kind, batch, times)
        doubtful = homeless | (faults != 0) | (ends <= self._lateness.expired_through(watermark))
        return times, ends, doubtful if doubtful.any() else None

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Always: a session is kept as what its records fold to, and folding them again is cheap."""
        return True

    def fold(self, batch: pa.RecordBatch, times: Ints, slots: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """A chunk of folded records, ordered by key; and their keys as codes: of the records, and of the rows.

        `slots` is where their intervals end.
        """
        plan = self._plan
        keys = [plain(batch.column(name)) for name in plan.spec.keys]
        found, chains = chained(keys, times, slots, touching=self._kind.touching)
        values = values_of(plan, batch)
        partials = plan.fold.partial(values, times, chains.groups, None)
        rows = Stretches(chains.starts, chains.ends, found.take(chains.codes), partials)
        return self._shape.to_batch(rows), found, chains.codes

    def read(self, chunks: list[pa.RecordBatch]) -> Stretches | None:
        """The folded records of several chunks, as the chunks come."""
        rows = self._shape.from_batches(chunks)
        return rows if len(rows) else None

    def expired(self, folded: Folded, watermark: Timestamp) -> int:
        """How many of these records are in rows that were judged wrongly if `watermark` is what their shard acted on.

        Where the session is judged, a row is one as a whole. Where each record is, the first is the one to look at.
        """
        assert isinstance(folded, Stretches)
        judged = folded.ends
        if self._kind.gap is not None and self._plan.spec.semantics.late_sessions is LateSessions.OWN:
            judged = folded.starts + self._kind.gap.micros
        return int(folded.partials.rows[judged <= self._lateness.expired_through(watermark)].sum())
