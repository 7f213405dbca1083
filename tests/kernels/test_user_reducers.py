"""A user's own aggregate, row by row and at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.errors import EngineError, SpecError
from fanlight.kernels.reducers import bind
from fanlight.model import aggregates as fl

from .reducing import Seen, Squares, SquaresAtOnce, grouped, partial, reduced


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
        with pytest.raises(EngineError, match=r"Odd: `add` returned what does not fit `state_type` \(int64\)"):
            reduced(odd("v"), pa.array([1]))
        short = type("Short", (Squares,), {"add_batch": lambda self, states, values, groups, count: []})
        with pytest.raises(EngineError, match="Short: `add_batch` returned 0 states for 1 groups"):
            reduced(short("v"), pa.array([1]))

    def test_a_missing_method_says_so_itself(self) -> None:
        bare = type("Bare", (fl.UserAggregate,), {"state_type": pa.int64(), "output_type": pa.int64()})
        with pytest.raises(SpecError, match="Bare: `zero` is missing"):
            reduced(bare("v"), pa.array([1]))
