"""Accumulations, told as stories: ties, nulls, what is empty, what is refused and in which words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.errors import EngineError, InputError, SpecError
from fanlight.kernels.aggregates import MessageReducer, Reducer, bind
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.model import aggregates as fl

from .reducing import NAN, computed, grouped, partial, reduced

POINT = pa.struct([pa.field("id", pa.int64()), pa.field("name", pa.string())])


def structs(**columns: list[Any]) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(column) for column in columns.values()], names=list(columns))


class TestOrder:
    def test_structs_are_sorted_by_their_fields_and_back(self) -> None:
        rows = [{"id": n, "name": name} for n, name in [(5, "user1"), (15, "user32"), (5, "user11"), (2, "user12")]]
        up = [rows[3], rows[0], rows[2], rows[1]]
        assert computed(fl.sorted("v"), pa.array(rows, POINT)) == [up]
        assert computed(fl.sorted("v", descending=True), pa.array(rows, POINT)) == [up[::-1]]

    def test_nan_is_the_greatest_and_nulls_are_left_out(self) -> None:
        assert str(computed(fl.sorted("v"), pa.array([NAN, 1.0, None, -1.0]))) == "[[-1.0, 1.0, nan]]"
        assert str(computed(fl.sorted("v", descending=True), pa.array([1.0, NAN, None]))) == "[[nan, 1.0]]"

    def test_duplicates_are_removed_nan_and_zero_too(self) -> None:
        values = pa.array([NAN, 0.0, NAN, -0.0, 3.0, None])
        assert str(reduced(fl.distinct("v"), values)) == "[[0.0, 3.0, nan]]"

    def test_of_equally_frequent_values_the_least_is_the_mode(self) -> None:
        assert reduced(fl.mode("v"), pa.array(["b", "a", "b", "a", "c", None, None, None])) == ["a"]


class TestTexts:
    def test_texts_are_joined_by_time_then_text(self) -> None:
        values = pa.array(["c", "a", None, "b"])
        assert computed(fl.join_text("v", "-"), values, times=[1, 0, 0, 0]) == ["a-b-c"]

    def test_no_text_is_null_and_an_empty_one_is_not(self) -> None:
        assert computed(fl.join_text("v"), pa.array(["", None], pa.string()), codes=[0, 1]) == ["", None]


class TestPairs:
    def test_a_weighted_mean_needs_weight(self) -> None:
        values = structs(v=[1.0, 4.0, 9.0, None], w=[1, 3, 0, 7])
        assert reduced(fl.weighted_avg("v", "w"), values) == [3.25]
        assert reduced(fl.weighted_avg("v", "w"), values, [0, 0, 1, 1]) == [3.25, None]

    def test_of_several_records_at_the_end_the_value_decides(self) -> None:
        values = structs(v=["b", "a", "c", "d"], by=[1, 1, 5, None])
        assert reduced(fl.arg_min("v", by="by"), values) == ["a"]
        assert reduced(fl.arg_max("v", by="by"), values) == ["c"]
        assert reduced(fl.arg_max("v", by="by"), structs(v=["a", "b"], by=[NAN, NAN])) == ["b"]

    def test_a_record_without_a_value_cannot_be_the_greatest(self) -> None:
        assert reduced(fl.arg_max("v", by="by"), structs(v=["a", None], by=[1, 2])) == ["a"]

    def test_the_last_value_of_a_key_counts(self) -> None:
        """`a` had the greatest value, and then a lesser one."""
        values = structs(k=["a", "b", "a", "c", None], v=[9, 5, 1, 5, 99])
        assert reduced(fl.top_by_key("k", "v", 2), values) == [[{"k": "b", "v": 5}, {"k": "c", "v": 5}]]

    def test_a_column_may_stand_for_both(self) -> None:
        values = pa.StructArray.from_arrays([pa.array([1, 3])] * 2, fields=[pa.field("v", pa.int64())] * 2)
        assert reduced(fl.weighted_avg("v", "v"), values) == [2.5]


class TestHistograms:
    def test_every_value_is_counted_once(self) -> None:
        values = pa.array([-1.0, 0.0, 9.99, 10.0, 25.0, NAN, None])
        assert reduced(fl.histogram("v", [0, 10]), values) == [[1, 2, 3]]
        assert reduced(fl.histogram("v", [0, 10]), pa.array([], pa.float64())) == [[0, 0, 0]]

    def test_large_integers_do_not_become_floats(self) -> None:
        assert reduced(fl.histogram("v", [2.0**53 + 2]), pa.array([2**53 + 1, 2**53 + 2])) == [[1, 1]]
        assert reduced(fl.histogram("v", [-1, 0.5, 300]), pa.array([0, 1, 255], pa.uint8())) == [[0, 1, 2, 0]]

    def test_a_decimal_on_an_edge_is_above_it(self) -> None:
        assert reduced(fl.histogram("v", [0.1]), pa.array([Decimal("0.1"), Decimal("0.09")])) == [[1, 1]]


class TestUserFunctions:
    def test_values_come_by_time_then_as_they_arrived(self) -> None:
        spell = fl.fold("v", "", lambda state, value: state + value, pa.string())
        assert computed(spell, pa.array(["c", "b", None, "a"]), times=[1, 0, 0, 0]) == ["bac"]
        assert computed(fl.reduce("v", lambda a, b: a + b), pa.array(["c", "b", "a"]), times=[1, 0, 0]) == ["bac"]

    def test_over_nothing_a_fold_is_its_start_and_a_reduction_is_null(self) -> None:
        nothing = pa.array([None], pa.int64())
        assert computed(fl.fold("v", 7, lambda state, value: state + value, pa.int64()), nothing) == [7]
        assert computed(fl.reduce("v", lambda a, b: a + b), nothing) == [None]

    def test_a_start_that_is_changed_in_place_is_each_groups_own(self) -> None:
        def listed(state: list[int], value: int) -> list[int]:
            state.append(value)
            return state

        both = fl.fold("v", [], listed, pa.list_(pa.int64()))
        assert computed(both, pa.array([1, 2, 3]), codes=[0, 1, 0]) == [[1, 3], [2]]
        summed = fl.fold("v", [], listed, pa.list_(pa.int64()), merge=lambda a, b: a + b)
        assert reduced(summed, pa.array([1, 2, 3]), [0, 1, 0]) == [[1, 3], [2]]

    def test_what_raises_and_what_does_not_fit_is_told(self) -> None:
        with pytest.raises(EngineError, match=r"UserReduce: `function` on `v` raised TypeError"):
            computed(fl.reduce("v", lambda a, b: a + b), pa.array([{"a": 1}] * 2))
        with pytest.raises(
            EngineError, match=r"UserFold: `function` on `v` returned .*, which does not fit `output_type` \(int64\)"
        ):
            computed(fl.fold("v", 0, lambda state, value: "much", pa.int64()), pa.array([1]))

    def test_records_are_kept_only_where_order_counts(self) -> None:
        assert isinstance(bind(fl.fold("v", 0, max, pa.int64()), pa.int64()), MessageReducer)
        assert isinstance(bind(fl.fold("v", 0, max, pa.int64(), merge=max), pa.int64()), Reducer)


class TestComposites:
    def test_a_composite_of_records_reads_no_column(self) -> None:
        reducer: Any = bind(fl.composite(n=fl.count()), None)
        groups = grouped([0, 0, 1])
        partials = reducer.partial(None, np.zeros(3, np.int64), groups, groups.sizes())
        assert reducer.finish(partials).to_pylist() == [{"n": 2}, {"n": 1}]

    def test_one_part_that_needs_messages_makes_the_whole_need_them(self) -> None:
        assert not fl.composite(n=fl.count(), least=fl.min("v")).needs_messages
        both = fl.composite(n=fl.count(), values=fl.list("v"))
        assert both.needs_messages
        assert computed(both, pa.array([2, None, 1])) == [{"n": 3, "values": [2, 1]}]

    def test_columns_are_read_once(self) -> None:
        parts = fl.composite(a=fl.arg_max("k", by="v"), b=fl.sum("v"), c=fl.top_by_key("k", "w", 2))
        assert parts.columns == ("k", "v", "w")


class TestGathered:
    def test_arrivals_order_what_was_merged_out_of_order(self) -> None:
        """Two sessions meet: the later one holds what came first."""
        inner: Any = bind(fl.list("v", by_arrival=True), pa.string())
        reducer = GatheredLists(inner, pa.string())
        one = reducer.numbered(pa.array(["b", "d"]), np.array([0, 0]), np.array([1, 3]), grouped([0, 0]))
        other = reducer.numbered(pa.array(["a", "c"]), np.array([9, 9]), np.array([0, 2]), grouped([0, 0]))
        assert reducer.finish(reducer.combine(one, other)).to_pylist() == [["a", "b", "c", "d"]]

    def test_nulls_are_kept_for_the_one_who_reads_them(self) -> None:
        inner: Any = bind(fl.composite(n=fl.count(), values=fl.list("v")), pa.int64())
        reducer = GatheredLists(inner, pa.int64())
        partials = partial(reducer, pa.array([None, 1]))
        assert reducer.finish(partials).to_pylist() == [{"n": 2, "values": [1]}]


@pytest.mark.parametrize(
    ("aggregate", "kind", "told"),
    [
        (fl.sorted("v"), pa.list_(pa.int64()), r"Sorted: `v` is list<.*>, whose values have no order. Take one of its"),
        (fl.distinct("v"), pa.struct([("a", POINT)]), r"Distinct: `v` is struct.*a struct that contains structs"),
        (fl.mode("v"), pa.map_(pa.string(), pa.int64()), r"Mode: `v` is map.*no order"),
        (fl.join_text("v"), pa.int64(), r"JoinedText: `v` is int64, which is not text. Cast it to string first"),
        (fl.histogram("v", [1]), pa.string(), r"Histogram: `v` is string, which is not a number"),
        (fl.approx_quantile("v", 0.5), pa.bool_(), r"ApproxQuantile: `v` is bool, which is not a number"),
        (fl.approx_count_distinct("v"), POINT, r"ApproxCountDistinct: `v` is struct.*whose values have no hash"),
        (
            fl.weighted_avg("v", "w"),
            pa.struct([("v", pa.int64()), ("w", pa.string())]),
            r"WeightedAvg: `w` is string, which is not a number",
        ),
        (
            fl.arg_max("v", by="w"),
            pa.struct([("v", pa.int64()), ("w", POINT)]),
            r"ArgMax: `w` is struct.*whose values have no order",
        ),
        (
            fl.composite(n=fl.sum("v")),
            pa.string(),
            r"Sum: `v` is string, which is not a number",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(aggregate: fl.Aggregate, kind: pa.DataType, told: str) -> None:
    with pytest.raises(InputError, match=told):
        bind(aggregate, kind)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: fl.ArgMin("v"), r"ArgMin: needs 2 columns to work on"),
        (lambda: fl.Sorted(), r"Sorted: needs a column to work on"),
        (lambda: fl.top_by_key("k", "v", 0), r"TopByKey: `n` \(0\) must be a whole number from 1 up"),
        (lambda: fl.top_by_key("k", "k", 1), r"key and value are both `k`"),
        (lambda: fl.heavy_hitters("v", 0), r"HeavyHitters: `n` \(0\) must be a whole number from 1 up"),
        (lambda: fl.approx_quantile("v", 2), r"ApproxQuantile: `q` \(2\) must be from 0 to 1"),
        (lambda: fl.histogram("v", []), r"Histogram: `edges` \(\(\)\) must be finite numbers"),
        (lambda: fl.histogram("v", [2, 1]), r"Histogram: `edges` \(\(2, 1\)\)"),
        (lambda: fl.histogram("v", [NAN]), r"Histogram: `edges`"),
        (lambda: fl.composite(), r"Composite: `parts` \(none\) must be at least one"),
        (lambda: fl.Composite("v", (("n", fl.count()),)), r"Composite: `column` \('v'\) belongs to its parts"),
        (lambda: fl.fold("v", 0, 7, pa.int64()), r"UserFold: `function` \(7\) cannot be called"),  # type: ignore[arg-type]
        (lambda: fl.fold("v", 0, max, None), r"UserFold: `output_type` is missing"),
        (lambda: fl.UserReduce("v"), r"UserReduce: `function` \(None\) cannot be called"),
    ],
)
def test_what_makes_no_sense_cannot_be_declared(make: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        make()
