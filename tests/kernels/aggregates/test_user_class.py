"""A user's own aggregate, row by row and at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.errors import EngineError, SpecError
from fanlight.kernels.aggregates import bind
from fanlight.kernels.aggregates.user_code import UserCode
from fanlight.model import aggregates as fl

from .reducing import Seen, Squares, SquaresAtOnce, computed, grouped, partial, reduced


def once_round(reducer: Any) -> None:
    """Every method of a user's aggregate, once."""
    rows = partial(reducer, pa.array([1]))
    reducer.finish(reducer.combine(rows, rows))


class TestUserAggregates:
    @pytest.mark.parametrize("kind", [Squares, SquaresAtOnce])
    def test_row_by_row_and_at_once_agree(self, kind: type[Squares]) -> None:
        assert reduced(kind("v"), pa.array([1, 2, None, 3]), [0, 0, 1, 3]) == [5.0, 0.0, 0.0, 9.0]

    def test_the_laws_hold_for_states(self) -> None:
        reducer: Any = bind(Seen("v"), pa.string())
        left, right = partial(reducer, pa.array(["b", "d"]), [0, 1]), partial(reducer, pa.array(["a", None]), [0, 1])
        merged = reducer.merge([pa.concat_arrays([left[0], right[0]])], grouped([0, 1, 0, 1], 3))
        assert reducer.finish(merged).to_pylist() == ["a,b", "d", None]
        assert reducer.combine(left, right)[0].to_pylist() == merged[0].to_pylist()[:2]
        assert reducer.combine(left, reducer.identity(2))[0].to_pylist() == left[0].to_pylist()

    def test_states_may_come_back_from_storage_as_numpy(self) -> None:
        reducer: Any = bind(Squares("v"), pa.int64())
        stored = [np.array([4, 5])]
        assert reducer.merge(stored, grouped([0, 0]))[0].to_pylist() == [9]
        assert reducer.finish(stored).to_pylist() == [4.0, 5.0]

    @pytest.mark.parametrize("method", ["zero", "add", "merge", "finish"])
    def test_a_method_that_raises_is_named(self, method: str) -> None:
        def fail(*_: Any) -> Any:
            raise KeyError("lost")

        reducer: Any = bind(type("Broken", (Squares,), {method: fail})("v"), pa.int64())
        with pytest.raises(EngineError, match=rf"Broken: `{method}` on `v` raised KeyError: 'lost'") as caught:
            once_round(reducer)
        assert isinstance(caught.value.__cause__, KeyError)

    def test_a_batch_method_that_raises_is_named(self) -> None:
        broken = type("Broken", (Squares,), {"add_batch": lambda self, *_: 1 / 0})
        with pytest.raises(EngineError, match="Broken: `add_batch` on `v` raised ZeroDivisionError"):
            reduced(broken("v"), pa.array([1]))

    def test_a_state_of_another_type_is_refused(self) -> None:
        odd = type("Odd", (Squares,), {"add": lambda self, state, value: "many"})
        with pytest.raises(EngineError, match=r"Odd: `add` on `v` returned 'many', .* not fit `state_type` \(int64\)"):
            reduced(odd("v"), pa.array([1]))
        short = type("Short", (Squares,), {"add_batch": lambda self, states, values, groups, count: []})
        with pytest.raises(EngineError, match="Short: `add_batch` returned 0 states for 1 groups"):
            reduced(short("v"), pa.array([1]))

    def test_a_missing_method_says_so_itself(self) -> None:
        bare = type("Bare", (fl.UserAggregate,), {"state_type": pa.int64(), "output_type": pa.int64()})
        with pytest.raises(SpecError, match="Bare: `zero` is missing"):
            reduced(bare("v"), pa.array([1]))


class Sums(fl.UserAggregate):
    """A sum in whatever Python makes of it; `state_type` and `output_type` are told by the test."""

    def zero(self) -> Any:
        return 0

    def add(self, state: Any, value: Any) -> Any:
        return state + value

    def merge(self, left: Any, right: Any) -> Any:
        return left + right

    def finish(self, state: Any) -> Any:
        return state


def sums(state: pa.DataType, output: pa.DataType) -> Any:
    return type("Sums", (Sums,), {"state_type": state, "output_type": output})("v")


