"""Counting windows per key: a window is full when the key has had enough records."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints, KeyCodes, encode
from fanlight.kernels.grouping.row_identity import places_within
from fanlight.kernels.slicing.periodic import Periodic
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.reason import Reason
from fanlight.model.windows.counting import Counting
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.aligned.panes import aligned_panes
from fanlight.operators.window.firing.evaluate_triggers import Phase
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Panes
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import AssignedPanes, ShardContext, regroup
from fanlight.operators.window.unaligned.end_buckets import OWN
from fanlight.operators.window.unaligned.panes import UnalignedPanes
from fanlight.operators.window.unaligned.record_windows import Paired, without_finished, without_pairs
from fanlight.state.store import Address, ChunkStore

COUNTED: dict[str, tuple[str, int]] = {"next": ("int64", 1)}
"""The next position of the pane's key."""
_FURTHEST = 2**61


class KeyCounts:
    """Each key counts its own records; the count of every key is kept for good."""

    def __init__(self, context: ShardContext, kind: Counting) -> None:
        self._context = context
        self._kind = kind
        self._cut = Periodic.cut(kind.size, kind.every, 1, None)
        self._counts = KeyCounters(context.plan, context.store)

    def phase(self, table: PaneTable, step: StepTime) -> Phase:
        """A window closes, and expires, when the next position of its key reaches its end."""
        full = (table.windows <= table.state["next"]) | (step.expired == EVERY_WINDOW)
        return Phase(full, full, full)

    def retire(self, step: StepTime) -> None:
        """Counts are deleted only at the end of input: the next record of a key continues its count."""
        if step.expired == EVERY_WINDOW:
            self._counts.forget()

    def assign(self, accepted: Accepted | None, preaggregated: None, step: StepTime) -> AssignedPanes:
        """Give records their positions and assign them to windows over these."""
        context = self._context
        if accepted is None:
            return context.nothing(None)
        live = context.buckets.fetch(NO_WINDOW)
        keys, counts = self._counts.read()
        sides = zip(keys, live.keys, accepted.keys(context.plan), strict=True)
        found = encode([pa.concat_arrays(parts) for parts in sides], len(counts) + len(live) + len(accepted))
        known, ours, theirs = np.split(found.codes.astype(np.int64), [len(counts), len(counts) + len(live)])
        following = np.ones(found.count, np.int64)
        following[known] = counts
        accepted, theirs, positions = self._positions(accepted, theirs, following)
        rows, starts, ends = self._cut.windows_of(positions)
        still_open = ends > following[theirs[rows]]
        context.books.miss(int(np.count_nonzero(~still_open)))
        rows, starts, ends = rows[still_open], starts[still_open], ends[still_open]
        dead = without_pairs(rows, len(accepted))
        accepted, theirs, positions = context.reject(accepted, dead, Reason.EXPIRED), theirs[~dead], positions[~dead]
        rows = (np.cumsum(~dead) - 1)[rows]
        np.maximum.at(following, theirs, positions + 1)
        self._counts.write(found, following)
        pairs, numbers = Paired(rows, starts, ends), accepted.arrivals
        accepted, theirs, pairs, live, ours = without_finished(context, accepted, theirs, pairs, live, ours)
        live.state["next"] = following[ours]
        assigned = self._join(accepted, theirs, pairs, live, ours, following, found, step)
        if not context.plan.keeps_messages:
            return assigned
        return replace(assigned, accepted=accepted.at(positions[np.searchsorted(numbers, accepted.arrivals)]))

    def _positions(self, accepted: Accepted, codes: Ints, following: Ints) -> tuple[Accepted, Ints, Ints]:
        """The position of each record; records without a usable one become dead letters."""
        if self._kind.by is None:
            return accepted, codes, following[codes] + places_within(codes)
        column = plain(accepted.bundle.batch.column(self._kind.by)).cast(pa.int64())
        missing = np.asarray(column.is_null())
        accepted = self._context.reject(accepted, missing, Reason.NULL_TIME)
        positions, codes = column.drop_null().to_numpy(), codes[~missing]
        unusable = (positions < 1) | (positions > _FURTHEST)
        accepted = self._context.reject(accepted, unusable, Reason.TIME_OUT_OF_RANGE)
        return accepted, codes[~unusable], positions[~unusable]

    def _join(
        self,
        accepted: Accepted,
        theirs: Ints,
        pairs: Paired,
        live: PaneTable,
        ours: Ints,
        following: Ints,
        found: KeyCodes,
        step: StepTime,
    ) -> AssignedPanes:
        """Add records to panes; windows that a key has passed without a record are evaluated too."""
        context = self._context
        regrouping = pairs.gathered(theirs, live, ours)
        came = np.zeros(len(regrouping.ends), np.bool_)
        came[regrouping.came] = True
        passed = ~came[regrouping.owners] & (live.windows <= following[ours])
        assigned = regroup(
            context,
            live.where(~passed),
            accepted,
            context.bringing(accepted, pairs.rows),
            regrouping.of(~passed),
            found,
            step,
        )
        assigned.table.state["next"] = following[regrouping.codes[came]]
        if not passed.any():
            return assigned
        table = PaneTable.concat([assigned.table, live.where(passed)])
        touched = np.concatenate([assigned.touched, np.zeros(np.count_nonzero(passed), np.bool_)])
        return AssignedPanes(assigned.accepted, table, touched, assigned.replaced)


class KeyCounters:
    """The next position of every key, in one chunk."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._store = store
        self._schema = pa.schema([*plan.key_fields, pa.field("next", pa.int64())])
        self._address = Address("counts", 0, 0)

    def read(self) -> tuple[list[pa.Array], Ints]:
        """The known keys, and the next position of each."""
        if self._address not in self._store.list("counts"):
            columns = [pa.array([], field.type) for field in self._schema]
        else:
            columns = self._store.get(self._address).columns
        return columns[:-1], columns[-1].to_numpy()

    def forget(self) -> None:
        """Delete the counts of all keys."""
        self._store.delete(self._address)

    def write(self, found: KeyCodes, following: Ints) -> None:
        """Keep the next position of each key."""
        keys = found.take(np.arange(found.count))
        self._store.put(self._address, pa.record_batch([*keys, pa.array(following)], schema=self._schema))


def counting_panes(
    kind: Counting, plan: Plan, store: ChunkStore, messages: Messages | None, lateness: Lateness, books: Books
) -> Panes:
    """The pane store of counting windows per key."""
    if kind.is_aligned:
        return aligned_panes(plan)(store, messages, lateness, books)
    return UnalignedPanes(plan, store, lateness, books, partial(KeyCounts, kind=kind), own=OWN | COUNTED)
