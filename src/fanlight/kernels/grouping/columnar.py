"""Tables of columns: the operations that every table shares.

A table is a dataclass, and each of its fields has one entry for each row:

    slices: Ints                  a NumPy array
    records: pa.Array             an Arrow array
    keys: list[pa.Array]          several
    state: dict[str, NDArray]     several, by name
    partials: Partials            a table, or whatever else can `take`, `part` and `concat`
    least: Ints | None            a column that some tables do not have
    cells: Cells                  not a column: `FOR_ALL` says that it is the same for all rows
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.grouping.groups import Bools, Column, Ints, repeated

FOR_ALL = MappingProxyType({"for_all": True})
"""Marks a field that is not a column: it is passed on unchanged, and `concat` takes that of the first table."""


class Columnar:
    """A table of columns. Its first field is a single column that is never missing."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.__dataclass_fields__))))

    def take(self, rows: Ints) -> Self:
        """The rows at `rows`, in that order."""
        places: pa.Array | None = None

        def taken(column: Any) -> Any:
            nonlocal places
            if isinstance(column, np.ndarray):
                return gathered(column, rows)
            if not isinstance(column, pa.Array):
                return column.take(rows)
            if places is None:
                places = pa.array(rows)
            return column.take(places)

        return self._each(taken)

    def part(self, start: int, end: int) -> Self:
        """The rows from `start` up to `end`, as views."""

        def cut(column: Any) -> Any:
            return column[start:end] if isinstance(column, (np.ndarray, pa.Array)) else column.part(start, end)

        return self._each(cut)

    def where(self, mask: Bools) -> Self:
        """The rows that `mask` keeps; the table itself if that is all of them."""
        rows = np.flatnonzero(mask)
        if 0 < len(rows) < len(mask):
            return self.take(rows)
        return self if len(rows) == len(mask) else self.part(0, 0)

    @classmethod
    def concat(cls, parts: list[Self]) -> Self:
        """The rows of several tables, one after the other; if only one of them has rows, that table itself."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        make: Callable[..., Self] = cls
        columns = []
        for name, field in cls.__dataclass_fields__.items():
            same = [getattr(part, name) for part in parts]
            columns.append(same[0] if "for_all" in field.metadata else _concatenated(same))
        return make(*columns)

    def _each(self, change: Callable[[Any], Any]) -> Self:
        """Every column changed."""
        make: Callable[..., Self] = type(self)
        columns = []
        for name, field in self.__dataclass_fields__.items():
            column = getattr(self, name)
            columns.append(column if "for_all" in field.metadata else _changed(column, change))
        return make(*columns)


def gathered(column: NDArray[Any], places: Ints | Bools) -> NDArray[Any]:
    """The numbers at `places`, or those a mask keeps; a number stored once for all rows stays stored once."""
    if len(column) and column.strides == (0,):
        return repeated(column, int(np.count_nonzero(places)) if places.dtype == np.bool_ else len(places))
    taken: NDArray[Any] = column[places]
    return taken


def concatenated(columns: list[Column]) -> Column:
    """Columns one after the other; if each stores the same number once for all rows, so does the result."""
    if isinstance(columns[0], pa.Array):
        return pa.concat_arrays(columns)
    held = [column for column in columns if len(column)]
    if not held or held[0].strides != (0,):
        return np.concatenate(columns)
    if any(column.strides != (0,) or column[0] != held[0][0] for column in held):
        return np.concatenate(columns)
    return repeated(held[0], sum(len(column) for column in held))


def _changed(column: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(column, list):
        return [change(one) for one in column]
    if isinstance(column, dict):
        return {name: change(one) for name, one in column.items()}
    return None if column is None else change(column)


def _concatenated(same: list[Any]) -> Any:
    """The same field of several tables."""
    first = same[0]
    if isinstance(first, (np.ndarray, pa.Array)):
        return concatenated(same)
    if isinstance(first, list):
        return [concatenated(list(columns)) for columns in zip(*same, strict=True)]
    if isinstance(first, dict):
        return {name: concatenated([columns[name] for columns in same]) for name in first}
    return None if first is None else type(first).concat(same)
