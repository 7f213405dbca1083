"""A join bound to the columns of its two sides: the columns of its rows, the codes of keys, and the condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools, Ints, check_key
from fanlight.kernels.join.equal_keys import equal, equal_at
from fanlight.kernels.row_hashes import row_hashes
from fanlight.model.join.sides import BOTH, JOINED_TIME, Side, Stamp
from fanlight.model.join.spec import JoinSpec
from fanlight.operators.ingest.columns import plain
from fanlight.operators.ingest.conform import is_alike
from fanlight.operators.join.changed_log import require_told_apart
from fanlight.operators.join.condition import JoinCondition
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.sort.gather import require_movable

_TIMES = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Rows of both sides, side by side: -1 where a row has no partner.

    `left` and `right` are places among `lefts` and `rights`.
    """

    lefts: SideRows
    rights: SideRows
    left: Ints
    right: Ints

    def __len__(self) -> int:
        return len(self.left)

    def take(self, places: Ints) -> RowPairs:
        """These pairs, in this order."""
        return RowPairs(self.lefts, self.rights, self.left[places], self.right[places])

    @staticmethod
    def together(parts: list[RowPairs]) -> RowPairs:
        """The pairs of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        lefts, left = united([(part.lefts, part.left) for part in parts])
        rights, right = united([(part.rights, part.right) for part in parts])
        return RowPairs(lefts, rights, left, right)


@dataclass(frozen=True)
class JoinPlan:
    """What a shard of a join must know."""

    spec: JoinSpec
    schema: pa.Schema
    left: pa.Schema
    """The columns of a left record."""
    right: pa.Schema
    result: pa.Schema
    is_exact: bool
    """Whether codes are the keys themselves, so that equal codes need no second look."""

    @staticmethod
    def bind(spec: JoinSpec, schema: pa.Schema) -> JoinPlan:
        """Look the columns up; a side of which nothing has come has none."""
        for name, key in zip(spec.keys, spec.left.keys, strict=True):
            check_key(key, schema.field(name).type)
        left, right = (_own(schema, side) for side in (spec.left, spec.right))
        for field in [*left, *right]:
            require_movable(field.name, field.type)
        for side, columns in ((spec.left, left), (spec.right, right)):
            require_told_apart(columns, side)
        for own, other in zip(spec.left.keys, spec.right.keys, strict=True):
            if left and right:
                _require_comparable(own, left.field(own).type, other, right.field(other).type)
        kinds = [schema.field(name).type for name in spec.keys]
        is_exact = not kinds or (len(kinds) == 1 and pa.types.is_integer(kinds[0]))
        plan = JoinPlan(spec, schema, left, right, _joined(spec, schema, left, right), is_exact)
        if plan.condition is not None and len(left) and len(right):
            plan.condition.require()
        return plan

    @property
    def sides(self) -> list[tuple[Side, pa.Schema]]:
        """The sides, and the columns of each."""
        return [(self.spec.left, self.left), (self.spec.right, self.right)]

    def codes(self, keys: list[pa.Array], rows: int) -> Ints:
        """The keys of rows as one number each; of a null key it may be that of another."""
        if not keys:
            return np.zeros(rows, np.int64)
        if self.is_exact:
            whole = keys[0] if not keys[0].null_count else pc.fill_null(keys[0], pa.scalar(0, keys[0].type))
            numbers: Ints = whole.to_numpy().astype(np.int64, copy=False)
            return numbers
        return row_hashes([plain(key) for key in keys], rows).view(np.int64)

    def rows(self, pairs: RowPairs) -> pa.RecordBatch:
        """Joined rows."""
        left = taken(pairs.lefts, pairs.left)
        if self.spec.how.of_left_only:
            return pa.RecordBatch.from_arrays(left, schema=self.result)
        shown = self._read_on_right
        right = dict(zip(shown, taken(pairs.rights, pairs.right, shown.values()), strict=True))
        if not self.left:
            left = [
                right[other].cast(field.type) for other, field in zip(self.spec.right.keys, self.result, strict=False)
            ]
        elif self.spec.how.pads_right and self.right:
            for own, other in zip(self.spec.left.keys, self.spec.right.keys, strict=True):
                place = self.left.get_field_index(own)
                kind = self.result.field(place).type
                left[place] = pc.coalesce(left[place].cast(kind), right[other].cast(kind))
        others = [column for name, column in right.items() if name not in self.spec.unshown]
        stamps = [_stamps(self.spec.stamp, pairs)] if self.spec.stamp in BOTH else []
        return pa.RecordBatch.from_arrays([*left, *others, *stamps], schema=self.result)

    def keys_of(self, rows: SideRows, *, left: bool) -> list[pa.Array]:
        """The keys of rows of a side, in the types that both sides are compared by."""
        side, schema = (self.spec.left, self.left) if left else (self.spec.right, self.right)
        kinds = [self.schema.field(name).type for name in self.spec.keys]
        if not schema:  # of this side nothing has come
            return [pa.nulls(0, kind) for kind in kinds]
        places = [schema.get_field_index(name) for name in side.keys]
        return [plain(rows.columns[place]).cast(kind) for place, kind in zip(places, kinds, strict=True)]

    def has_keys(self, rows: SideRows, *, left: bool) -> Bools:
        """Which rows of a side can have a match at all: those without a null among their keys."""
        side, schema = (self.spec.left, self.left) if left else (self.spec.right, self.right)
        fine = np.ones(len(rows), np.bool_)
        for name in side.keys if len(rows) else ():
            column = rows.columns[schema.get_field_index(name)]
            if column.null_count:
                fine &= column.is_valid().to_numpy(zero_copy_only=False)
        return fine

    def same_keys(self, these: SideRows, those: SideRows) -> Bools:
        """Which of these right rows have the key of the one in the same place among those."""
        same = np.ones(len(these), np.bool_)
        for name in self.spec.right.keys:
            place = self.right.get_field_index(name)
            same &= equal(plain(these.columns[place]), plain(those.columns[place]))
        return same

    def meets(self, pairs: RowPairs) -> Bools:
        """Which pairs have equal keys, and meet the condition."""
        fine = np.ones(len(pairs), np.bool_)
        if not len(pairs):
            return fine
        sides = self.keys_of(pairs.lefts, left=True), self.keys_of(pairs.rights, left=False)
        for these, those in zip(*sides, strict=True):
            if not self.is_exact or these.null_count or those.null_count:
                fine &= equal_at(these, those, pairs.left, pairs.right)
        if self.condition is None:
            return fine
        return fine & self.condition.holds((pairs.lefts, pairs.rights), (pairs.left, pairs.right))

    @cached_property
    def result_with_op(self) -> pa.Schema:
        """The columns of a joined row, and what it does, where rows are taken back."""
        assert self.spec.op is not None
        if self.spec.op in self.result.names:
            raise InputError(
                f"join: joined rows have a column {self.spec.op!r}, and the result says there what each row does. Give "
                f"that column another name, as in select(…, kind={self.spec.op!r}); or, if it says what a record does "
                f"to the rows before it, declare it, as in stream(…, op={self.spec.op!r})."
            )
        return self.result.append(pa.field(self.spec.op, pa.string()))

    @cached_property
    def _read_on_right(self) -> dict[str, int]:
        """The columns of a right row that a joined row is made of, by name; its keys only where it may stand alone."""
        spec = self.spec
        needed = {*spec.right.keys} if spec.how.pads_right or not self.left else set()
        return {
            name: place for place, name in enumerate(self.right.names) if name in needed or name not in spec.unshown
        }

    @cached_property
    def condition(self) -> JoinCondition | None:
        """What a pair must meet besides."""
        if self.spec.where is None:
            return None
        joined = {name: (0, number) for number, name in enumerate(self.left.names)}
        for number, name in enumerate(self.right.names):
            joined.setdefault(self.spec.right_name(name, self.left.names), (1, number))
        return JoinCondition(self.spec.where, self.sides, joined)


def united(parts: list[tuple[SideRows, Ints]]) -> tuple[SideRows, Ints]:
    """The rows of one side of several parts as one table, and the places there. Of many rows, those with a pair go in.

    Parts often have the same rows, which go in once.
    """
    tables: list[SideRows] = []
    starts: dict[int, int] = {}
    places, count = [], 0
    for rows, found in parts:
        if len(rows) > len(found) and found.min(initial=0) >= 0:
            tables.append(rows.take(found))
            places.append(np.arange(count, count + len(found)))
            count += len(found)
            continue
        if id(rows) not in starts:
            tables.append(rows)
            starts[id(rows)] = count
            count += len(rows)
        places.append(np.where(found < 0, -1, found + starts[id(rows)]))
    return SideRows.concat(tables), np.concatenate(places)


def _own(schema: pa.Schema, side: Side) -> pa.Schema:
    kind = schema.field(side.name).type
    return pa.schema(list(kind)) if pa.types.is_struct(kind) else pa.schema([])


def _joined(spec: JoinSpec, schema: pa.Schema, left: pa.Schema, right: pa.Schema) -> pa.Schema:
    """The columns of a joined row.

    Of a left side of which nothing has come, the time and the keys are known by name: the columns of the right side
    are called as they will be later.
    """
    if spec.how.of_left_only:
        return left
    known = {spec.left.time, *spec.left.keys, *left.names}
    others = [field.with_name(spec.right_name(field.name, known)) for field in right if field.name not in spec.unshown]
    for key, own, other in zip(spec.keys, spec.left.keys, spec.right.keys, strict=True):
        if not right:
            continue
        kind = right.field(other).type
        if own not in left.names:
            left = left.append(pa.field(own, kind))
        elif spec.how.pads_right and left.field(own).type != kind:
            left = left.set(left.get_field_index(own), pa.field(own, schema.field(key).type))
    if spec.stamp in BOTH:
        others.append(pa.field(JOINED_TIME, _TIMES))
    names = [*left.names, *(field.name for field in others)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"join: two columns of a joined row would be called {name!r}. Rename one with select(…) first."
            )
    return pa.schema([*left, *others])


def _require_comparable(own: str, this: pa.DataType, other: str, that: pa.DataType) -> None:
    if not (is_alike(this, that) or pa.types.is_null(that)):
        raise InputError(
            f"join: the key {own!r} of the left side is {this} and {other!r} of the right side {that}, so none of them "
            f"would ever be equal. Make them alike on one side, as in select(…, {own}=fl.col({own!r}).cast('{that}'))."
        )


def taken(rows: SideRows, places: Ints, which: Iterable[int] | None = None) -> list[pa.Array]:
    """Columns of rows, all of their own or some; null where a place is -1."""
    columns = rows.columns if which is None else [rows.columns[place] for place in which]
    if len(places) and places.min() < 0:
        wanted = pa.array(np.maximum(places, 0), mask=places < 0)
        if not len(rows):
            return [pa.nulls(len(places), column.type) for column in columns]
    else:
        wanted = pa.array(places)
    return [column.take(wanted) for column in columns]


def _stamps(stamp: Stamp, pairs: RowPairs) -> pa.Array:
    """The lesser or the greater of the times of pairs; where one is missing, the other."""
    sides = ((pairs.lefts, pairs.left), (pairs.rights, pairs.right))
    times = [pa.array(numbers_at(rows.times, places), mask=places < 0) for rows, places in sides]
    pick = pc.min_element_wise if stamp == "least" else pc.max_element_wise
    return pick(*times).cast(_TIMES)


def numbers_at(column: Ints, places: Ints) -> Ints:
    """The numbers at these places; 0 where there is none: such a row stands alone, and nothing is compared with it."""
    if not len(column):
        return np.zeros(len(places), np.int64)
    return np.where(places < 0, 0, column[np.maximum(places, 0)])
