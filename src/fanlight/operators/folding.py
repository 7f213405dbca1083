"""Records folded before they reach their shard, where nothing needs them one by one.

    records ─ fold ─► (where in time, key, partials) ─ moved ─► shard
       └── those that may be dead letters, as they are ──┘

A record is sure if no watermark that its shard can have acted on makes a dead letter of it, whatever else comes. Sure
records may travel as partials; the others travel as they came, and the shard judges them.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import KeyCodes
from fanlight.model.kinds import is_aligned
from fanlight.model.semantics import LateBy, LateSessions
from fanlight.model.sessions import Session
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import Timestamp
from fanlight.model.triggers import AtExpiry, AtWatermark, Every, Never, Repeat
from fanlight.model.windows import TimeDomain
from fanlight.operators.folded import Folded
from fanlight.operators.folding_sessions import SessionFolding
from fanlight.operators.folding_slices import SliceFolding
from fanlight.operators.plan import Plan


class Folding(Protocol):
    """Folds a plan's records, and writes and reads what comes of it as chunks."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of a chunk."""
        ...

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times of records, where in time they are folded, and which are not sure; None if all are.

        `watermark` is the furthest one that their shards can have acted on.
        """
        ...

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Whether folding these records is worth it; `slots` is where in time they are, as `divide` said."""
        ...

    def fold(self, batch: pa.RecordBatch, times: Ints, slots: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """A chunk of folded records; and their keys as codes: of the records, and of the rows.

        `slots` is where in time they are folded, as `divide` said.
        """
        ...

    def read(self, chunks: list[pa.RecordBatch]) -> Folded | None:
        """The folded records of several chunks."""
        ...

    def expired(self, folded: Folded, watermark: Timestamp) -> int:
        """How many of these records came with one that is too late at `watermark`, and so was not sure: none, if
        they were divided as they should be.
        """
        ...


def folding_of(plan: Plan) -> Folding | None:
    """How the records of a plan are folded before they are judged; None if they travel as they are."""
    if not _folds_early(plan.spec):
        return None
    window = plan.spec.window
    return SessionFolding(plan, window) if isinstance(window, Session) else SliceFolding(plan)


def _folds_early(spec: WindowSpec) -> bool:
    """Whether records may be folded before they are judged.

    Not where messages are kept, where a record's own time or watermark decides, where the shard gives the time, where
    a window follows from other records than its neighbours, or where a pane can finish and make dead letters of what
    still comes.
    """
    by_window = spec.semantics.late_by is LateBy.WINDOW and not spec.semantics.holds
    by_time = spec.window.domain is TimeDomain.EVENT
    can_fold = is_aligned(spec.window) or (isinstance(spec.window, Session) and _folds_sessions(spec, spec.window))
    return by_window and by_time and can_fold and not (spec.needs_messages or _finishes(spec))


def _folds_sessions(spec: WindowSpec, kind: Session) -> bool:
    """Whether sessions may be folded: only if silence alone ends them.

    Where each record has its own gap and is judged alone, a row would not tell which of its records was not sure.
    """
    tells = kind.gap is not None or spec.semantics.late_sessions is LateSessions.MERGED
    return tells and not kind.has_limits


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
