"""What every join does: it parts a bundle by side, judges records by their own input, and makes joined rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.pair_order import pair_order
from fanlight.model.join.sides import Side
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import INPUT, Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.operations import OperationReader
from fanlight.operators.join.changed_log import ChangedLog, SideChanges
from fanlight.operators.join.plan import JoinPlan, RowPairs, numbers_at
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.operator import Operator, Progress
from fanlight.state.store import ChunkStore


class JoinOperator(Operator):
    """The rows of both sides that one shard keeps; subclasses say which pairs are looked for, and when."""

    sorts_left: ClassVar[bool] = True
    """Whether left rows are sorted by key and time when they come, because somebody looks for them so."""
    unfound: ClassVar[Reason] = Reason.NO_SUCH_ROW
    """What is said of a record that finds no place in the state, as a delete that finds no row."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._reader = OperationReader.of(plan.spec.changes, plan.schema)
        self._left = _log(store, "left", plan.left, plan.spec.left)
        self._right = _log(store, "right", plan.right, plan.spec.right)

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take in the records of both sides; those behind the watermark of their own input are expired.

        Of changes, deletes take their rows back; one that finds none is a dead letter.
        """
        if self._reader is not None:
            bundle = self._reader.read(bundle, self._books)
        came = bundle.first + np.arange(len(bundle))
        of_left = np.asarray(pc.equal(bundle.batch.column(INPUT), self._plan.spec.left.name))
        judged = np.where(
            of_left, self._before(self._plan.spec.left, progress), self._before(self._plan.spec.right, progress)
        )
        fine = np.ones(len(bundle), np.bool_)
        for reason, dead in self._faults(bundle.times, judged).items():
            self._books.reject(bundle.batch, dead, reason, judged)
            fine &= ~dead
        if not fine.all():
            bundle, came, of_left, judged = bundle.where(fine), came[fine], of_left[fine], judged[fine]
        rights, lefts = (
            self._changes(own, numbers, left=left)
            for own, numbers, left in zip(*_parted(bundle, came, of_left), (False, True), strict=True)
        )
        if len(rights.gone) or len(lefts.gone):
            self._take_back(rights.gone, lefts.gone, progress)
        self._take(rights.fresh, lefts.fresh, progress)
        if rights.finds is None and lefts.finds is None:
            return self._books.counted(bundle.batch)
        finds = np.ones(len(bundle), np.bool_)
        for mask, side in ((~of_left, rights), (of_left, lefts)):
            finds[mask] = True if side.finds is None else side.finds
        self._books.reject(bundle.batch, ~finds, self.unfound, judged)
        return int(np.count_nonzero(finds))

    def _faults(self, times: Ints, judged: Ints) -> dict[Reason, Bools]:
        """Which records cannot be used, by reason, none for two; `judged` is the watermark of each one's own input."""
        return {Reason.EXPIRED: times < judged}

    @abstractmethod
    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        """Take in rows of both sides, each by key and time; left ones as they came, if they are not to be sorted."""

    def _take_back(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        """Take rows of both sides back, each by key and time, before others are taken in."""
        raise EngineError("join: this join takes no changes, and rows of it cannot be taken back.")

    def _changes(self, own: Bundle, came: Ints, *, left: bool) -> SideChanges:
        """What the records of a side do to its rows, from the part of the bundle that it has."""
        rows, log = self._side(own, came, left=left), self._left if left else self._right
        if own.deletes is None or not own.deletes.any():
            rows = rows if left and not self.sorts_left else rows.by_key()
            return SideChanges(rows, self._nothing(left=left), None)
        assert isinstance(log, ChangedLog)  # records of other sides insert rows
        return log.settle(rows, own.deletes)

    def _side(self, own: Bundle, came: Ints, *, left: bool) -> SideRows:
        """The rows of a side as they came, from the part of the bundle that it has."""
        plan = self._plan
        return rows_of_side(plan, own, came, *plan.sides[0 if left else 1])

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
        pairs = RowPairs.together(parts)
        sides = (pairs.lefts, pairs.left), (pairs.rights, pairs.right)
        numbers = [numbers_at(getattr(rows, field), places) for rows, places in sides for field in ("times", "came")]
        return [self._plan.rows(pairs.take(pair_order(*numbers)))]

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


def _parted(bundle: Bundle, came: Ints, of_left: Bools) -> tuple[list[Bundle], list[Ints]]:
    """The records of the right side and of the left one, with their arrival numbers.

    The right ones come first, so mostly a bundle is only cut in two.
    """
    rights = len(bundle) - int(np.count_nonzero(of_left))
    if of_left[:rights].any():
        return [bundle.where(~of_left), bundle.where(of_left)], [came[~of_left], came[of_left]]
    return [bundle.part(0, rights), bundle.part(rights, len(bundle))], [came[:rights], came[rights:]]


def rows_of_side(plan: JoinPlan, own: Bundle, came: Ints, side: Side, schema: pa.Schema) -> SideRows:
    """The rows of a side as they came, from the part of the bundle that it has; `schema` are its columns."""
    whole = own.batch.column(side.name)
    columns = whole.flatten() if pa.types.is_struct(whole.type) else []
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    keys = [own.batch.column(name) for name in plan.spec.keys]
    return SideRows(own.times, came, plan.codes(keys, len(own)), columns)


def _log(store: ChunkStore, space: str, own: pa.Schema, side: Side) -> SideLog:
    """The rows that are kept of a side, which can be taken back if it has changes."""
    return SideLog(store, space, own) if side.changes is None else ChangedLog(store, space, own, side)


def moved(moment: Timestamp, by: int) -> Timestamp:
    """A watermark moved; the start and the end of time stay."""
    if moment in (START_OF_TIME, END_OF_TIME):
        return moment
    return min(max(moment + by, START_OF_TIME), END_OF_TIME)
