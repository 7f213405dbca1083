"""Merge new records into sessions: judge them, aggregate the accepted ones, and cluster all with the live sessions.

    records ──► sure ──────────► runs ──┐
            └─► too late alone ─────────┼─ cluster ─► sessions
    pre-aggregated records ─────────────┤
    live sessions ──────────────────────┘

A record whose own interval has not expired is accepted, whichever session it will be in; so it is aggregated at once.
The others are few. If their session decides, they are clustered one by one, and dead ones are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, KeyCodes, encode_together
from fanlight.kernels.sessions.cluster import Clusters, cluster, meets
from fanlight.model.reason import Reason
from fanlight.model.semantics import LateSessions
from fanlight.model.windows.session import Session
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness, rejected, rejected_each
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.gaps import ends_of
from fanlight.operators.window.session.runs import SessionRuns, SessionRunsShape, chained


@dataclass(frozen=True, slots=True)
class Coming:
    """Records with the ends of their intervals, and the pre-aggregated records of the same bundle."""

    accepted: Accepted | None
    ends: Ints
    preaggregated: SessionRuns

    def __len__(self) -> int:
        return len(self.ends) + len(self.preaggregated)

    @property
    def first(self) -> int:
        """The time of the first record; there must be one."""
        records = [] if self.accepted is None or not len(self.accepted) else [int(self.accepted.bundle.times.min())]
        return min([*records, *([int(self.preaggregated.starts.min())] if len(self.preaggregated) else [])])


@dataclass(frozen=True, slots=True)
class Live:
    """The live sessions before the step: keys and bounds."""

    keys: list[pa.Array]
    starts: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class GatheredSessions:
    """The outcome of a bundle: the accepted records, all new records as runs, and the sessions now.

    The clusters are over the `involved` live sessions, then the runs that `came`.
    """

    accepted: Accepted | None
    came: SessionRuns
    involved: Bools
    """Which live sessions have a key with new records; the others do not change."""
    found: KeyCodes
    clusters: Clusters


class SessionMerge:
    """Judges new records and merges them with the live sessions of one shard."""

    def __init__(self, plan: Plan, kind: Session, lateness: Lateness, books: Books) -> None:
        self._plan = plan
        self._kind = kind
        self._lateness = lateness
        self._books = books
        self._none = SessionRunsShape(plan).none()
        merged = plan.spec.semantics.late_sessions is LateSessions.MERGED
        self._judges_sessions = merged and not lateness.judges_records

    def read(self, accepted: Accepted | None, preaggregated: SessionRuns | None) -> Coming:
        """Find the ends of records' intervals; records without an interval become dead letters."""
        rows = self._none if preaggregated is None else preaggregated
        if accepted is None:
            return Coming(None, np.zeros(0, np.int64), rows)
        ends, homeless = ends_of(self._plan, self._kind, accepted.bundle.batch, accepted.bundle.times)
        if homeless.any():
            accepted, ends = rejected(accepted, homeless, Reason.NO_WINDOW, self._books), ends[~homeless]
        return Coming(accepted, ends, rows)

    def without_finished(self, coming: Coming, finished: Live) -> Coming:
        """Reject records that meet a finished session. Where sessions can finish, no record is pre-aggregated."""
        accepted, ends = coming.accepted, coming.ends
        if accepted is None or not len(finished.ends):
            return coming
        keys = accepted.keys(self._plan)
        _, theirs, ours = encode_together(finished.keys, len(finished.ends), keys, len(accepted))
        others = (theirs, finished.starts, finished.ends)
        dead = meets(ours, accepted.bundle.times, ends, others, touching=self._kind.touching)
        return Coming(self._bury(accepted, dead, Reason.FINISHED), ends[~dead], coming.preaggregated)

    def gather(self, coming: Coming, live: Live) -> GatheredSessions:
        """Judge the records, aggregate the accepted ones, and cluster all with the live sessions of their keys."""
        accepted, ends = coming.accepted, coming.ends
        came, doubtful = coming.preaggregated, np.zeros(0, np.bool_)
        if accepted is not None:
            doubtful = self._lateness.too_late(accepted.bundle.times, ends, accepted.bundle.watermarks)
            if doubtful.any() and not self._judges_sessions:
                accepted, ends = self._bury(accepted, doubtful, Reason.EXPIRED), ends[~doubtful]
                doubtful = np.zeros(len(accepted), np.bool_)
            came = SessionRuns.concat([came, *self._stretches(accepted, ends, doubtful)])
        gathered = self._joined(accepted, came, live)
        if accepted is None or not doubtful.any():
            return gathered
        dead = self._expired(gathered, accepted.where(doubtful))
        if not dead.any():
            return gathered
        doubtful[doubtful] = dead
        alive = np.concatenate([np.ones(len(came) - len(dead), np.bool_), ~dead])
        return self._joined(self._bury(accepted, doubtful, Reason.EXPIRED), came.where(alive), live)

    def _stretches(self, accepted: Accepted, ends: Ints, doubtful: Bools) -> list[SessionRuns]:
        """The records as runs: the sure ones aggregated, then each doubtful one alone."""
        if not doubtful.any():
            return [self._preaggregated(accepted, ends)]
        alone = accepted.where(doubtful)
        partials = self._partials(alone, Groups(np.arange(len(alone)), len(alone)))
        single = SessionRuns(alone.bundle.times, ends[doubtful], alone.keys(self._plan), partials)
        return [self._preaggregated(accepted.where(~doubtful), ends[~doubtful]), single]

    def _preaggregated(self, accepted: Accepted, ends: Ints) -> SessionRuns:
        keys = accepted.keys(self._plan)
        found, chains = chained(keys, accepted.bundle.times, ends, touching=self._kind.touching)
        return SessionRuns(
            chains.starts, chains.ends, found.take(chains.codes), self._partials(accepted, chains.groups)
        )

    def _partials(self, accepted: Accepted, groups: Groups) -> Partials:
        values, counted = accepted.values(self._plan), accepted.counted(self._plan)
        return self._plan.aggregation.partial(values, accepted.bundle.times, groups, counted, accepted.arrivals)

    def _joined(self, accepted: Accepted | None, came: SessionRuns, live: Live) -> GatheredSessions:
        """Cluster the new runs with the live sessions of the same keys."""
        found, ours, theirs = encode_together(live.keys, len(live.ends), came.keys, len(came))
        here = np.zeros(found.count, np.bool_)
        here[theirs] = True
        involved = here[ours]
        clusters = cluster(
            np.concatenate([ours[involved], theirs]),
            np.concatenate([live.starts[involved], came.starts]),
            np.concatenate([live.ends[involved], came.ends]),
            touching=self._kind.touching,
        )
        return GatheredSessions(accepted, came, involved, found, clusters)

    def _expired(self, gathered: GatheredSessions, doubtful: Accepted) -> Bools:
        """Which of these records (the last rows) are too late for their session."""
        clusters = gathered.clusters
        ends = clusters.ends[clusters.groups.codes[-len(doubtful) :]]
        return self._lateness.too_late(doubtful.bundle.times, ends, doubtful.bundle.watermarks)

    def _bury(self, accepted: Accepted, dead: Bools, reason: Reason) -> Accepted:
        return rejected_each(accepted, dead, reason, self._books)
