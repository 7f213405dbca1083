"""Grouping each large slice by itself is grouping everything at once: against a dict of slice and key."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.aggregates.reducing import Order
from tests.kernels.grouping.ranks import rank

from fanlight.kernels.aggregates import bind
from fanlight.kernels.aggregates.aggregation import Aggregation, SlicedPartials, merge_by_slice, partial_by_slice
from fanlight.kernels.aggregates.count_sum_mean import CountRows
from fanlight.kernels.aggregates.join_slices import join_slices
from fanlight.kernels.grouping.groups import Column, Groups, Ints, encode_loosely
from fanlight.kernels.routes import rerouted
from fanlight.model import aggregates as agg
from fanlight.model.firing import FiringTime
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME

KEYS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1]),
    pa.uint8(): st.integers(250, 255),
    pa.string(): st.sampled_from(["", "a", "b", "ab", "é"]),
    pa.float64(): st.sampled_from([0.0, -0.0, 1.5, -math.inf, math.nan]),
    pa.bool_(): st.booleans(),
}
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-9, 9),
    pa.float64(): st.integers(-9, 9).map(lambda quarters: quarters / 4),
    pa.string(): st.sampled_from(["", "a", "b", "ba"]),
}
slices_near, slices_far = st.integers(-3, 3), st.sampled_from([-(2**61), -70_000, -1, 0, 65_535, 65_536, 2**61])
Pair = tuple[int, tuple[Any, ...]]
"""A slice, and where its key stands."""


@dataclass(frozen=True)
class Row:
    """A record: its slice, time, keys and value; whether a stamp looks at it."""

    slice: int
    time: int
    key: tuple[Any, ...]
    value: Any
    counted: bool


@dataclass(frozen=True)
class Stream:
    """Records of one shape."""

    kinds: list[pa.DataType]
    kind: pa.DataType
    firing_time: FiringTime
    rows: list[Row]

    @property
    def fold(self) -> Aggregation:
        own = [agg.count(), agg.min("v"), agg.max("v"), agg.first("v"), agg.last("v")]
        adds = [] if pa.types.is_string(self.kind) else [agg.sum("v")]
        return Aggregation(tuple(bind(one, self.kind) for one in (*own, *adds)), self.firing_time)

    def partial(self, rows: list[Row], *, in_order: bool, holds: bool) -> SlicedPartials:
        columns = [pa.array([row.key[i] for row in rows], kind) for i, kind in enumerate(self.kinds)]
        found = encode_loosely(columns, len(rows), in_order=in_order)
        values = pa.array([row.value for row in rows], self.kind)
        reducers = len(self.fold.reducers)
        times, slices = ints([row.time for row in rows]), ints([row.slice for row in rows])
        counted = np.array([row.counted for row in rows], np.bool_) if holds else None
        return partial_by_slice(self.fold, [None, *[values] * (reducers - 1)], times, slices, found, counted)


def ints(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    kinds = draw(st.lists(st.sampled_from(list(KEYS)), max_size=2))
    kind = draw(st.sampled_from(list(VALUES)))
    key = st.tuples(*(st.none() | KEYS[one] for one in kinds))
    slice_ = draw(st.sampled_from([slices_near, slices_far]))
    row = st.builds(Row, slice_, st.integers(-5, 5), key, st.none() | VALUES[kind], st.booleans())
    return Stream(kinds, kind, draw(st.sampled_from(FiringTime)), draw(st.lists(row, max_size=14)))


sizes = st.fixed_dictionaries(
    {
        "large_slice": st.sampled_from([1, 2, 3, 1 << 14]),
        "close_numbers": st.sampled_from([2, 1 << 16]),
        "counted_domain": st.sampled_from([0, 1 << 20]),
    }
)
"""Where slices count as large, and as near to each other; how many codes are counted through."""


# ── the oracle ───────────────────────────────────────────────────────────────────────────────────────────────────


def held(rows: list[Row]) -> dict[Pair, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row.slice, tuple(map(rank, row.key))].append(row)
    return groups


def reduced(stream: Stream, rows: list[Row], *, holds: bool) -> list[Any]:
    """How many rows there are, their stamp, and what the aggregates say."""
    valued = [row for row in rows if row.value is not None]
    some = [row.value for row in valued]
    by_time = sorted((row.time, row.value) for row in valued)
    edges = [by_time[place][1] if valued else None for place in (0, -1)]
    adds = [] if pa.types.is_string(stream.kind) else [sum(some) if some else None]
    times = [row.time for row in rows if row.counted or not holds]
    earliest, latest = min(times, default=END_OF_TIME), max(times, default=START_OF_TIME)
    stamp = {FiringTime.END: None, FiringTime.EARLIEST: earliest, FiringTime.LATEST: latest}[stream.firing_time]
    return [len(rows), stamp, len(rows), min(some, default=None), max(some, default=None), *edges, *adds]


def told(stream: Stream, sliced: SlicedPartials) -> list[tuple[Pair, list[Any]]]:
    """What each slice holds of each key, in the order it lies there."""
    ranks = [[rank(value) for value in column.to_pylist()] for column in sliced.keys]
    pairs = [(slice_, tuple(own[i] for own in ranks)) for i, slice_ in enumerate(sliced.slices.tolist())]
    partials = sliced.partials
    stamps = [None] * len(pairs) if partials.stamp is None else partials.stamp.tolist()
    values = (column.to_pylist() for column in stream.fold.finish(partials))
    said = zip(partials.rows.tolist(), stamps, *values, strict=True)
    return [(pair, list(row)) for pair, row in zip(pairs, said, strict=True)]


def wanted(stream: Stream, *, holds: bool) -> list[tuple[Pair, list[Any]]]:
    return [(pair, reduced(stream, rows, holds=holds)) for pair, rows in sorted(held(stream.rows).items())]


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────


@given(streams(), sizes, st.booleans(), st.booleans())
def test_rows_are_folded_by_slice_and_key(stream: Stream, sizes: dict[str, int], in_order: bool, holds: bool) -> None:
    """Ordered by slice, and in a slice by key if the codes are."""
    with rerouted(**sizes):
        found = stream.partial(stream.rows, in_order=in_order, holds=holds)
    assert (np.diff(found.slices) >= 0).all()
    assert [column.type for column in found.keys] == stream.kinds
    said = told(stream, found)
    assert (said if in_order else sorted(said, key=itemgetter(0))) == wanted(stream, holds=holds)


@given(streams(), sizes, st.lists(st.integers(0, 14), max_size=3).map(sorted), st.booleans())
def test_partials_of_several_bundles_become_one_of_each_slice_and_key(
    stream: Stream, sizes: dict[str, int], cuts: list[int], holds: bool
) -> None:
    """In each slice the keys ascend, null last."""
    with rerouted(**sizes):
        edges = [0, *cuts, len(stream.rows)]
        bundles = [stream.rows[start:end] for start, end in pairwise(edges)]
        parts = [stream.partial(bundle, in_order=False, holds=holds) for bundle in bundles]
        rows = SlicedPartials.concat(parts)
        found = merge_by_slice(stream.fold, rows.take(np.argsort(rows.slices, kind="stable")))
    assert [column.type for column in found.keys] == stream.kinds
    assert told(stream, found) == wanted(stream, holds=holds)


@given(streams(), sizes, st.lists(st.integers(0, 2), min_size=14, max_size=14), st.booleans())
def test_what_several_inputs_brought_is_joined_by_slice_and_key(
    stream: Stream, sizes: dict[str, int], inputs: list[int], holds: bool
) -> None:
    """Whether rows of two inputs have the same slices and keys or others, they become what one input would give."""
    with rerouted(**sizes):
        each = [[row for row, one in zip(stream.rows, inputs, strict=False) if one == place] for place in range(3)]
        found = join_slices(stream.fold, [stream.partial(rows, in_order=True, holds=holds) for rows in each])
    assert told(stream, found) == wanted(stream, holds=holds)


@dataclass(frozen=True)
class Paired(CountRows):
    """A count that notes how many partials it merges row by row, and how many by their groups."""

    by_row: list[int] = field(default_factory=list)
    by_group: list[int] = field(default_factory=list)

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        self.by_row.append(len(left[0]))
        return super().combine(left, right)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        self.by_group.append(len(groups.codes))
        return super().merge(partials, groups)


def test_rows_of_the_same_slices_and_keys_are_joined_row_by_row() -> None:
    """Slice 7 has the same keys in both inputs. Slice 8 has not, so that its three rows are looked up."""
    count = Paired()
    fold = Aggregation((count,), FiringTime.END)
    with rerouted(large_slice=1):
        tables = [
            partial_by_slice(
                fold,
                [None],
                ints([0] * len(keys)),
                ints(slices),
                encode_loosely([pa.array(list(keys))], len(keys), in_order=True),
                None,
            )
            for slices, keys in (([7, 7, 7, 8], "abba"), ([7, 8, 8, 7], "abab"))
        ]
        found = join_slices(fold, tables)
    assert (count.by_row, count.by_group) == ([2], [3])
    assert found.slices.tolist() == [7, 7, 8, 8]
    assert found.keys[0].to_pylist() == ["a", "b", "a", "b"]
    assert found.partials.rows.tolist() == [2, 3, 2, 1]


@dataclass(frozen=True)
class Watched(CountRows):
    """A count that notes how many rows it is given at once."""

    at_once: list[int] = field(default_factory=list)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        self.at_once.append(len(groups.codes))
        return super().partial(values, times, groups, sizes)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        self.at_once.append(len(groups.codes))
        return super().merge(partials, groups)


def at_once(slices: list[int], keys: list[int]) -> tuple[list[int], list[int]]:
    """How many rows are folded at once, and how many partials merged."""
    preaggregator, merging = Watched(), Watched()
    found = encode_loosely([pa.array(list(keys))], len(keys))
    rows = partial_by_slice(
        Aggregation((preaggregator,), FiringTime.END), [None], ints(slices), ints(slices), found, None
    )
    merge_by_slice(Aggregation((merging,), FiringTime.END), rows)
    return preaggregator.at_once, merging.at_once


@pytest.mark.parametrize(
    ("slices", "keys", "parts"),
    [
        ([7, 8, 7, 8, 7, 8, 9, 9, 9], [1, 2, 3] * 3, [3, 3, 3]),
        ([7, 8, 7, 8, 7, 8, 9, 9, 9, 9], [1, 2, 3] * 3 + [4], [3, 3, 4]),
        ([7, 8, 7, 8, 7, 8, 9, 9], [1, 2, 3, 4] * 2, [8]),
        ([7, 7, 7, 8, 8, 8], [1, 2] * 3, [6]),
        ([7, 8], [1, 3], [2]),
    ],
    ids=["large", "larger", "small on the whole", "few keys", "few rows"],
)
def test_slices_are_folded_one_by_one_where_they_and_their_keys_are_many(
    slices: list[int], keys: list[int], parts: list[int]
) -> None:
    """Here three is many."""
    with rerouted(large_slice=3):
        assert at_once(slices, keys)[0] == parts


@pytest.mark.parametrize(("slices", "parts"), [([7, 8] * 3, [3, 3]), ([7, 8, 7, 8, 7], [5]), ([], [])])
def test_slices_are_merged_one_by_one_where_they_are_large(slices: list[int], parts: list[int]) -> None:
    with rerouted(large_slice=3):
        assert at_once(slices, list(range(len(slices))))[1] == parts


@pytest.mark.parametrize(
    "slices",
    [[0, -1], [-1, 0, -1, 0], [65_535, 0], [65_536, 0], [0, -65_536], [2**61, -(2**61), 7]],
    ids=["negative", "interleaved", "near", "just not near", "before", "far"],
)
def test_slices_ascend_however_far_apart_they_are(slices: list[int]) -> None:
    row = [Row(slice_, 0, (), slice_, True) for slice_ in slices]
    stream = Stream([], pa.int64(), FiringTime.END, row)
    with rerouted(large_slice=1):
        found = stream.partial(row, in_order=True, holds=False)
    assert told(stream, found) == wanted(stream, holds=False)


def test_rows_of_a_slice_are_added_as_they_came() -> None:
    """An aggregate of a user's own may look at the order of its values."""
    fold = Aggregation((bind(Order("v"), pa.string()),), FiringTime.END)
    letters = [chr(ord("a") + i % 26) for i in range(100)]
    slices = ints([place % 2 for place in range(100)])
    found = encode_loosely([], 100)
    with rerouted(large_slice=1):
        rows = partial_by_slice(fold, [pa.array(letters)], slices, slices, found, None)
    assert fold.finish(rows.partials)[0].to_pylist() == ["".join(letters[::2]), "".join(letters[1::2])]


