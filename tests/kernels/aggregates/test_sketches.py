"""Sketches keep what they promise: the library's own bytes, its error, and the same bytes for the same records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pytest

from fanlight.kernels.aggregates import bind
from fanlight.kernels.aggregates.by_value import MOST
from fanlight.kernels.aggregates.distinct_sketch import K
from fanlight.kernels.aggregates.hash64 import hashes
from fanlight.kernels.aggregates.quantile_sketch import K as FINENESS
from fanlight.kernels.grouping.groups import Groups
from fanlight.model import aggregates as fl

from .reducing import INF, NAN, grouped, partial, reduced

THETA = fl.approx_count_distinct("v")


def library_sketch(values: list[Any]) -> Any:
    """What DataSketches makes of the values, one by one."""
    sketch = datasketches.update_theta_sketch(12)
    for value in values:
        sketch.update(value)
    return sketch


def library_bytes(*sketches: Any) -> bytes:
    union = datasketches.theta_union(12)
    for sketch in sketches:
        union.update(sketch)
    found: bytes = union.get_result().serialize()
    return found


def sketched(aggregate: fl.Aggregate, values: pa.Array) -> list[Any]:
    return partial(bind(aggregate, values.type), values)


def merged(aggregate: fl.Aggregate, *parts: pa.Array) -> list[Any]:
    reducer: Any = bind(aggregate, parts[0].type)
    found = [partial(reducer, part) for part in parts]
    columns = [
        pa.concat_arrays(same) if isinstance(same[0], pa.Array) else np.concatenate(same)
        for same in zip(*found, strict=True)
    ]
    return list(reducer.merge(columns, grouped([0] * len(parts), 1)))


def stored(partials: list[Any]) -> list[Any]:
    return [column.to_pylist() if isinstance(column, pa.Array) else column.tolist() for column in partials]


class TestHashes:
    @pytest.mark.parametrize(
        "values",
        [
            [0, 1, -1, 2**62],
            [0.5, -3.25, 1e300],
            ["a", "é", "x" * 15, "x" * 16, "x" * 17, "x" * 31, "x" * 32, "x" * 1000],
        ],
    )
    def test_a_value_has_the_hash_that_the_library_gives_it(self, values: list[Any]) -> None:
        found = (hashes(pa.array(values)) >> np.uint64(1)).tolist()
        assert [list(library_sketch([value])) for value in values] == [[hashed] for hashed in found]

    def test_equal_values_of_other_widths_have_the_same_hash(self) -> None:
        wide = hashes(pa.array([1, 2], pa.int64()))
        assert (hashes(pa.array([1, 2], pa.uint8())) == wide).all()
        assert (hashes(pa.array([1, 2], pa.uint64())) == wide).all()
        assert hashes(pa.array([0.5], pa.float16())) == hashes(pa.array([0.5]))
        assert hashes(pa.array([0.0])) == hashes(pa.array([-0.0]))

    def test_a_slice_has_the_hashes_of_its_values(self) -> None:
        texts = pa.array(["a", "bb", "ccc", "dddd"])
        assert hashes(texts[1:3]).tolist() == hashes(texts).tolist()[1:3]


class TestThetas:
    @pytest.mark.parametrize("count", [0, 1, 2, K, K + 1, 3 * K])
    def test_a_sketch_is_the_librarys_own_byte_for_byte(self, count: int) -> None:
        values = list(range(count))
        ((found,),) = stored(sketched(THETA, pa.array(values, pa.int64())))
        assert found == library_bytes(library_sketch(values))

    def test_so_is_one_that_was_merged(self) -> None:
        left, right = list(range(3 * K)), list(range(2 * K, 6 * K))
        ((found,),) = stored(merged(THETA, pa.array(left), pa.array(right)))
        assert found == library_bytes(library_sketch(left), library_sketch(right))

    def test_the_library_reads_the_estimate_that_is_finished(self) -> None:
        reducer: Any = bind(THETA, pa.int64())
        partials = sketched(THETA, pa.array(np.arange(50_000)))
        estimate = datasketches.compact_theta_sketch.deserialize(partials[0][0].as_py()).get_estimate()
        assert reducer.finish(partials).to_pylist() == [round(estimate)]

    def test_it_depends_on_the_set_of_values_alone(self) -> None:
        values = np.arange(40_000) * 7
        whole = stored(sketched(THETA, pa.array(values)))
        mixed = np.random.default_rng(1).permutation(np.concatenate([values, values[:9_000]]))
        assert stored(sketched(THETA, pa.array(mixed))) == whole
        assert stored(merged(THETA, *(pa.array(part) for part in np.array_split(mixed, 9)))) == whole

    def test_few_are_counted_exactly_and_many_within_five_percent(self) -> None:
        """Three standard errors of 1.6 % each; the values are fixed, so this does not fail by chance."""
        assert reduced(THETA, pa.array([f"user {n}" for n in range(K)] * 2)) == [K]
        (found,) = reduced(THETA, pa.array([f"user {n}" for n in range(100_000)]))
        assert abs(found - 100_000) < 5_000
        assert found != 100_000

    def test_a_sketch_is_bounded(self) -> None:
        (column,) = sketched(THETA, pa.array(np.arange(200_000)))
        assert len(column[0].as_py()) == 8 * (K + 3)


class TestDigests:
    def test_quantiles_are_within_one_rank_in_a_hundred(self) -> None:
        values = np.random.default_rng(7).lognormal(size=200_000)
        parts = [pa.array(part) for part in np.array_split(values, 20)]
        for q in (0.001, 0.01, 0.25, 0.5, 0.75, 0.99, 0.999):
            aggregate = fl.approx_quantile("v", q)
            reducer: Any = bind(aggregate, pa.float64())
            (found,) = reducer.finish(merged(aggregate, *parts)).to_pylist()
            assert abs((values <= found).mean() - q) < 0.01

    @pytest.mark.slow
    @pytest.mark.parametrize("order", ["sorted", "reversed", "interleaved", "skewed", "shuffled"])
    def test_no_order_and_no_cut_takes_a_rank_beyond_the_bound(self, order: str) -> None:
        """A million values in 200 bundles, merged one after the other. Half a centroid is 0.0065 of them."""
        n, random = 1_000_000, np.random.default_rng(7)
        values = {
            "sorted": np.arange(n, dtype=np.float64),
            "reversed": np.arange(n, dtype=np.float64)[::-1],
            "interleaved": np.arange(n, dtype=np.float64).reshape(-1, 4).T.ravel(),
            "skewed": np.sort(random.lognormal(0, 4, n)),
            "shuffled": random.normal(size=n),
        }[order]
        reducer: Any = bind(fl.approx_quantile("v", 0.5), pa.float64())
        first, *others = (partial(reducer, pa.array(part)) for part in np.array_split(values, 200))
        for other in others:
            first = reducer.combine(first, other)
        ranked, bound = np.sort(values), (np.log(n / FINENESS) + 6) / (2 * FINENESS)
        assert bound < 0.0065
        for place in range(500, n, 1000):
            own: Any = bind(fl.approx_quantile("v", (place + 0.5) / n), pa.float64())
            found = np.searchsorted(ranked, own.finish(first)[0].as_py())
            assert abs(found - place) / n <= bound, place

    def test_the_order_of_rows_and_of_partials_leaves_the_same_bytes(self) -> None:
        aggregate = fl.approx_quantile("v", 0.5)
        values = np.random.default_rng(3).normal(size=30_000)
        one, other = pa.array(values[:20_000]), pa.array(values[20_000:])
        assert stored(sketched(aggregate, one)) == stored(
            sketched(aggregate, one.take(pa.array(np.arange(20_000)[::-1])))
        )
        assert stored(merged(aggregate, one, other)) == stored(merged(aggregate, other, one))
        assert stored(merged(aggregate, one, other)) == stored(merged(aggregate, one, other))

    def test_infinities_and_nan_have_their_places(self) -> None:
        values = pa.array([-INF, 1.0, 2.0, INF, NAN])
        found = [reduced(fl.approx_quantile("v", q), values)[0] for q in (0, 0.2, 0.4, 0.6)]
        assert found == [-INF, 1.0, 2.0, INF]
        assert np.isnan(reduced(fl.approx_quantile("v", 1), values)[0])

    def test_a_few_hundred_values_are_kept_one_by_one(self) -> None:
        values = np.random.default_rng(5).normal(size=300)
        wanted = np.sort(values)
        for place in (0, 1, 77, 150, 299):
            assert reduced(fl.approx_quantile("v", (place + 0.5) / 300), pa.array(values)) == [wanted[place]]


class TestHeavyHitters:
    def test_counts_are_exact_while_there_are_few_values(self) -> None:
        values = pa.array(["tea"] * 3 + ["milk"] * 3 + ["rice"] + [None])
        assert reduced(fl.heavy_hitters("v", 2), values) == [
            [{"value": "milk", "count": 3}, {"value": "tea", "count": 3}]
        ]

    def test_among_many_a_count_is_short_by_at_most_its_share(self) -> None:
        random = np.random.default_rng(11)
        values = np.concatenate([random.zipf(1.3, 60_000) % 50_000, random.integers(0, 50_000, 60_000)])
        random.shuffle(values)
        aggregate = fl.heavy_hitters("v", 5)
        parts = [pa.array(part) for part in np.array_split(values, 12)]
        reducer: Any = bind(aggregate, pa.int64())
        (entries, *_) = merged(aggregate, *parts)
        assert len(entries[0]) <= MOST
        (found,) = reducer.finish([entries]).to_pylist()
        true = Counter(values.tolist())
        short = len(values) / (MOST + 1)
        assert [one["value"] for one in found] == [value for value, _ in true.most_common(5)]
        for one in found:
            assert true[one["value"]] - short <= one["count"] <= true[one["value"]]
        assert any(one["count"] < true[one["value"]] for one in found)

    def test_only_groups_that_are_full_give_up_counts(self) -> None:
        many, few = np.arange(MOST + 10), np.zeros(5, np.int64)
        reducer: Any = bind(fl.heavy_hitters("v", 1), pa.int64())
        codes = np.repeat([0, 1], [len(many), len(few)])
        groups = Groups(codes, 2)
        partials = reducer.partial(pa.array(np.concatenate([many, few])), codes, groups, groups.sizes())
        assert reducer.finish(partials).to_pylist() == [[], [{"value": 0, "count": 5}]]
