"""A join bound to the columns of its two sides: the columns of its rows, the codes of keys, and the condition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError, SpecError
from fanlight.kernels.grouping.groups import Bools, Ints, check_key
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.row_hashes import row_hashes
from fanlight.model.join.sides import Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import text_of
from fanlight.operators.ingest.columns import plain
from fanlight.operators.ingest.conform import is_alike
from fanlight.operators.ingest.expressions import Evaluator
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.sort.gather import require_movable


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
        for own, other in zip(spec.left.keys, spec.right.keys, strict=True):
            if left and right:
                _require_comparable(own, left.field(own).type, other, right.field(other).type)
        kinds = [schema.field(name).type for name in spec.keys]
        is_exact = not kinds or (len(kinds) == 1 and pa.types.is_integer(kinds[0]))
        plan = JoinPlan(spec, schema, left, right, _joined(spec, schema, left, right), is_exact)
        if spec.where is not None and len(left) and len(right):
            plan.require_condition()
        return plan

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
        left = _taken(pairs.lefts, pairs.left)
        if self.spec.how.of_left_only:
            return pa.RecordBatch.from_arrays(left, schema=self.result)
        right = dict(zip(self.right.names, _taken(pairs.rights, pairs.right), strict=True))
        if not self.left:
            left = [
                right[other].cast(field.type) for other, field in zip(self.spec.right.keys, self.result, strict=False)
            ]
        elif self.spec.how.pads_right and self.right:
            for own, other in zip(self.spec.left.keys, self.spec.right.keys, strict=True):
                place = self.left.get_field_index(own)
                kind = self.result.field(place).type
                left[place] = pc.coalesce(left[place].cast(kind), right[other].cast(kind))
        others = [column for name, column in right.items() if name not in self.spec.right.keys]
        return pa.RecordBatch.from_arrays([*left, *others], schema=self.result)

    def meets(self, pairs: RowPairs) -> Bools:
        """Which pairs have equal keys, and meet the condition."""
        fine = np.ones(len(pairs), np.bool_)
        if not len(pairs):
            return fine
        for key, own, other in zip(self.spec.keys, self.spec.left.keys, self.spec.right.keys, strict=True):
            kind = self.schema.field(key).type
            these, those = (
                plain(rows.columns[schema.get_field_index(name)]).cast(kind)
                for rows, schema, name in ((pairs.lefts, self.left, own), (pairs.rights, self.right, other))
            )
            if not self.is_exact or these.null_count or those.null_count:
                fine &= _equal(these.take(pa.array(pairs.left)), those.take(pa.array(pairs.right)))
        return fine if self.spec.where is None else fine & self._condition(pairs)

    def _condition(self, pairs: RowPairs) -> Bools:
        assert self.spec.where is not None
        text = self.spec.where.told
        columns: dict[str, pa.Array] = {}
        for called, (is_left, number) in self._readable.items():
            if called in text:
                rows, places = (pairs.lefts, pairs.left) if is_left else (pairs.rights, pairs.right)
                columns[called] = plain(rows.columns[number]).take(pa.array(places))
        (found,) = self._evaluator.columns(pa.RecordBatch.from_pydict(columns or {"": pa.nulls(len(pairs))}))
        mask: Bools = found.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
        return mask

    def require_condition(self) -> None:
        """Refuse a condition that reads what is not there, or is neither true nor false."""
        assert self.spec.where is not None
        sides = {True: self.left, False: self.right}
        fields = [
            pa.field(called, plain_type(sides[is_left].field(number).type))
            for called, (is_left, number) in self._readable.items()
        ]
        (kind,) = self._evaluator.types(pa.schema(fields))
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise SpecError(
                f"join: `where` ({text_of(self.spec.where.expression)}) is of type {kind}, and a condition is true or "
                f"false. Compare it with something, as in fl.col({fields[0].name!r}) > 0."
            )

    @cached_property
    def _readable(self) -> dict[str, tuple[bool, int]]:
        """What a condition can read: the joined columns, and those of each side by its name; whose, and which."""
        spec, found = self.spec, {name: (True, number) for number, name in enumerate(self.left.names)}
        for number, name in enumerate(self.right.names):
            found.setdefault(spec.right_name(name, self.left.names), (False, number))
        for side, schema in ((spec.left, self.left), (spec.right, self.right)):
            for number, name in enumerate(schema.names):
                found.setdefault(f"{side.name}.{name}", (side is spec.left, number))
        return found

    @cached_property
    def _evaluator(self) -> Evaluator:
        assert self.spec.where is not None
        return Evaluator("join: where", (("", self.spec.where.expression),))


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
    taken = {spec.left.time, *spec.left.keys, *left.names}
    others = [
        field.with_name(spec.right_name(field.name, taken)) for field in right if field.name not in spec.right.keys
    ]
    for key, own, other in zip(spec.keys, spec.left.keys, spec.right.keys, strict=True):
        if not right:
            continue
        kind = right.field(other).type
        if own not in left.names:
            left = left.append(pa.field(own, kind))
        elif spec.how.pads_right and left.field(own).type != kind:
            left = left.set(left.get_field_index(own), pa.field(own, schema.field(key).type))
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


def _taken(rows: SideRows, places: Ints) -> list[pa.Array]:
    """The own columns of rows; null where a place is -1."""
    if len(places) and places.min() < 0:
        wanted = pa.array(np.maximum(places, 0), mask=places < 0)
        if not len(rows):
            return [pa.nulls(len(places), column.type) for column in rows.columns]
    else:
        wanted = pa.array(places)
    return [column.take(wanted) for column in rows.columns]


def _equal(these: pa.Array, those: pa.Array) -> Bools:
    """Which values are equal as SQL compares keys: a null equals nothing; NaN equals NaN."""
    if pa.types.is_null(these.type):
        return np.zeros(len(these), np.bool_)
    same = pc.equal(these, those).fill_null(False)
    if pa.types.is_floating(these.type):
        same = pc.or_(same, pc.and_(pc.is_nan(these), pc.is_nan(those)).fill_null(False))
    found: Bools = same.to_numpy(zero_copy_only=False)
    return found
