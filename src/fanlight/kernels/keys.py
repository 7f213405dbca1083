"""Keys as small numbers: distinct keys are found once, and everything after works on their codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanlight.errors import InputError
from fanlight.kernels.groups import Ints
from fanlight.kernels.reducers.plain import plain_type

Codes = NDArray[np.integer[Any]]
"""Codes as narrow as Arrow gives them: widening a bundle's worth of them costs as much as counting them."""

_WIDEST = 1 << 62
_DENSE = 1 << 20
"""A domain up to this size is counted through rather than hashed."""
_LOOSE = 8
"""Making a group that nothing is in costs about an eighth of looking a row's key up."""


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """Each row's key as a code into the distinct keys."""

    codes: Codes
    keys: list[pa.Array]
    count: int

    def take(self, codes: Ints) -> list[pa.Array]:
        """The key columns of these codes."""
        if len(codes) == self.count and (self.count == 1 or np.array_equal(codes, np.arange(self.count))):
            return self.keys  # each once, in order
        places = pa.array(codes)
        return [column.take(places) for column in self.keys]


def check_key(name: str, kind: pa.DataType) -> None:
    """Refuse a key whose type cannot be compared."""
    kind = plain_type(kind)
    is_foreign = isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind)
    if pa.types.is_nested(kind) or is_foreign:
        raise InputError(
            f"key_by: column {name!r} is {kind}, whose values have no order. "
            "Key by the fields inside it, or by a text made from it."
        )


def encode(columns: list[pa.Array], rows: int) -> KeyCodes:
    """Number the distinct keys, in no order that could be relied on; null is a key like any other.

    Without key columns every row has the same key, number 0.
    """
    if not columns:
        return KeyCodes(np.zeros(rows, np.int64), [], 1)
    parts = [_encode_one(column) for column in columns]
    if len(parts) == 1:
        codes, values = parts[0]
        return KeyCodes(codes, [values], len(values))
    codes, domain = parts[0][0].astype(np.int64), len(parts[0][1])
    places = np.arange(domain, dtype=np.int64)[:, None]
    for part, values in parts[1:]:
        size = max(len(values), 1)
        codes, present = densify(codes * size + part, domain * size)
        places = np.column_stack([places[present // size], present % size])
        domain = len(present)
    keys = [values.take(pa.array(places[:, i])) for i, (_, values) in enumerate(parts)]
    return KeyCodes(codes, keys, domain)


def encode_loosely(columns: list[pa.Array], rows: int, *, in_order: bool = False) -> KeyCodes:
    """As `encode`, but a code may stand for a key that does not occur: so whole numbers need not be looked up.

    There are never many more codes than rows, however few these are: who groups by them makes something for each.
    With `in_order` as `encode_in_order`.
    """
    if len(columns) == 1 and pa.types.is_integer(columns[0].type) and rows and not columns[0].null_count:
        numbers = columns[0].to_numpy()
        least, most = int(numbers.min()), int(numbers.max())
        if most - least < _LOOSE * rows and most < _WIDEST:
            codes = numbers.astype(np.int64) - least
            keys = pa.array(np.arange(least, most + 1), columns[0].type)
            return KeyCodes(codes, [keys], most - least + 1)
    return encode_in_order(columns, rows) if in_order else encode(columns, rows)


def encode_together(one: list[pa.Array], rows: int, other: list[pa.Array], more: int) -> tuple[KeyCodes, Ints, Ints]:
    """Number the keys of two sides alike, loosely: the keys, the codes of the first side, those of the other."""
    found = encode_loosely([pa.concat_arrays(sides) for sides in zip(one, other, strict=True)], rows + more)
    codes = found.codes.astype(np.int64, copy=False)
    return found, codes[:rows], codes[rows:]


def encode_in_order(columns: list[pa.Array], rows: int) -> KeyCodes:
    """Number the distinct keys in ascending order, null last."""
    found = encode(columns, rows)
    if found.count < 2 or not columns:
        return found
    order = sort_order(found.keys)
    rank = np.empty(found.count, np.int64)
    rank[order] = np.arange(found.count)
    return KeyCodes(rank[found.codes], found.take(order), found.count)


def sort_order(keys: list[pa.Array]) -> Ints:
    """The rows of distinct keys in ascending order, null last."""
    if not keys:
        return np.zeros(1, np.int64)
    names = [str(i) for i in range(len(keys))]
    sortable = [key.cast(pa.float32()) if pa.types.is_float16(key.type) else key for key in keys]
    table = pa.table(sortable, names=names)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    return np.asarray(order).astype(np.int64)


def densify(codes: Codes, domain: int) -> tuple[Ints, Ints]:
    """Renumber codes without gaps and in the same order: the new codes, and which old code each stands for."""
    if domain <= max(_DENSE, 4 * len(codes)):
        seen = np.zeros(domain, np.bool_)
        seen[codes] = True
        present = np.flatnonzero(seen)
        place = np.empty(domain, np.int64)
        place[present] = np.arange(len(present))
        return place[codes], present
    found = pc.dictionary_encode(pa.array(codes))
    present = np.asarray(found.dictionary).astype(np.int64, copy=False)
    order = np.argsort(present)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[np.asarray(found.indices)], present[order]


def _encode_one(column: pa.Array) -> tuple[Codes, pa.Array]:
    if pa.types.is_float16(column.type):
        codes, values = _encode_one(column.cast(pa.float32()))
        return codes, values.cast(pa.float16())
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 and 0.0 are one key
        column = pc.if_else(pc.is_nan(column), pa.scalar(np.nan, column.type), column)  # so is every NaN
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), pa.nulls(min(len(column), 1))
    found = pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(found.indices), found.dictionary
