"""Which rows are the same: equal in all columns, or in the unique columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, encode
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.row_changes import SettledChanges, settle_equal, settle_unique
from fanlight.model.firing import Op

_OPS = [op.code for op in Op]
_DELETES = [Op.RETRACT.code, Op.DELETE.code]


@dataclass(frozen=True, slots=True)
class RowIdentity:
    """The columns that identify a row; without names, all columns and the time.

    Values are compared like keys: null equals null, and NaN equals NaN.
    """

    columns: tuple[str, ...] = ()
    timed: bool = False
    """Whether rows with the same values in these columns have the same time."""

    @property
    def is_unique(self) -> bool:
        """Whether at most one row may have the same values, whatever its time."""
        return bool(self.columns)

    def columns_of(self, rows: pa.RecordBatch, times: Ints) -> list[pa.Array]:
        """The columns that identify each row."""
        names = self.columns or rows.schema.names
        own = [_comparable(name, rows.column(name)) for name in names]
        return own if self.is_unique and not self.timed else [pa.array(times), *own]

    @property
    def is_anywhere(self) -> bool:
        """Whether a row with the same identity may have another time."""
        return self.is_unique and not self.timed

    def settle(self, groups: Groups, is_delete: Bools, live: Ints) -> SettledChanges:
        """The outcome of changes to groups of equal rows; `live` counts the earlier rows of each group."""
        return (settle_unique if self.is_unique else settle_equal)(groups, is_delete, live)


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """Numbered rows: equal rows have the same number."""

    identity: list[pa.Array]
    groups: Groups

    @staticmethod
    def of(identity: list[pa.Array], rows: int) -> NumberedRows:
        """Number rows by the columns that identify them."""
        found = encode(identity, rows)
        return NumberedRows(identity, Groups(found.codes.astype(np.int64), found.count))

    def counts(self, parts: list[Ints]) -> Ints:
        """How often each number occurs in some lists of numbers."""
        numbers = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return np.bincount(numbers, minlength=self.groups.count)

    def find(self, others: list[pa.Array], rows: int) -> Ints:
        """The numbers of other rows; -1 for a row that is not among these."""
        count = len(self.groups.codes)
        both = [pa.concat_arrays(sides) for sides in zip(self.identity, others, strict=True)]
        found = encode(both, count + rows)
        numbers = np.full(found.count, -1)
        numbers[found.codes[:count]] = self.groups.codes
        known: Ints = numbers[found.codes[count:]]
        return known


def require_comparable(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose values cannot be compared, where they say which row to delete."""
    kind = plain_type(kind)
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind):
        raise InputError(
            f"delete: column {name!r} is {kind}, whose values cannot be compared; the row to delete cannot be found. "
            "Name columns that tell rows apart with `unique`."
        )


def deletes_of(ops: pa.Array) -> Bools:
    """Which changes are deletes."""
    strange = pc.invert(pc.is_in(ops, pa.array(_OPS)))
    if pc.any(strange).as_py():
        value = ops.filter(strange)[0].as_py()
        raise InputError(f"op: {value!r} is no operation; the change cannot be applied. Use one of {', '.join(_OPS)}.")
    deletes: Bools = pc.is_in(ops, pa.array(_DELETES)).to_numpy(zero_copy_only=False)
    return deletes


def _comparable(name: str, column: pa.Array) -> pa.Array:
    require_comparable(name, column.type)
    kind = plain_type(column.type)
    return column if column.type == kind else column.cast(kind)
