"""Arrow values as NumPy columns and back, without a copy where none is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Bools, Column, Groups, Ints


_INT64 = pa.int64()


def dtype_of(kind: pa.DataType) -> np.dtype[Any] | None:
    """The NumPy dtype that holds values of `kind`; None if such values stay in Arrow.

    Dates, times, timestamps and durations are the integers they are stored as. Booleans are 0 and 1 in a
    byte, because NumPy has its fast grouped loops for numbers only.
    """
    if pa.types.is_boolean(kind):
        return np.dtype(np.uint8)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return dtype
    if is_moment(kind) or pa.types.is_duration(kind):
        return np.dtype(np.int32 if kind.bit_width == 32 else np.int64)
    return None


def is_moment(kind: pa.DataType) -> bool:
    """Whether `kind` is a place on a time axis: it can be compared, but not added."""
    return any(is_one(kind) for is_one in (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time))


def to_numpy(values: pa.Array, fill: Any = 0) -> NDArray[Any]:
    """The values as their NumPy dtype, with `fill` in the place of nulls; a view if there are none."""
    column: NDArray[Any]
    if pa.types.is_boolean(values.type):
        # Arrow packs eight booleans in a byte, so here there is no view.
        column = values.fill_null(bool(fill)).to_numpy(zero_copy_only=False).view(np.uint8)
        return column
    stored = pa.from_numpy_dtype(dtype_of(values.type))
    if values.type != stored:
        values = values.view(stored)
    if values.null_count:
        values = values.fill_null(pa.scalar(fill, stored))
    column = values.to_numpy()
    return column


def from_numpy(column: NDArray[Any], kind: pa.DataType, valid: Bools) -> pa.Array:
    """The column as an Arrow array of `kind`, null where not `valid`."""
    if pa.types.is_boolean(kind):
        column = column.astype(np.bool_)
    array = pa.array(column) if valid.all() else pa.array(column, mask=~valid)
    return array if array.type == kind else array.view(kind)


def is_valid(values: pa.Array) -> Bools:
    """Which values are not null."""
    valid: Bools = values.is_valid().to_numpy(zero_copy_only=False)
    return valid


def non_null(values: pa.Array, groups: Groups, sizes: Ints) -> Ints:
    """How many values of each group are not null: `sizes` itself if none is null."""
    if not values.null_count:
        return sizes
    nulls = np.flatnonzero(~is_valid(values))
    return sizes - np.bincount(groups.codes[nulls], minlength=groups.count)


def without_nulls(values: pa.Array, groups: Groups) -> tuple[pa.Array, Groups]:
    """The rows that have a value, still in the same groups."""
    if not values.null_count:
        return values, groups
    return values.drop_null(), groups.where(is_valid(values))


def complete(columns: list[pa.Array], times: Ints, groups: Groups) -> tuple[list[pa.Array], Ints, Groups]:
    """The rows that have a value in every column, still in the same groups."""
    if not any(column.null_count for column in columns):
        return columns, times, groups
    whole = np.logical_and.reduce([is_valid(column) for column in columns])
    mask = pa.array(whole)
    return [column.filter(mask) for column in columns], times[whole], groups.where(whole)


def as_column(array: pa.Array, field: pa.Field) -> Column:
    """A stored column of partials: numbers that are never null lie in NumPy, everything else stays in Arrow."""
    kind = field.type
    if field.nullable or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return array
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def as_array(column: Column, field: pa.Field) -> pa.Array:
    """A column of partials as it is stored."""
    if isinstance(column, pa.Array):
        return column
    kind = field.type
    if column.dtype == np.int64 and kind == _INT64 and column.flags.c_contiguous and len(column):
        # the same as Arrow's own conversion, which first asks pandas about the column
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])
    return pa.array(column, kind)


def added(column: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """The sum of the column in each group, in the column's own dtype."""
    if groups.is_alone:
        alone: NDArray[Any] = column + column.dtype.type(0)  # not the column itself: a sum of -0.0 alone is 0.0
        return alone
    sums = np.zeros(groups.count, column.dtype)
    # Infinities of both signs make a NaN, and that is the answer, not a fault.
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(sums, groups.codes, column)
    return sums
