"""The shard of each key, and shard ids that Spark spreads evenly over its partitions.

The packer itself places keys that are one integer column, and records without keys. For all others Spark adds a column
with the hash of the keys, which costs more: Spark writes it for Python value by value.

Spark places a group by `pmod(hash(id), partitions)`, which is uneven for small integers: of the ids 0 to 3 all may
land in one of two partitions. So ids are chosen such that each partition gets as many shards as the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions

from fanlight.kernels.aggregates.hash64 import hashes, is_hashed
from fanlight.kernels.plain_type import plain_type
from fanlight.spark.column_names import with_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SEED = 42
_MASK = 0xFFFFFFFF
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SILVER = np.uint64(0xD6E8FEB86659FD93)
"""Another, so that a key in the next span is not the next key."""
_HALF = np.uint64(32)


def places_itself(keys: Sequence[pa.DataType]) -> bool:
    """Whether the packer itself finds the shards of keys of these types: one integer column, or none."""
    return not keys or (len(keys) == 1 and pa.types.is_integer(keys[0]))


def places_of(keys: Sequence[pa.Array], rows: int, shards: int) -> NDArray[np.int64]:
    """The places among `shards` of keys that the packer places itself: the highest bits of a product.

    >>> places_of([pa.array([1, 2, 3, 4, None])], 5, 2).tolist()
    [1, 0, 1, 0, 0]
    """
    if not keys or shards == 1:
        return np.zeros(rows, np.int64)
    if not places_itself([column.type for column in keys]):
        return _hashed_places(keys, rows, shards)
    numbers = pc.fill_null(keys[0], 0) if keys[0].null_count else keys[0]
    places: NDArray[np.uint64] = numbers.to_numpy().astype(np.int64).view(np.uint64)  # a copy, which is worked on
    places *= _GOLDEN
    places >>= _HALF
    places *= np.uint64(shards)
    places >>= _HALF
    return places.view(np.int64)


def _hashed_places(keys: Sequence[pa.Array], rows: int, shards: int) -> NDArray[np.int64]:
    """The places of keys of any type, by the hashes of their columns; null has one of its own."""
    return _places(_mixed(keys, rows), shards)


def key_codes(keys: Sequence[pa.Array], rows: int) -> NDArray[np.uint64]:
    """A number for the keys of each row, for `places_in_time`; equal keys have equal ones."""
    if len(keys) != 1 or not pa.types.is_integer(keys[0].type):
        return _mixed(keys, rows)
    numbers = pc.fill_null(keys[0], 0) if keys[0].null_count else keys[0]
    codes: NDArray[np.uint64] = numbers.to_numpy().astype(np.int64).view(np.uint64)
    return codes * _SILVER


def places_in_time(codes: NDArray[np.uint64], spans: NDArray[np.int64], shards: int) -> NDArray[np.int64]:
    """The places among `shards` of keys with these codes, each in its span of time: spans take turns.

    >>> spans = np.arange(-3, 4)
    >>> places_in_time(np.zeros(7, np.uint64), spans, 2).tolist()
    [0, 1, 0, 0, 1, 0, 1]
    """
    return _places(codes + spans.view(np.uint64) * _GOLDEN, shards)


def _mixed(keys: Sequence[pa.Array], rows: int) -> NDArray[np.uint64]:
    """The hashes of the columns of keys as one number a row."""
    mixed = np.zeros(rows, np.uint64)
    for column in keys:
        kind = plain_type(column.type)
        values = (column if column.type == kind else column.cast(kind)).drop_null()
        known = np.zeros(rows, np.uint64)
        found = hashes(values if is_hashed(kind) else values.cast(pa.string()))
        known[~column.is_null().to_numpy(zero_copy_only=False)] = found
        mixed = mixed * _GOLDEN + known
    return mixed


def _places(numbers: NDArray[np.uint64], shards: int) -> NDArray[np.int64]:
    """Places by the highest bits of numbers."""
    return ((numbers >> _HALF) * np.uint64(shards) >> _HALF).view(np.int64)


def with_hashed_places(frame: DataFrame, keys: Sequence[str], shards: int, column: str) -> DataFrame:
    """The rows with one more `column`: the place of each among `shards`, by Spark's hash of its keys."""

    def place(*values: Column) -> Column:
        return functions.pmod(functions.hash(*values), functions.lit(shards))

    return with_column(frame, column, keys, place)


def even_ids(shards: int, partitions: int) -> list[int]:
    """The first ids, ascending, such that each partition gets the same number.

    >>> ids = even_ids(4, 2)
    >>> sorted(partition_of(id, 2) for id in ids)
    [0, 0, 1, 1]
    """
    share = -(-shards // partitions)
    room = dict.fromkeys(range(partitions), share)
    ids: list[int] = []
    for candidate in count():
        if len(ids) == shards:
            return ids
        place = partition_of(candidate, partitions)
        if room[place]:
            room[place] -= 1
            ids.append(candidate)
    raise AssertionError  # count() never ends


def partition_of(value: int, partitions: int) -> int:
    """Where Spark places a group keyed by this int."""
    return _murmur3(value) % partitions


def _murmur3(value: int) -> int:
    """Spark's hash of an int: Murmur3 (x86, 32 bits) of its four bytes, as a signed number."""
    mixed = (value * 0xCC9E2D51) & _MASK
    mixed = (_rotate(mixed, 15) * 0x1B873593) & _MASK
    state = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & _MASK
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK
