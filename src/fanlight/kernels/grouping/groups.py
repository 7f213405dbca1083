"""Rows in groups: keys as codes, pairs of numbers, and the group of each row, which is the input of every reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanlight.errors import InputError
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.routes import ROUTES
from fanlight.model.time.timestamp import END_OF_TIME

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Column = NDArray[Any] | pa.Array
"""One column of partials: NumPy for types of fixed width, Arrow for all others."""
Codes = NDArray[np.integer[Any]]
"""Codes as narrow as Arrow gives them: widening a bundle's worth of them costs as much as counting them."""

_COUNTABLE = 1 << 16
_DENSE = 1 << 16
_WIDEST = 1 << 62
_LOOSE = 8
"""An empty group costs about an eighth of looking up a row's key."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Each row's group: `codes[i]` is the group of row i, from 0 up to `count`."""

    codes: Ints
    count: int
    is_alone: bool = False
    """Whether it is known that row i alone is group i."""
    bounds: Ints | None = None
    """Where the rows of each group start, then where those of the last end; None unless they lie group by group."""

    @staticmethod
    def alone(count: int) -> Groups:
        """A group for each row."""
        return Groups(np.arange(count), count, is_alone=True)

    def sizes(self) -> Ints:
        """How many rows each group has; read it, never write."""
        if self.is_alone:
            return np.broadcast_to(np.int64(1), self.count)
        if self.bounds is not None:
            return np.diff(self.bounds)
        return np.bincount(self.codes, minlength=self.count).astype(np.int64, copy=False)

    def where(self, mask: Bools) -> Groups:
        """The same groups over the rows that `mask` keeps."""
        return Groups(self.codes[mask], self.count)


def repeated(column: NDArray[Any], count: int) -> NDArray[Any]:
    """`count` times the first number of a column, stored once; read it, never write.

    What `np.broadcast_to` gives, in a tenth of its time.

    >>> repeated(np.array([7, 8]), 3).tolist(), repeated(np.array([7, 8]), 3).strides
    ([7, 7, 7], (0,))
    """
    first = column[:1].copy()  # a view would keep the whole column
    once: NDArray[Any] = np.ndarray((count,), column.dtype, first, 0, (0,))
    once.flags.writeable = False
    return once


def ranked(numbers: Ints) -> tuple[Ints, Ints]:
    """Numbers as small ones, in the same order: each number's rank, and the number of each rank.

    Where the numbers are close together, a rank may stand for a number that does not occur; otherwise every rank
    occurs. So products of ranks always fit in int64, however far apart the numbers are.

    >>> [part.tolist() for part in ranked(np.array([5, 7, 5]))]
    [[0, 2, 0], [5, 6, 7]]
    """
    if not len(numbers):
        return numbers, numbers
    lowest, highest = int(numbers.min()), int(numbers.max())
    if highest - lowest <= max(ROUTES.get().close_numbers, 4 * len(numbers)):
        return numbers - lowest, np.arange(lowest, highest + 1)
    distinct, ranks = np.unique(numbers, return_inverse=True)
    return ranks, distinct


def order_of(numbers: Ints) -> Ints:
    """The stable order of numbers; numbers that are close together are sorted by counting.

    >>> order_of(np.array([9, 7, 9])).tolist()
    [1, 0, 2]
    """
    if not len(numbers):
        return np.zeros(0, np.int64)
    lowest = numbers.min()
    is_close = int(numbers.max()) - int(lowest) < min(ROUTES.get().close_numbers, _COUNTABLE)
    return np.argsort((numbers - lowest).astype(np.uint16) if is_close else numbers, kind="stable")


def runs(ordered: Ints) -> Ints:
    """Where runs of equal numbers start, then where the last one ends: run i is `ordered[runs[i] : runs[i + 1]]`.

    >>> runs(np.array([7, 7, 9])).tolist()
    [0, 2, 3]
    """
    is_bound = np.ones(len(ordered) + 1, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_bound[1:-1])
    return np.flatnonzero(is_bound)


