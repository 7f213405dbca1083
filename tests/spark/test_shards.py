"""Where keys go: every key to one shard, and as many to each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fanlight.spark.shards import even_ids, partition_of, places_itself, places_of

KEYS = 10_000


@pytest.mark.parametrize("step", [1, 2, 1_000, 2**32, -1])
@pytest.mark.parametrize("shards", [2, 3, 8, 200])
def test_whole_numbers_are_spread_evenly(step: int, shards: int) -> None:
    places = places_of([pa.array(np.arange(KEYS) * step)], KEYS, shards)
    counts = np.bincount(places, minlength=shards)
    assert len(counts) == shards
    assert counts.max() < 2 * KEYS / shards


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_the_type_of_a_number_does_not_matter(kind: pa.DataType) -> None:
    numbers = [-128, -1, 0, 1, 127, None]
    expected = places_of([pa.array(numbers, pa.int64())], 6, 7).tolist()
    assert places_of([pa.array(numbers, kind)], 6, 7).tolist() == expected
    assert expected[5] == expected[2]  # nulls are one key like any other


def test_placing_keys_leaves_them_as_they_were() -> None:
    keys = pa.array([1, 2, 3])
    places_of([keys], 3, 4)
    assert keys.to_pylist() == [1, 2, 3]


def test_a_slice_is_placed_as_what_it_shows() -> None:
    keys = pa.array(range(100))
    assert places_of([keys.slice(40, 5)], 5, 4).tolist() == places_of([keys], 100, 4)[40:45].tolist()


def test_without_keys_there_is_one_shard() -> None:
    assert places_of([], 3, 1).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("kinds", "itself"),
    [
        ([], True),
        ([pa.int32()], True),
        ([pa.int64()], True),
        ([pa.string()], False),
        ([pa.int64(), pa.int64()], False),
        ([pa.decimal128(10)], False),
        ([pa.timestamp("us")], False),
    ],
)
def test_spark_hashes_the_others(kinds: list[pa.DataType], itself: bool) -> None:
    assert places_itself(kinds) is itself


@pytest.mark.parametrize(("shards", "partitions"), [(1, 4), (4, 4), (8, 4), (200, 200)])
def test_each_partition_gets_its_share(shards: int, partitions: int) -> None:
    counts = np.bincount([partition_of(name, partitions) for name in even_ids(shards, partitions)])
    assert counts.max() == -(-shards // partitions)
