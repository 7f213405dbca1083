"""Reducers, told as stories: what overflows, what NaN does, what is empty, what is refused and in which words."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.errors import InputError
from fanlight.kernels.aggregates import MessageReducer, Reducer, bind
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.routes import rerouted
from fanlight.model import aggregates as fl

from .reducing import GREATEST, INF, NAN, Seen, SquaresAtOnce, computed, finished, grouped, partial, reduced


class TestCounts:
    def test_records_are_counted_without_a_column(self) -> None:
        reducer: Any = bind(fl.count(), None)
        groups = grouped([0, 0, 2], 4)
        assert reducer.finish(reducer.partial(None, np.zeros(3, np.int64), groups, groups.sizes())).to_pylist() == [
            2,
            0,
            1,
            0,
        ]

    def test_a_column_counts_its_values_and_nan_is_one(self) -> None:
        assert reduced(fl.count("v"), pa.array([1.0, None, NAN])) == [2]

    def test_null_free_values_are_not_counted_again(self) -> None:
        """The sizes given are the count: no pass over the rows, and no copy."""
        reducer: Any = bind(fl.count("v"), pa.int64())
        groups = grouped([0, 1, 1])
        sizes = groups.sizes()
        assert reducer.partial(pa.array([1, 2, 3]), np.zeros(3, np.int64), groups, sizes)[0] is sizes


class TestSums:
    def test_an_empty_group_sums_to_null(self) -> None:
        assert reduced(fl.sum("v"), pa.array([1, 2, None]), [0, 0, 2], 4) == [3, None, None, None]

    def test_a_sum_may_pass_the_edge_of_int64_on_its_way(self) -> None:
        """Only the sum itself must lie in int64, not what the order of rows makes of it."""
        values = pa.array([GREATEST, 10, -10, -GREATEST, GREATEST])
        assert reduced(fl.sum("v"), values) == [GREATEST]
        assert reduced(fl.sum("v"), pa.array([-GREATEST - 1])) == [-GREATEST - 1]

    def test_a_sum_beyond_int64_is_exact_in_every_step_and_concerns_its_group_alone(self) -> None:
        """Group 1 leaves int64 on each way there is to add; group 0 is as it would be without it."""
        reducer: Any = bind(fl.sum("price"), pa.int64())
        half = partial(reducer, pa.array([5, 2**62]), [0, 1])
        ways = [
            partial(reducer, pa.array([5, 2**62, 2**62, 5]), [0, 1, 1, 0]),
            reducer.merge([np.concatenate([column, column]) for column in half], grouped([0, 1, 0, 1])),
            reducer.combine(half, half),
        ]
        for both in ways:
            assert reducer.finish(both).to_pylist() == [10, None]
            assert reducer.outside(both) == {1: str(2**63)}
        negative = partial(reducer, pa.array([-GREATEST]))
        assert reducer.outside(reducer.combine(negative, negative)) == {0: str(-2 * GREATEST)}

    def test_a_sum_that_left_int64_may_come_back(self) -> None:
        reducer: Any = bind(fl.sum("price"), pa.int64())
        away = partial(reducer, pa.array([GREATEST, GREATEST, 7]))
        back = reducer.combine(away, partial(reducer, pa.array([-GREATEST])))
        assert reducer.finish(back).to_pylist() == [None]  # GREATEST + 7
        assert reducer.finish(reducer.combine(back, partial(reducer, pa.array([-8])))).to_pylist() == [GREATEST - 1]

    def test_what_fits_costs_no_second_word(self) -> None:
        """The high words of sums in int64 are one zero that is kept once, on every way."""
        reducer: Any = bind(fl.sum("v"), pa.int64())
        sums = partial(reducer, pa.array([1, GREATEST - 5]), [0, 1])
        for same in (sums, reducer.merge(sums, grouped([0, 1])), reducer.combine(sums, reducer.identity(2))):
            assert same[1].strides == (0,)

    def test_a_uint64_above_int64_is_a_number_like_others(self) -> None:
        values = pa.array([2**63, 2**64 - 1], pa.uint64())
        reducer: Any = bind(fl.sum("v"), pa.uint64())
        assert reducer.outside(partial(reducer, values)) == {0: str(2**63 + 2**64 - 1)}
        assert reduced(fl.sum("v"), pa.array([1, GREATEST - 1], pa.uint64())) == [GREATEST]
        assert reduced(fl.avg("v"), values) == [float(3 * 2**62)]

    def test_narrow_integers_sum_beyond_their_own_width(self) -> None:
        assert reduced(fl.sum("v"), pa.array([127, 127], pa.int8())) == [254]

    def test_small_floats_are_added_as_float64(self) -> None:
        reducer: Any = bind(fl.sum("v"), pa.float16())
        assert reducer.output == pa.float64()
        assert reduced(fl.sum("v"), pa.array([2048.0, 1.0, 1.0], pa.float16())) == [2050.0]

    def test_infinities_of_both_signs_are_not_a_number_and_not_a_fault(self) -> None:
        reducer: Any = bind(fl.sum("v"), pa.float64())
        up, down = partial(reducer, pa.array([INF])), partial(reducer, pa.array([-INF]))
        assert math.isnan(reducer.finish(reducer.combine(up, down))[0].as_py())

    def test_durations_stay_durations(self) -> None:
        values = pa.array([timedelta(hours=1), timedelta(minutes=-20)], pa.duration("ms"))
        assert reduced(fl.sum("v"), values) == [timedelta(minutes=40)]
        assert bind(fl.sum("v"), values.type).output == pa.duration("ms")


class TestMeans:
    def test_half_a_unit_of_duration_is_rounded_away_from_zero(self) -> None:
        seconds = pa.duration("s")
        assert reduced(fl.avg("v"), pa.array([1, 2], pa.int64()).cast(seconds)) == [timedelta(seconds=2)]
        assert reduced(fl.avg("v"), pa.array([-1, -2], pa.int64()).cast(seconds)) == [timedelta(seconds=-2)]
        assert reduced(fl.avg("v"), pa.array([-1, 0, 0], pa.int64()).cast(seconds)) == [timedelta(0)]

    def test_decimals_get_four_more_places_and_halves_go_away_from_zero(self) -> None:
        values = pa.array([Decimal("0.01"), Decimal("0.02"), Decimal("0.02")], pa.decimal128(10, 2))
        assert reduced(fl.avg("v"), values) == [Decimal("0.016667")]
        thirtyseconds = pa.array([Decimal(-1)] + [Decimal(0)] * 31, pa.decimal128(3, 0))
        assert reduced(fl.avg("v"), thirtyseconds) == [Decimal("-0.0313")]  # -0.03125

    def test_integers_are_averaged_from_their_exact_sum(self) -> None:
        assert reduced(fl.avg("v"), pa.array([2**60, 1 - 2**60, 0, 0])) == [0.25]

    def test_a_mean_needs_no_sum_in_int64(self) -> None:
        """Nine times 2**60 is beyond int64, their mean is not; nor is that of the ends of int64, or of durations."""
        assert reduced(fl.avg("v"), pa.array([2**60] * 9)) == [2.0**60]
        assert reduced(fl.avg("v"), pa.array([GREATEST, GREATEST])) == [float(GREATEST)]
        assert reduced(fl.avg("v"), pa.array([-GREATEST - 1] * 3)) == [-(2.0**63)]
        long = pa.array([GREATEST - 2, GREATEST - 1, GREATEST - 1], pa.int64()).cast(pa.duration("us"))
        assert [mean.value for mean in finished(fl.avg("v"), long)] == [GREATEST - 1]

    def test_a_mean_is_rounded_once(self) -> None:
        """(2**54 + 1 + 2**54 + 2) / 2 = 2**54 + 1.5, nearest to 2**54; in two roundings it would be 2**54 + 4."""
        assert reduced(fl.avg("v"), pa.array([2**54 + 1, 2**54 + 2])) == [(2**55 + 3) / 2]
        assert reduced(fl.avg("v"), pa.array([2**54 + 2, 2**54 + 3])) == [2.0**54 + 4]


class TestDecimals:
    def test_a_sum_has_38_digits_and_the_same_scale(self) -> None:
        values = pa.array([Decimal("9" * 26 + ".99")] * 3, pa.decimal128(28, 2))
        assert bind(fl.sum("v"), values.type).output == pa.decimal128(38, 2)
        assert reduced(fl.sum("v"), values) == [Decimal("2" + "9" * 26 + ".97")]

    def test_any_scale_has_a_zero(self) -> None:
        for scale in (0, 20, 28):
            reducer: Any = bind(fl.sum("v"), pa.decimal128(28, scale))
            assert reducer.finish(reducer.identity(2)).to_pylist() == [None, None]
            assert reducer.combine(reducer.identity(1), reducer.identity(1))[0].to_pylist() == [Decimal(0)]

    @pytest.mark.parametrize(("scale", "most"), [(0, "9" * 38), (2, "9" * 36 + ".99"), (38, "-0." + "9" * 38)])
    def test_a_sum_beyond_38_digits_is_exact_in_every_step(self, scale: int, most: str) -> None:
        reducer: Any = bind(fl.sum("price"), pa.decimal128(38, scale))
        huge = partial(reducer, pa.array([Decimal(most)] * 2, pa.decimal128(38, scale)), [0, 1])
        with localcontext(prec=60):
            twice = str(2 * Decimal(most))
        for both in (reducer.merge(huge, grouped([0, 0])), reducer.combine(huge, huge)):
            assert reducer.finish(both)[0].as_py() is None
            assert reducer.outside(both)[0] == twice
        assert reducer.finish(huge).to_pylist() == [Decimal(most)] * 2

    def test_what_spark_infers_is_summed_and_averaged(self) -> None:
        """decimal(38, 18): twenty digits before the point stay, so a mean gets no more digits after it."""
        most = Decimal("9" * 20 + "." + "9" * 18)
        values = pa.array([most, most, Decimal(1)], pa.decimal128(38, 18))
        assert bind(fl.sum("v"), values.type).output == pa.decimal128(38, 18)
        assert bind(fl.avg("v"), values.type).output == pa.decimal128(38, 18)
        assert reduced(fl.avg("v"), values.slice(0, 2)) == [most]
        assert reduced(fl.sum("v"), values.slice(2)) == [Decimal(1)]

    def test_more_digits_than_38_are_refused_before_anything_is_added(self) -> None:
        with pytest.raises(InputError, match=r"Sum: `v` is decimal256\(39, 4\), .* Cast it to decimal128\(38, 4\)"):
            bind(fl.sum("v"), pa.decimal256(39, 4))

    def test_a_quantile_is_the_float_nearest_to_the_decimal(self) -> None:
        texts = ["597.93", "0.47", "123456789012345678.91", "1e-10"]
        for text, kind in zip(
            texts, [pa.decimal128(5, 2), pa.decimal256(5, 2), pa.decimal128(20, 2), None], strict=True
        ):
            values = pa.array([Decimal(text)], kind)
            assert computed(fl.median("v"), values) == [float(text)]
        sliced = pa.array([Decimal("1.1"), Decimal("2.2"), Decimal("3.3")], pa.decimal128(5, 1)).slice(1, 1)
        assert computed(fl.median("v"), sliced) == [2.2]


class TestOrder:
    def test_nan_is_greater_than_every_number(self) -> None:
        values = pa.array([NAN, 1.0, INF, NAN, NAN, None])
        codes = [0, 0, 0, 1, 1, 2]
        assert reduced(fl.min("v"), values, codes) == [1.0, pytest.approx(NAN, nan_ok=True), None]
        assert all(math.isnan(value) for value in reduced(fl.max("v"), values, codes)[:2])
        assert reduced(fl.max("v"), pa.array([-INF, -INF])) == [-INF]
        assert reduced(fl.min("v"), pa.array([INF, NAN])) == [INF]

    def test_the_edges_of_a_type_are_values_like_others(self) -> None:
        """The identity of min is the greatest integer; a pane that saw it is not an empty pane."""
        assert reduced(fl.min("v"), pa.array([GREATEST]), [1], 2) == [None, GREATEST]
        assert reduced(fl.max("v"), pa.array([0, 0], pa.uint64())) == [0]

    def test_the_zone_is_kept(self) -> None:
        kind = pa.timestamp("ns", "Europe/Zurich")
        for aggregate in (fl.min("v"), fl.max("v"), fl.first("v"), fl.last("v")):
            assert bind(aggregate, kind).output == kind

    def test_any_and_all_over_nothing_are_null(self) -> None:
        values = pa.array([True, False, None, True])
        codes = [0, 0, 1, 2]
        assert reduced(fl.any("v"), values, codes) == [True, None, True]
        assert reduced(fl.all("v"), values, codes) == [False, None, True]

    def test_text_is_ordered_by_code_points(self) -> None:
        values = pa.array(["b", "é", "z", "\U0001f600", "", None])
        assert reduced(fl.min("v"), values) == [""]
        assert reduced(fl.max("v"), values) == ["\U0001f600"]

    def test_a_string_of_ten_megabytes_goes_through_every_step(self) -> None:
        long = "x" * 10_000_000
        values = pa.array([long, "a", None])
        for aggregate, wanted in ((fl.max("v"), long), (fl.min("v"), "a"), (fl.first("v"), long), (fl.last("v"), "a")):
            reducer: Any = bind(aggregate, values.type)
            rows = partial(reducer, values)
            twice = [pa.concat_arrays([c, c]) if isinstance(c, pa.Array) else np.concatenate([c, c]) for c in rows]
            assert reducer.finish(reducer.merge(twice, grouped([0, 0]))).to_pylist() == [wanted]
            assert reducer.finish(reducer.combine(rows, reducer.identity(1))).to_pylist() == [wanted]
        assert computed(fl.list("v"), values) == [[long, "a"]]
        assert computed(fl.count_distinct("v"), values) == [2]


class TestEdges:
    def test_of_two_values_at_one_time_first_takes_the_least_and_last_the_greatest(self) -> None:
        values = pa.array(["m", "z", "a", "q", None])
        groups = grouped([0] * 5)
        times = np.array([5, 9, 5, 9, 1])
        for aggregate, wanted in ((fl.first("v"), "a"), (fl.last("v"), "z")):
            reducer: Any = bind(aggregate, values.type)
            assert reducer.finish(reducer.partial(values, times, groups, groups.sizes())).to_pylist() == [wanted]

    def test_nan_at_the_last_instant_is_the_last_value(self) -> None:
        values = pa.array([NAN, 1.0])
        groups = grouped([0, 0])
        times = np.zeros(2, np.int64)
        last: Any = bind(fl.last("v"), values.type)
        first: Any = bind(fl.first("v"), values.type)
        assert math.isnan(last.finish(last.partial(values, times, groups, groups.sizes()))[0].as_py())
        assert first.finish(first.partial(values, times, groups, groups.sizes())).to_pylist() == [1.0]


class TestMoments:
    def test_a_large_mean_costs_no_digits(self) -> None:
        """The variance of 4, 7, 13, 16 is 30, and stays so a thousand million higher up, however it is merged."""
        high = pa.array([1e9 + x for x in (4, 7, 13, 16)])
        assert reduced(fl.variance("v"), high) == [30.0]
        reducer: Any = bind(fl.variance("v"), pa.float64())
        singles = partial(reducer, high, [0, 1, 2, 3])
        assert reducer.finish(reducer.merge(singles, grouped([0] * 4)))[0].as_py() == pytest.approx(30.0, rel=1e-12)
        left, right = partial(reducer, high.slice(0, 1)), partial(reducer, high.slice(1, 3))
        assert reducer.finish(reducer.combine(left, right))[0].as_py() == pytest.approx(30.0, rel=1e-12)

    def test_a_sample_needs_two_values_and_a_population_one(self) -> None:
        values, codes = pa.array([1.0, 3.0, 5.0, None]), [0, 0, 1, 2]
        assert reduced(fl.variance("v"), values, codes) == [2.0, None, None]
        assert reduced(fl.variance("v", population=True), values, codes) == [1.0, 0.0, None]
        assert reduced(fl.stddev("v", population=True), values, codes) == [1.0, 0.0, None]

    def test_an_empty_part_moves_nothing_even_far_out(self) -> None:
        reducer: Any = bind(fl.variance("v", population=True), pa.float64())
        far = partial(reducer, pa.array([1e200]))
        both = [np.concatenate([a, b]) for a, b in zip(far, reducer.identity(1), strict=True)]
        assert reducer.finish(reducer.merge(both, grouped([0, 0]))).to_pylist() == [0.0]
        assert reducer.finish(reducer.combine(reducer.identity(1), far)).to_pylist() == [0.0]

    def test_whole_numbers_far_out_keep_every_digit(self) -> None:
        """2**60 + 0, 1, 2 have the variance 1, though no float64 tells them apart; however they are merged."""
        for base, kind in [
            (2**60, pa.int64()),
            (-(2**63), pa.int64()),
            (2**64 - 3, pa.uint64()),
            (10**17, pa.decimal128(18, 0)),
        ]:
            values = pa.array([base, base + 1, base + 2], pa.int64() if kind == pa.int64() else kind)
            assert reduced(fl.variance("v"), values) == [1.0]
            assert reduced(fl.stddev("v"), values) == [1.0]
            reducer: Any = bind(fl.variance("v"), kind)
            singles = partial(reducer, values, [0, 1, 2])
            assert reducer.finish(reducer.merge(singles, grouped([0] * 3))).to_pylist() == [1.0]
            left, right = partial(reducer, values.slice(0, 1)), partial(reducer, values.slice(1, 2))
            assert reducer.finish(reducer.combine(left, right)).to_pylist() == [1.0]

    def test_whole_numbers_at_both_ends_are_far_apart(self) -> None:
        """The ends of int64 are 2**63 - 0.5 from their mean; that squared is the variance, to a float 2**126."""
        assert reduced(fl.variance("v", population=True), pa.array([-GREATEST - 1, GREATEST])) == [(2.0**63) ** 2]
        ends = pa.array([0, 2**64 - 1], pa.uint64())
        assert reduced(fl.variance("v", population=True), ends) == [(2.0**63) ** 2]

    def test_infinity_has_no_variance(self) -> None:
        assert math.isnan(reduced(fl.variance("v"), pa.array([1.0, INF]))[0])


class TestMessages:
    def test_groups_without_rows_give_empty_lists_zeros_and_nulls(self) -> None:
        values = pa.array([7.0, None])
        assert computed(fl.list("v"), values, codes=[1, 2], count=4) == [[], [7.0], [], []]
        assert computed(fl.count_distinct("v"), values, codes=[1, 2], count=4) == [0, 1, 0, 0]
        assert computed(fl.median("v"), values, codes=[1, 2], count=4) == [None, 7.0, None, None]

    def test_structs_are_listed_field_by_field(self) -> None:
        values = pa.array([{"a": 2, "b": "x"}, {"a": 1, "b": "y"}, None, {"a": 1, "b": "x"}])
        listed = computed(fl.list("v"), values, times=[0, 0, 0, 0])
        assert listed == [[{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}]]

    def test_what_has_no_order_is_listed_as_it_came(self) -> None:
        values = pa.array([[2], [1], None, [0]])
        assert computed(fl.list("v"), values, times=[5, 5, 5, 1]) == [[[0], [2], [1]]]
        assert computed(fl.list("v", by_arrival=True), values, times=[5, 5, 5, 1]) == [[[2], [1], [0]]]
        assert computed(fl.list("v"), pa.nulls(3)) == [[]]

    def test_more_groups_than_sixteen_bits_count_are_kept_apart(self) -> None:
        """Rows are gathered sixteen bits of the group at a time, so 65,536 and 0 must not meet."""
        many = 70_000
        codes = np.arange(many)[::-1].copy()
        reducer: Any = bind(fl.list("v"), pa.int64())
        found = reducer.compute(pa.array(codes), np.zeros(many, np.int64), np.arange(many), Groups(codes, many))
        assert found.values.to_pylist() == list(range(many))

    def test_a_quantile_is_linear_between_two_values(self) -> None:
        values = pa.array([40, 10, 20, 30])
        assert computed(fl.quantile("v", 0.0), values) == [10.0]
        assert computed(fl.quantile("v", 0.25), values) == [17.5]
        assert computed(fl.median("v"), values) == [25.0]
        assert computed(fl.quantile("v", 1.0), values) == [40.0]

    def test_a_quantile_may_meet_nan_and_infinity(self) -> None:
        assert computed(fl.median("v"), pa.array([NAN, 1.0, 2.0])) == [2.0]
        assert math.isnan(computed(fl.quantile("v", 1.0), pa.array([NAN, 1.0]))[0])
        assert computed(fl.median("v"), pa.array([INF, INF])) == [INF]
        assert computed(fl.median("v"), pa.array([-INF, 0.0])) == [-INF]
        assert computed(fl.median("v"), pa.array([-1.6e308, 1.6e308])) == [0.0]

    def test_nan_is_one_value_and_zero_has_no_sign(self) -> None:
        other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
        assert computed(fl.count_distinct("v"), pa.array([NAN, other_nan, 0.0, -0.0, 1.0])) == [3]


EVERY = [
    (fl.count("v"), pa.string()),
    (fl.sum("v"), pa.int32()),
    (fl.sum("v"), pa.float64()),
    (fl.sum("v"), pa.decimal128(10, 2)),
    (fl.avg("v"), pa.int64()),
    (fl.avg("v"), pa.decimal128(10, 2)),
    (fl.avg("v"), pa.duration("us")),
    (fl.min("v"), pa.string()),
    (fl.max("v"), pa.float32()),
    (fl.first("v"), pa.binary()),
    (fl.last("v"), pa.date32()),
    (fl.any("v"), pa.bool_()),
    (fl.all("v"), pa.bool_()),
    (fl.variance("v"), pa.float64()),
    (fl.stddev("v"), pa.decimal128(10, 2)),
    (Seen("v"), pa.string()),
    (SquaresAtOnce("v"), pa.int64()),
]


@pytest.mark.parametrize(("aggregate", "kind"), EVERY, ids=str)
@pytest.mark.parametrize("count", [0, 2])
def test_nothing_at_all_is_reduced_to_nothing(aggregate: fl.Aggregate, kind: pa.DataType, count: int) -> None:
    reducer: Any = bind(aggregate, kind)
    assert isinstance(reducer, Reducer)
    assert not isinstance(reducer, MessageReducer)
    empty = partial(reducer, pa.array([], kind), [], count)
    for partials in (empty, reducer.identity(count), reducer.combine(empty, reducer.identity(count))):
        assert reducer.finish(partials).equals(reducer.finish(empty))
        assert len(reducer.finish(reducer.merge(reducer.identity(0), grouped([], count)))) == count


@pytest.mark.parametrize(
    "aggregate", [fl.list("v"), fl.list("v", by_arrival=True), fl.median("v"), fl.count_distinct("v")]
)
@pytest.mark.parametrize("count", [0, 2])
def test_no_messages_at_all_are_computed(aggregate: fl.Aggregate, count: int) -> None:
    assert isinstance(bind(aggregate, pa.int64()), MessageReducer)
    assert len(computed(aggregate, pa.array([], pa.int64()), codes=[], count=count)) == count


@pytest.mark.parametrize("aggregate", [fl.sum("v"), fl.min("v"), fl.first("v"), fl.avg("v"), fl.variance("v")])
def test_a_slice_of_an_array_is_read_where_it_lies(aggregate: fl.Aggregate) -> None:
    values = pa.array([9, None, 1, None, 3, 9]).slice(1, 4)
    assert reduced(aggregate, values) == reduced(aggregate, pa.array([None, 1, None, 3]))


class TestEncodings:
    def test_results_have_the_plain_type(self) -> None:
        words = pa.array(["b", "a", None])
        for values in (words.dictionary_encode(), words.cast(pa.string_view())):
            assert bind(fl.max("v"), values.type).output == pa.string()
            assert reduced(fl.max("v"), values) == ["b"]
            assert reduced(fl.count("v"), values) == [2]
            assert computed(fl.list("v"), values) == [["b", "a"]]
        narrow = pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(3, 1))
        assert reduced(fl.sum("v"), narrow) == [Decimal("4.0")]
        assert reduced(fl.max("v"), narrow) == [Decimal("2.5")]

    def test_a_null_in_a_dictionary_is_a_null(self) -> None:
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", None]))
        assert reduced(fl.count("v"), values) == [1]


STRUCT = pa.struct([("a", pa.int64())])


@pytest.mark.parametrize(
    ("aggregate", "kind", "message"),
    [
        (fl.sum("v"), pa.bool_(), "Sum: `v` is bool, which is not a number. Use count or any, or cast it to int64"),
        (
            fl.sum("v"),
            pa.string(),
            "Sum: `v` is string, which is not a number. Cast it to int64, float64 or decimal128",
        ),
        (fl.sum("v"), pa.timestamp("us"), "Sum: `v` is timestamp[us], which is not a number. Cast it to int64, or use"),
        (fl.avg("v"), pa.date32(), "Avg: `v` is date32[day], which is not a number. Cast it to int64, or use"),
        (
            fl.avg("v"),
            pa.decimal256(40, 2),
            "Avg: `v` is decimal256(40, 2), and a sum has the 38 digits of decimal128. Cast it to decimal128(38, 2)",
        ),
        (fl.variance("v"), pa.duration("s"), "Variance: `v` is duration[s], which is not a number. Cast it to int64"),
        (fl.stddev("v"), pa.bool_(), "StdDev: `v` is bool, which is not a number."),
        (fl.median("v"), pa.string(), "Quantile: `v` is string, which is not a number."),
        (fl.min("v"), STRUCT, "Min: `v` is struct<a: int64>, whose values have no order. Take one of its fields"),
        (fl.last("v"), pa.list_(pa.int8()), "Last: `v` is list<item: int8>, whose values have no order."),
        (fl.any("v"), pa.int64(), "AnyTrue: `v` is int64, which is neither true nor false. Make it a bool first"),
        (fl.all("v"), pa.string(), "AllTrue: `v` is string, which is neither true nor false."),
        (
            fl.count_distinct("v"),
            STRUCT,
            "CountDistinct: `v` is struct<a: int64>, whose values Arrow cannot tell apart.",
        ),
        (
            fl.list("v"),
            pa.struct([("a", pa.string_view())]),
            "Listed: `v` is struct<a: string_view>, which Arrow cannot",
        ),
        (fl.count("v"), pa.run_end_encoded(pa.int32(), pa.int64()), "Count: `v` is run_end_encoded<"),
        (fl.sum("v"), None, "Sum: `v` has no type, because no column is called so"),
        (fl.Aggregate("v"), pa.int64(), "Aggregate: nothing computes this aggregate on `v`."),
    ],
    ids=str,
)
def test_what_cannot_be_computed_is_refused_with_a_remedy(
    aggregate: fl.Aggregate, kind: pa.DataType | None, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        bind(aggregate, kind)


class TestTop:
    def test_gives_the_greatest_first_and_no_nulls(self) -> None:
        assert computed(fl.top("v", 2), pa.array([3, None, 9, 4])) == [[9, 4]]

    def test_counts_nan_as_the_greatest(self) -> None:
        (found,) = computed(fl.top("v", 2), pa.array([3.0, NAN, 9.0]))
        assert math.isnan(found[0])
        assert found[1] == 9.0

    def test_orders_structs_by_a_field_and_then_by_the_others(self) -> None:
        rows = [{"k": "b", "n": 2}, {"k": "a", "n": 2}, {"k": "c", "n": None}, {"k": "d", "n": 5}]
        assert computed(fl.top("v", 4, by="n"), pa.array(rows)) == [[rows[3], rows[1], rows[0], rows[2]]]

    def test_names_the_fields_there_are(self) -> None:
        with pytest.raises(InputError, match="Go by one of k, n"):
            computed(fl.top("v", 1, by="m"), pa.array([{"k": "b", "n": 2}]))

    @pytest.mark.parametrize("spread", [3, 40, 2**40], ids=["many are equal", "close together", "far apart"])
    @pytest.mark.parametrize("kind", [pa.int64(), pa.float64()], ids=str)
    def test_gives_the_same_whether_all_values_are_sorted_or_the_candidates(
        self, spread: int, kind: pa.DataType
    ) -> None:
        """300 rows of 3 groups, of which one is empty: their numbers go up and down, and names order equal ones."""
        numbers = [(place * 7919) % 101 % spread * (spread // 3) - spread for place in range(300)]
        rows = [{"n": number, "name": f"r{place % 50}"} for place, number in enumerate(numbers)]
        values = pa.array(rows, pa.struct([("n", kind), ("name", pa.string())]))
        codes = [0 if place % 3 else 2 for place in range(300)]
        with rerouted(sorted_whole=0):
            chosen = computed(fl.top("v", 4, by="n"), values, codes=codes, count=3)
        assert chosen == computed(fl.top("v", 4, by="n"), values, codes=codes, count=3)
        best = sorted(
            (row for row, code in zip(rows, codes, strict=True) if code == 2), key=lambda r: (-r["n"], r["name"])
        )
        assert chosen[2] == best[:4]
        assert chosen[1] == []