class TestValuesThatDoNotFitExactly:
    def test_a_fraction_in_a_whole_state_is_named(self) -> None:
        """0.6 + 0.6 is 1.2, and would be 1 in int64; with a bundle each, ten times 0.6 would be 0."""
        with pytest.raises(EngineError, match=r"`add` on `v` returned 1.2, which `state_type` \(int64\) cannot hold"):
            reduced(sums(pa.int64(), pa.float64()), pa.array([0.6, 0.6]))
        with pytest.raises(EngineError, match=r"`finish` on `v` returned 1.2, which `output_type` \(int64\) cannot"):
            reduced(sums(pa.float64(), pa.int64()), pa.array([0.6, 0.6]))

    def test_the_remedy_works(self) -> None:
        assert reduced(sums(pa.float64(), pa.float64()), pa.array([0.6, 0.6])) == [1.2]

    def test_folds_and_reductions_are_held_to_their_types_too(self) -> None:
        half = fl.fold("v", 0, lambda state, value: state + value / 2, pa.int64())
        with pytest.raises(EngineError, match=r"UserFold: `function` on `v` returned 0.5, which `output_type`"):
            computed(half, pa.array([1]))
        mean = fl.reduce("v", lambda left, right: (left + right) / 2)
        with pytest.raises(EngineError, match=r"UserReduce: .* 1.5, which `column` \(int64\) .* cast `v` first"):
            computed(mean, pa.array([1, 2]))
        assert computed(mean, pa.array([1.0, 2.0])) == [1.5]

    @pytest.mark.parametrize(
        ("value", "kind", "fits"),
        [
            (1.0, pa.int64(), True),
            (Decimal("1.5"), pa.int64(), False),
            (2**63, pa.int64(), False),
            ([1, 2.5], pa.list_(pa.int64()), False),
            ((1, 2), pa.list_(pa.int64()), True),
            ({"n": 1, "sum": 0.5}, pa.struct([("n", pa.int64()), ("sum", pa.float64())]), True),
            ({"n": 1, "sum": 0.5}, pa.struct([("n", pa.int64()), ("sum", pa.int64())]), False),
            ({"n": 1, "sum": 0.5}, pa.struct([("n", pa.int64())]), False),
            ({"a": 1.5}, pa.map_(pa.string(), pa.int64()), False),
            ({"a": 1}, pa.map_(pa.string(), pa.int64()), True),
            (0.1, pa.float32(), True),
            (1e300, pa.float32(), False),
            (float("nan"), pa.float32(), True),
            (2**53 + 1, pa.float64(), False),
            (datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC), pa.timestamp("s"), False),
            (datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC), pa.timestamp("us", "Asia/Tokyo"), True),
            (datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC), pa.timestamp("us"), True),
            (datetime(2026, 3, 1, 12, tzinfo=UTC), pa.date32(), False),
            (datetime(2026, 3, 1, tzinfo=UTC), pa.date32(), True),
            (timedelta(microseconds=5), pa.duration("ms"), False),
            (Decimal("1.25"), pa.decimal128(5, 1), False),
            ("text", pa.binary(), True),
            (np.float64(2.0), pa.int32(), True),
            (np.array([1.5]), pa.list_(pa.int8()), False),
        ],
        ids=str,
    )
    def test_of_every_kind(self, value: Any, kind: pa.DataType, fits: bool) -> None:
        code = UserCode("Own", "v")
        if fits:
            assert len(code.fitted([None, value], kind, "state_type", "add")) == 2
        else:
            with pytest.raises(EngineError, match=r"Own: `add` on `v` returned .*, which .*`state_type`.* declare"):
                code.fitted([None, value], kind, "state_type", "add")

    def test_columns_are_held_to_it_like_values(self) -> None:
        code = UserCode("Own", "v")
        for column in (np.array([1.0, 1.2]), pa.array([1.0, 1.2]), np.array([1, 1.2], object)):
            with pytest.raises(EngineError, match=r"Own: `add_batch` .* 1.2"):
                code.fitted(column, pa.int64(), "state_type", "add_batch")
        assert code.fitted(np.array([1.0, 2.0]), pa.int64(), "state_type", "add_batch").to_pylist() == [1, 2]
        with pytest.raises(EngineError, match=r"1e\+300, which `state_type` \(float\) cannot hold"):
            code.fitted(np.array([1e300]), pa.float32(), "state_type", "add_batch")
