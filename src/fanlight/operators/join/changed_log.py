"""One side of a join whose rows can be taken back: what is gone is noted beside the rows.

rows   a b c d      never written again
gone     b   d      a log of its own, which goes with their times
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools
from fanlight.kernels.join.probe import matches
from fanlight.kernels.row_changes import oldest_of, settle_equal
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.noted_rows import NotedRows
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.sort.identity import NumberedRows, RowIdentity, require_comparable
from fanlight.state.store import ChunkStore


class SideChanges(NamedTuple):
    """The outcome of changes to a side, by key and time: rows that came and stay, and earlier ones that are gone."""

    fresh: SideRows
    gone: SideRows
    finds: Bools | None
    """Of each change, whether it could be made: a delete finds its row. None: all could."""


class ChangedLog(SideLog):
    """The rows of a side that were not taken back. A delete has the time, the key and the unique columns of its row."""

    def __init__(self, store: ChunkStore, space: str, own: pa.Schema, side: Side) -> None:
        super().__init__(store, space, own)
        self._own = own
        self._told_apart = told_apart(own, side)
        self._gone = NotedRows(store, f"{space}_gone")

    def since(self, least: Timestamp) -> Iterator[SideRows]:
        """The chunks that have a row at `least` or later, without those that are gone."""
        for rows in super().since(least):
            yield rows.where(~self._gone.marks(rows))

    def settle(self, changes: SideRows, deletes: Bools) -> SideChanges:
        """Make changes one after the other, in the order they came. Nothing is noted yet.

        A delete takes the oldest row that is equal to it, of the log or of these changes.
        """
        live = self._near(changes.where(deletes))
        numbered = NumberedRows.of(self._identity(changes), len(changes))
        numbers = numbered.find(self._identity(live), len(live))
        settled = settle_equal(numbered.groups, deletes, numbered.counts([numbers[numbers >= 0]]))
        gone = live.where(oldest_of(numbers, settled.removed))
        return SideChanges(changes.where(settled.stays).by_key(), gone.by_key(), settled.finds)

    def take_back(self, rows: SideRows, horizon: Timestamp) -> None:
        """Note rows that are gone; of those before `horizon` nobody asks any more."""
        self._gone.note(rows, horizon)

    def retire(self, horizon: Timestamp) -> None:
        """Delete the chunks in which every row is before `horizon`, and what is noted of these rows."""
        super().retire(horizon)
        self._gone.retire(horizon)

    def _near(self, sought: SideRows) -> SideRows:
        """The rows of the log with the key and the time of one of these, the oldest first."""
        found = [sought.part(0, 0)]
        if len(sought):
            wanted = sought.by_key()
            for rows in self.since(int(wanted.times.min())):
                _, places = matches(rows.codes, rows.times, wanted.codes, wanted.times, wanted.times)
                found.append(rows.take(np.unique(places)))
        near = SideRows.concat(found)
        return near.take(np.argsort(near.came))

    def _identity(self, rows: SideRows) -> list[pa.Array]:
        batch = pa.RecordBatch.from_arrays(rows.columns, schema=self._own)
        return RowIdentity().columns_of(batch.select(self._told_apart), rows.times)


def told_apart(own: pa.Schema, side: Side) -> list[str]:
    """The columns of a side that tell its rows apart, beside their times; all, if none are unique."""
    assert side.changes is not None
    if not (own and side.changes.unique):
        return list(own.names)
    return list(dict.fromkeys([*side.keys, *side.changes.unique]))


def require_told_apart(own: pa.Schema, side: Side) -> None:
    """Refuse changes whose rows cannot be found again."""
    if side.changes is not None:
        for name in told_apart(own, side):
            require_column(own, name)
            require_comparable(name, own.field(name).type)


def note_gone(log: SideLog, rows: SideRows, horizon: Timestamp) -> None:
    """Note of a side that these rows of it are gone; of those before `horizon` nobody asks any more."""
    if len(rows):
        assert isinstance(log, ChangedLog)  # rows of other sides stay
        log.take_back(rows, horizon)