def test_what_is_many_is_what_no_longer_fits_a_cache() -> None:
    count = 1 << 14
    assert at_once([1] * count + [0] * count, [*range(count), *range(count)]) == ([count, count], [count, count])
    assert at_once([1] * count + [0] * (count - 1), [*range(count), *range(count - 1)])[0] == [2 * count - 1]


# ── rows in slices ───────────────────────────────────────────────────────────────────────────────────────────────


def sliced(slices: list[int]) -> SlicedPartials:
    """One row a slice; its key is its place."""
    fold = Aggregation((bind(agg.sum("v"), pa.int64()),), FiringTime.EARLIEST)
    places = ints(list(range(len(slices))))
    partials = fold.partial([pa.array(places)], places, Groups(places, len(places)), None)
    return SlicedPartials(ints(slices), [pa.array(places)], partials)


def places(rows: SlicedPartials) -> list[int]:
    """Which rows these are, as every column says."""
    own = rows.keys[0].to_pylist()
    assert rows.partials.stamp is not None
    assert own == rows.partials.stamp.tolist() == rows.partials.columns[0][0].tolist()
    assert len(own) == len(rows) == len(rows.slices)
    return own


@given(st.lists(st.integers(-5, 5)).map(sorted), st.integers(-7, 7), st.integers(-7, 7))
def test_between_two_slices_are_the_rows_of_both_and_of_all_between(slices: list[int], first: int, last: int) -> None:
    found = sliced(slices).between(first, max(first, last))
    assert places(found) == [i for i, slice_ in enumerate(slices) if first <= slice_ <= max(first, last)]
    assert found.slices.tolist() == [slice_ for slice_ in slices if first <= slice_ <= max(first, last)]


@given(st.lists(st.integers(-5, 5)).map(sorted))
def test_the_slices_that_occur_are_told_once_each(slices: list[int]) -> None:
    assert sliced(slices).distinct.tolist() == sorted(set(slices))


def test_rows_are_taken_in_any_order_and_put_one_after_the_other() -> None:
    rows = sliced([4, 4, 9])
    taken = rows.take(ints([2, 0]))
    assert (places(taken), taken.slices.tolist()) == ([2, 0], [9, 4])
    joined = SlicedPartials.concat([rows.part(0, 0), rows.part(1, 3), rows.part(2, 2), taken])
    assert (places(joined), joined.slices.tolist()) == ([1, 2, 2, 0], [4, 9, 9, 4])
    nothing = SlicedPartials.concat([rows.part(0, 0), rows.part(3, 3)])
    assert (places(nothing), nothing.keys[0].type) == ([], pa.int64())
