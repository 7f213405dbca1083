"""Pre-aggregation of sessions that only a gap ends: by key, over runs of overlapping intervals.

A record is sure if its own interval has not expired. Its session ends no earlier, so it is accepted whichever of the
two is judged.
"""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes
from fanlight.model.semantics import LateSessions
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.windows.session import Session
from fanlight.operators.ingest.bundle import times_in
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.admission import Lateness, values_of
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.gaps import ends_of
from fanlight.operators.window.session.runs import SessionRuns, SessionRunsShape, chained


def session_preaggregator(kind: Session, plan: Plan) -> SessionPreAggregator | None:
    """The pre-aggregator of sessions; None if more than a gap ends them.

    None also if records have their own gaps and are judged alone: a row could not say which of its records is not sure.
    """
    tells = kind.gap is not None or plan.spec.semantics.late_sessions is LateSessions.MERGED
    return SessionPreAggregator(plan, kind) if tells and not kind.has_limits else None


class SessionPreAggregator:
    """Pre-aggregates the records of sessions."""

    def __init__(self, plan: Plan, kind: Session) -> None:
        self._plan = plan
        self._kind = kind
        self._lateness = Lateness(plan.spec, plan.slicing)
        self._shape = SessionRunsShape(plan)
        self.schema = self._shape.schema

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times of records, the ends of their intervals, and which records are not sure (None if all are).

        `watermark` is the furthest one that their shards can have acted on.
        """
        times, faults = times_in(batch, self._plan.spec.time, self._plan.spec.unit)
        ends, homeless = ends_of(self._plan, self._kind, batch, times)
        doubtful = homeless | (faults != 0) | (ends <= self._lateness.expired_through(watermark))
        return times, ends, doubtful if doubtful.any() else None

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Always: sessions are stored as partials, and merging partials again is cheap."""
        return True

    def aggregate(self, batch: pa.RecordBatch, times: Ints, slots: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """Pre-aggregate records: the chunk, ordered by key, the key codes of the records, and those of the rows.

        `slots` are the ends of their intervals.
        """
        plan = self._plan
        keys = [plain(batch.column(name)) for name in plan.spec.keys]
        found, chains = chained(keys, times, slots, touching=self._kind.touching)
        values = values_of(plan, batch)
        partials = plan.aggregation.partial(values, times, chains.groups, None)
        rows = SessionRuns(chains.starts, chains.ends, found.take(chains.codes), partials)
        return self._shape.to_batch(rows), found, chains.codes

    def read(self, chunks: list[pa.RecordBatch]) -> SessionRuns | None:
        """The pre-aggregated records of several chunks, in the order of the chunks."""
        rows = self._shape.from_batches(chunks)
        return rows if len(rows) else None

    def expired(self, preaggregated: SessionRuns, watermark: Timestamp) -> int:
        """How many of these records are in rows that should not exist, if their shard acted on `watermark`.

        Where sessions are judged, a row is judged as a whole. Where records are judged, its first record decides.
        """
        judged = preaggregated.ends
        if self._kind.gap is not None and self._plan.spec.semantics.late_sessions is LateSessions.OWN:
            judged = preaggregated.starts + self._kind.gap.micros
        return int(preaggregated.partials.rows[judged <= self._lateness.expired_through(watermark)].sum())
