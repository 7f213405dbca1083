"""Which shard a key belongs to, and shard ids that Spark spreads evenly over its partitions.

The envelope itself places keys of one whole number, and records without keys. For all others Spark adds a column with
the hash of the keys: a column more to be written for Python, a value at a time.

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

from fanlight.spark.columns import with_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SEED = 42
_MASK = 0xFFFFFFFF
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def places_itself(keys: Sequence[pa.Field]) -> bool:
    """Whether the envelope finds the shards of such keys: of one whole number, or of none."""
    return not keys or (len(keys) == 1 and pa.types.is_integer(keys[0].type))


def places_of(keys: Sequence[pa.Array], rows: int, shards: int) -> NDArray[np.int64]:
    """The places among `shards` of keys that the envelope places itself: multiplied, and the highest bits taken.

    >>> places_of([pa.array([1, 2, 3, 4, None])], 5, 2).tolist()
    [1, 0, 1, 0, 0]
    """
    if not keys or shards == 1:
        return np.zeros(rows, np.int64)
    numbers = pc.fill_null(keys[0], 0) if keys[0].null_count else keys[0]
    places: NDArray[np.uint64] = numbers.to_numpy().astype(np.int64).view(np.uint64)  # a copy, which is worked on
    places *= _GOLDEN
    places >>= _HALF
    places *= np.uint64(shards)
    places >>= _HALF
    return places.view(np.int64)


def with_hashed_places(frame: DataFrame, keys: Sequence[str], shards: int, column: str) -> DataFrame:
    """The rows with one `column` more: the place among `shards` of each, whose keys Spark hashes."""

    def place(*values: Column) -> Column:
        return functions.pmod(functions.hash(*values), functions.lit(shards))

    return with_column(frame, column, keys, place)


def even_ids(shards: int, partitions: int) -> list[int]:
    """The first ids, ascending, of which each partition gets its share.

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
