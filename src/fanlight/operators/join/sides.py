"""What every join does: it parts a bundle by side, judges records by their own input, and makes joined rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.pair_order import pair_order
from fanlight.model.join.sides import Side
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import INPUT, Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.operator import Operator, Progress
from fanlight.state.store import ChunkStore


class JoinOperator(Operator):
    """The rows of both sides that one shard keeps; subclasses say which pairs are looked for, and when."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._left = SideLog(store, "left", plan.left)
        self._right = SideLog(store, "right", plan.right)

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take in the records of both sides; those behind the watermark of their own input are expired."""
        came = bundle.first + np.arange(len(bundle))
        of_left = np.asarray(pc.equal(bundle.batch.column(INPUT), self._plan.spec.left.name))
        judged = np.where(
            of_left, self._before(self._plan.spec.left, progress), self._before(self._plan.spec.right, progress)
        )
        expired = bundle.times < judged
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, judged)
            bundle, came, of_left = bundle.where(~expired), came[~expired], of_left[~expired]
        self._take(
            self._side(bundle, came, ~of_left, left=False), self._side(bundle, came, of_left, left=True), progress
        )
        return len(bundle)

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        """Take in rows of both sides, each by key and time."""
        raise NotImplementedError

    def _side(self, bundle: Bundle, came: Ints, mask: Bools, *, left: bool) -> SideRows:
        plan = self._plan
        own = bundle.where(mask)
        whole = own.batch.column((plan.spec.left if left else plan.spec.right).name)
        schema = plan.left if left else plan.right
        columns = whole.flatten() if pa.types.is_struct(whole.type) else []
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        keys = [own.batch.column(name) for name in plan.spec.keys]
        return SideRows(own.times, came[mask], plan.codes(keys, len(own)), columns).by_key()

    def _before(self, side: Side, progress: Progress) -> Timestamp:
        """The watermark that records of a side are judged by."""
        assert progress.inputs is not None  # the spec goes by each input
        return moved(progress.inputs[side.name][0], -self._plan.spec.lateness.micros)

    def _after(self, side: Side, progress: Progress) -> Timestamp:
        """The watermark of a side after the step."""
        assert progress.inputs is not None
        return moved(progress.inputs[side.name][1], -self._plan.spec.lateness.micros)

    def _met(self, pairs: RowPairs) -> list[RowPairs]:
        """The pairs that meet the condition, if there are any."""
        fine = self._plan.meets(pairs)
        met = pairs if fine.all() else pairs.take(np.flatnonzero(fine))
        return [met] if len(met) else []

    def _joined_rows(self, parts: list[RowPairs]) -> list[pa.RecordBatch]:
        """Joined rows in the order of the left rows, then of the right ones: by time, then as they came."""
        if not parts:
            return []
        batches = [self._plan.rows(pairs) for pairs in parts]
        sides = [(part.lefts, part.left) for part in parts], [(part.rights, part.right) for part in parts]
        numbers = [
            np.concatenate([_at(getattr(rows, field), places) for rows, places in side])
            for side in sides
            for field in ("times", "came")
        ]
        order = pair_order(*numbers)
        whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        return [whole.take(pa.array(order))]

    def _padded(self, rows: SideRows, *, left: bool) -> list[pa.RecordBatch]:
        """Rows without a match, by time, then as they came."""
        if not len(rows):
            return []
        return [self._plan.rows(self._alone(rows.take(np.lexsort([rows.came, rows.times])), left=left))]

    def _alone(self, rows: SideRows, *, left: bool = True) -> RowPairs:
        """Rows of one side, with nobody on the other."""
        places, nobody = np.arange(len(rows)), np.full(len(rows), -1)
        none = self._nothing(left=not left)
        return RowPairs(rows, none, places, nobody) if left else RowPairs(none, rows, nobody, places)

    def _nothing(self, *, left: bool) -> SideRows:
        empty = np.zeros(0, np.int64)
        schema = self._plan.left if left else self._plan.right
        return SideRows(empty, empty, empty, [pa.array([], field.type) for field in schema])


def _at(column: Ints, places: Ints) -> Ints:
    """The numbers at these places; 0 where there is none: such a row stands alone, and nothing is compared with it."""
    if not len(column):
        return np.zeros(len(places), np.int64)
    return np.where(places < 0, 0, column[np.maximum(places, 0)])


def moved(moment: Timestamp, by: int) -> Timestamp:
    """A watermark moved; the start and the end of time stay."""
    if moment in (START_OF_TIME, END_OF_TIME):
        return moment
    return min(max(moment + by, START_OF_TIME), END_OF_TIME)
