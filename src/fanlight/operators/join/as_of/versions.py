"""An as-of join with a table whose rows can be deleted: a delete is a version too, of a row that is not there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.join.as_of.found import NOBODY
from fanlight.operators.join.as_of.operator import AsOfJoin
from fanlight.operators.join.changed_log import SideChanges
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.state.store import ChunkStore

_GONE = pa.field("gone", pa.bool_())
"""Whether a version deletes its key; it stands after the columns of a row."""


class VersionJoin(AsOfJoin):
    """Left rows whose version is a delete have no match."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        self._right = SideLog(store, "right", plan.right.append(_GONE))
        if self._newest is not None:
            self._newest = SideLog(store, "newest", plan.right.append(_GONE), self._last_of_keys)

    def _changes(self, own: Bundle, came: Ints, *, left: bool) -> SideChanges:
        """The versions that records are: each takes the place of the one before, a delete too."""
        if left:
            return super()._changes(own, came, left=left)
        rows = self._side(own, came, left=False)
        gone = np.zeros(len(rows), np.bool_) if own.deletes is None else own.deletes
        versions = SideRows(rows.times, rows.came, rows.codes, [*rows.columns, pa.array(gone)])
        return SideChanges(versions.by_key(), self._nothing(left=False), None)

    def _shown(self, rights: SideRows, right: Ints) -> tuple[SideRows, Ints]:
        """Versions without what is said beside them; one that deletes its key is none."""
        *columns, gone = rights.columns
        deleted = gone.to_numpy(zero_copy_only=False)
        rows = SideRows(rights.times, rights.came, rights.codes, columns)
        return rows, np.where((right >= 0) & deleted[np.maximum(right, 0)], NOBODY, right)
