"""What comes to sessions: records judged, those that are accepted folded, and all of it joined with the live sessions.

    records ──► sure ──────► stretches ─┐
            └─► too late alone ─────────┼─ cluster ─► sessions
    folded records ─────────────────────┤
    live sessions ──────────────────────┘

A record whose own interval has not expired is accepted, whichever session it will be in; so it is folded at once. The
others are few. Where the session they would be in is judged they are clustered one by one, and the dead are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.intervals import Clusters, cluster, meets
from fanlight.kernels.keys import KeyCodes, encode_together
from fanlight.model.letters import Reason
from fanlight.model.semantics import LateSessions
from fanlight.model.sessions import Session
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.folded import Stretches
from fanlight.operators.lateness import Lateness
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken, buried, buried_each
from fanlight.operators.unaligned.gaps import ends_of
from fanlight.operators.unaligned.stretching import StretchShape, chained


@dataclass(frozen=True, slots=True)
class Coming:
    """Records with the ends of their intervals, and records of the same bundle that came folded."""

    taken: Taken | None
    ends: Ints
    folded: Stretches

    def __len__(self) -> int:
        return len(self.ends) + len(self.folded)

    @property
    def first(self) -> int:
        """When the first of them was; there must be one."""
        records = [] if self.taken is None or not len(self.taken) else [int(self.taken.bundle.times.min())]
        return min([*records, *([int(self.folded.starts.min())] if len(self.folded) else [])])


@dataclass(frozen=True, slots=True)
class Live:
    """Live sessions as they were: keys and bounds."""

    keys: list[pa.Array]
    starts: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class Gathered:
    """What comes of a bundle: the records that were accepted, all that came as stretches, and the sessions now.

    The clusters are over the live sessions that are `involved`, and then what `came`.
    """

    taken: Taken | None
    came: Stretches
    involved: Bools
    """Which live sessions are of a key that something came for; the others stay as they are."""
    found: KeyCodes
    clusters: Clusters


class SessionIntake:
    """Judges what comes to the sessions of one shard, and joins it with them."""

    def __init__(
        self, plan: Plan, kind: Session, lateness: Lateness, letters: DeadLetters, accounting: Accounting
    ) -> None:
        self._plan = plan
        self._kind = kind
        self._lateness = lateness
        self._letters = letters
        self._accounting = accounting
        self._none = StretchShape(plan).none()
        merged = plan.spec.semantics.late_sessions is LateSessions.MERGED
        self._judges_sessions = merged and not lateness.judges_records

    def read(self, taken: Taken | None, folded: Stretches | None) -> Coming:
        """Find where records' intervals end; those that bring none are buried."""
        rows = self._none if folded is None else folded
        if taken is None:
            return Coming(None, np.zeros(0, np.int64), rows)
        ends, homeless = ends_of(self._plan, self._kind, taken.bundle.batch, taken.bundle.times)
        if homeless.any():
            books = (self._letters, self._accounting)
            taken, ends = buried(taken, homeless, Reason.NO_WINDOW, *books), ends[~homeless]
        return Coming(taken, ends, rows)

    def without_finished(self, coming: Coming, finished: Live) -> Coming:
        """Bury records that meet a session that has finished. Folded ones do not come where sessions can finish."""
        taken, ends = coming.taken, coming.ends
        if taken is None or not len(finished.ends):
            return coming
        keys = taken.keys(self._plan)
        _, theirs, ours = encode_together(finished.keys, len(finished.ends), keys, len(taken))
        others = (theirs, finished.starts, finished.ends)
        dead = meets(ours, taken.bundle.times, ends, others, touching=self._kind.touching)
        return Coming(self._bury(taken, dead, Reason.FINISHED), ends[~dead], coming.folded)

    def gather(self, coming: Coming, live: Live) -> Gathered:
        """Judge the records, fold those that are accepted, and join all with the live sessions of their keys."""
        taken, ends = coming.taken, coming.ends
        came, doubtful = coming.folded, np.zeros(0, np.bool_)
        if taken is not None:
            doubtful = self._lateness.too_late(taken.bundle.times, ends, taken.bundle.watermarks)
            if doubtful.any() and not self._judges_sessions:
                taken, ends = self._bury(taken, doubtful, Reason.EXPIRED), ends[~doubtful]
                doubtful = np.zeros(len(taken), np.bool_)
            came = Stretches.concat([came, *self._stretches(taken, ends, doubtful)])
        gathered = self._joined(taken, came, live)
        if taken is None or not doubtful.any():
            return gathered
        dead = self._expired(gathered, taken.where(doubtful))
        if not dead.any():
            return gathered
        doubtful[doubtful] = dead
        alive = np.concatenate([np.ones(len(came) - len(dead), np.bool_), ~dead])
        return self._joined(self._bury(taken, doubtful, Reason.EXPIRED), came.where(alive), live)

    def _stretches(self, taken: Taken, ends: Ints, doubtful: Bools) -> list[Stretches]:
        """The records as stretches: the sure ones folded, then each of the doubtful ones for itself."""
        if not doubtful.any():
            return [self._folded(taken, ends)]
        alone = taken.where(doubtful)
        partials = self._partials(alone, Groups(np.arange(len(alone)), len(alone)))
        single = Stretches(alone.bundle.times, ends[doubtful], alone.keys(self._plan), partials)
        return [self._folded(taken.where(~doubtful), ends[~doubtful]), single]

    def _folded(self, taken: Taken, ends: Ints) -> Stretches:
        keys = taken.keys(self._plan)
        found, chains = chained(keys, taken.bundle.times, ends, touching=self._kind.touching)
        return Stretches(chains.starts, chains.ends, found.take(chains.codes), self._partials(taken, chains.groups))

    def _partials(self, taken: Taken, groups: Groups) -> Partials:
        values, counted = taken.values(self._plan), taken.counted(self._plan)
        return self._plan.fold.partial(values, taken.bundle.times, groups, counted, taken.arrivals)

    def _joined(self, taken: Taken | None, came: Stretches, live: Live) -> Gathered:
        """Cluster what came with the live sessions of the same keys."""
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
        return Gathered(taken, came, involved, found, clusters)

    def _expired(self, gathered: Gathered, doubtful: Taken) -> Bools:
        """Which of these records, the last that came, are too late for the session they would be in."""
        clusters = gathered.clusters
        ends = clusters.ends[clusters.groups.codes[-len(doubtful) :]]
        return self._lateness.too_late(doubtful.bundle.times, ends, doubtful.bundle.watermarks)

    def _bury(self, taken: Taken, dead: Bools, reason: Reason) -> Taken:
        return buried_each(taken, dead, reason, self._letters, self._accounting)