def least_times(times: Ints, groups: Groups) -> Ints:
    """The least time of each group."""
    least = np.full(groups.count, END_OF_TIME)
    np.minimum.at(least, groups.codes, times)
    return least


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
    """Refuse a key column whose values cannot be compared."""
    kind = plain_type(kind)
    is_foreign = isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind)
    if pa.types.is_nested(kind) or is_foreign:
        raise InputError(
            f"key_by: column {name!r} is {kind}, whose values have no order. "
            "Key by the fields inside it, or by a text made from it."
        )


def encode(columns: list[pa.Array], rows: int) -> KeyCodes:
    """Number the distinct keys, in no guaranteed order; null is a key like any other.

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
    """Like `encode`, but a code may stand for a key that does not occur: so integer keys need no lookup.

    There are never many more codes than rows, because grouping allocates one entry for each code. With `in_order`
    the codes follow the ascending order of the keys, null last.
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
    """Number the keys of two sides together, as `encode_loosely` does: the keys, and the codes of each side."""
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
    """Renumber codes without gaps, in the same order: the new code of each row, and the old code of each new one."""
    if domain <= max(ROUTES.get().counted_domain, 4 * len(codes)):
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


class Grouped(Protocol):
    """One entry for each group, such as partials."""

    @property
    def rows(self) -> Ints:
        """How many rows each group has."""

    def __len__(self) -> int: ...

    def take(self, rows: Ints, /) -> Self:
        """The entries at `rows`."""


G = TypeVar("G", bound=Grouped)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows grouped by two numbers, (outer, code); groups are ordered by outer, then code.

    Where most pairs occur, a pair's group is its place in the full rectangle, and empty groups are dropped at the
    end. Where few pairs occur, they are numbered first.

        outer 7   . a . b        code →
        outer 8   c . . d        rectangle of outers × codes
    """

    groups: Groups
    outers: Ints
    """The outer number of each rank."""
    codes: int
    present: Ints | None

    @staticmethod
    def of(outer: Ints, codes: Codes, count: int) -> Pairs:
        """Group rows by their outer number and their code, of which there are `count`."""
        if not len(outer):
            none = np.zeros(0, np.int64)
            return Pairs(Groups(none, 0), none, max(count, 1), none)
        place, outers = ranked(outer)
        if count == 1 and len(outers) <= len(outer) and (place[1:] >= place[:-1]).all():
            bounds = np.searchsorted(place, np.arange(len(outers) + 1))
            return Pairs(Groups(place, len(outers), bounds=bounds), outers, count, None)
        if len(outers) == 1:
            return Pairs(Groups(codes.astype(np.int64, copy=False), count), outers, count, None)
        domain = len(outers) * count
        place *= count
        place += codes
        if domain <= max(_DENSE, 4 * len(outer)):
            return Pairs(Groups(place, domain), outers, count, None)
        place, present = densify(place, domain)
        return Pairs(Groups(place, len(present)), outers, count, present)

    def occurring(self, rows: Ints) -> Ints:
        """The groups that occur, given how many rows each has."""
        return np.flatnonzero(rows) if self.present is None else np.arange(self.groups.count)

    def split(self, groups: Ints) -> tuple[Ints, Ints]:
        """The outer number and the code of these groups."""
        pairs = groups if self.present is None else self.present[groups]
        return self.outers[pairs // self.codes], pairs % self.codes

    def settle(self, partials: G) -> tuple[Ints, Ints, G]:
        """The groups that occur: their outer numbers, codes and partials."""
        kept = self.occurring(partials.rows)
        outer, codes = self.split(kept)
        return outer, codes, partials if len(kept) == len(partials) else partials.take(kept)


def locate(windows: Ints, keys: list[pa.Array], wanted: Ints, wanted_keys: list[pa.Array]) -> Ints:
    """The row of each wanted (window, key) among the given ones; -1 if it is not among them."""
    if not len(windows) or not len(wanted):
        return np.full(len(wanted), -1, np.int64)
    both = [pa.concat_arrays(pair) for pair in zip(keys, wanted_keys, strict=True)]
    found = encode(both, len(windows) + len(wanted))
    pairs = ranked(np.concatenate([windows, wanted]))[0] * found.count + found.codes
    here, sought = pairs[: len(windows)], pairs[len(windows) :]
    order = np.argsort(here)
    place = np.minimum(np.searchsorted(here[order], sought), len(order) - 1)
    rows = order[place]
    return np.where(here[rows] == sought, rows, -1)
