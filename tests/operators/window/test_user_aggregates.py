"""Aggregates of one's own: four methods and two Arrow types, wherever a built-in aggregate may stand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.kernels.grouping.groups import Ints

S = 1_000_000


class GeometricMean(fl.UserAggregate):
    """The n-th root of the product, row by row; the state is a struct of how many and the sum of logarithms."""

    state_type = pa.struct([pa.field("n", pa.int64()), pa.field("logs", pa.float64())])
    output_type = pa.float64()

    def zero(self) -> dict[str, Any]:
        return {"n": 0, "logs": 0.0}

    def add(self, state: dict[str, Any], value: float) -> dict[str, Any]:
        return {"n": state["n"] + 1, "logs": state["logs"] + math.log(value)}

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {"n": left["n"] + right["n"], "logs": left["logs"] + right["logs"]}

    def finish(self, state: dict[str, Any]) -> float | None:
        return round(math.exp(state["logs"] / state["n"]), 9) if state["n"] else None


class Total(fl.UserAggregate):
    """A sum, whole bundles at a time."""

    state_type = pa.int64()
    output_type = pa.int64()

    def zero(self) -> int:
        return 0

    def add_batch(self, states: pa.Array, values: pa.Array, groups: Ints, count: int) -> Any:
        assert len(states) == count
        return states.to_numpy() + np.bincount(groups, values.to_numpy(), count).astype(np.int64)

    def merge(self, left: int, right: int) -> int:
        return left + right

    def finish(self, state: int) -> int:
        return state


class Longest(fl.UserAggregate):
    """The longest text, the first by alphabet of several. Nothing seen is None, and the state is kept as it is."""

    state_type = pa.string()
    output_type = pa.string()

    def zero(self) -> str | None:
        return None

    def add(self, state: str | None, value: str) -> str:
        return value if state is None else min((state, value), key=lambda text: (-len(text), text))

    def merge(self, left: str | None, right: str | None) -> str | None:
        return left if right is None else self.add(left, right)

    def finish(self, state: str | None) -> str | None:
        return state


@dataclass(frozen=True)
class AtLeast(fl.UserAggregate):
    """How many values reach a limit: an aggregate with a parameter."""

    limit: int = 0
    state_type = pa.int64()
    output_type = pa.int64()

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + (value >= self.limit)

    def merge(self, left: int, right: int) -> int:
        return left + right

    def finish(self, state: int) -> int:
        return state


class Least(fl.UserAggregate):
    """A minimum whose state is a number that may be missing."""

    state_type = pa.int64()
    output_type = pa.int64()

    def zero(self) -> int | None:
        return None

    def add(self, state: int | None, value: int) -> int:
        return value if state is None else min(state, value)

    def merge(self, left: int | None, right: int | None) -> int | None:
        return left if right is None else self.add(left, right)

    def finish(self, state: int | None) -> int | None:
        return state


ORDERS = pa.table(
    {
        "ts": [1, 4, 12, 9, 14, 25],
        "k": ["a", "b", "a", "a", "b", "a"],
        "v": [2, 5, 3, 8, None, 7],
        "name": ["tea", "milk", "espresso", "water", None, "tea"],
    }
)
"""By key, in windows of ten seconds: a has 2 and 8, then 3, then 7; b has 5, then only null."""


def stream(rows: int | None = None) -> fl.Stream:
    return fl.stream(ORDERS, time="ts", unit="s", delay="1 min", rows=rows).key_by("k")


def told(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """Rows as (key, start of the window in seconds, and these columns)."""
    return [
        (row["k"], int(row["window"]["start"].timestamp()), *(row[name] for name in columns))
        for row in table.to_pylist()
    ]


class TestTumbling:
    @pytest.mark.parametrize("rows", [None, 1, 4])
    def test_row_by_row_with_a_struct_for_a_state(self, rows: int | None) -> None:
        """The square root of 2 times 8 is 4. A null never reaches the aggregate, so of nothing there is no mean."""
        result = stream(rows).window(fl.tumbling("10 s")).agg(mean=GeometricMean("v"))
        assert told(result.table(), "mean") == [
            ("a", 0, 4.0),
            ("b", 0, 5.0),
            ("a", 10, 3.0),
            ("b", 10, None),
            ("a", 20, 7.0),
        ]

    @pytest.mark.parametrize("rows", [None, 1, 4])
    def test_whole_bundles_at_a_time(self, rows: int | None) -> None:
        result = stream(rows).window(fl.tumbling("10 s")).agg(mine=Total("v"), theirs=fl.sum("v"))
        assert told(result.table(), "mine") == [("a", 0, 10), ("b", 0, 5), ("a", 10, 3), ("b", 10, 0), ("a", 20, 7)]
        assert [row[2] for row in told(result.table(), "theirs")] == [10, 5, 3, None, 7]

    @pytest.mark.parametrize("rows", [None, 1])
    def test_text_for_a_state(self, rows: int | None) -> None:
        result = stream(rows).window(fl.tumbling("10 s")).agg(longest=Longest("name"))
        assert [row[2] for row in told(result.table(), "longest")] == ["water", "milk", "espresso", None, "tea"]

    @pytest.mark.parametrize("rows", [None, 1])
    def test_a_number_that_may_be_missing_for_a_state(self, rows: int | None) -> None:
        result = stream(rows).window(fl.tumbling("10 s")).agg(least=Least("v"), theirs=fl.min("v"))
        assert [row[2:] for row in told(result.table(), "least", "theirs")] == [
            (2, 2),
            (5, 5),
            (3, 3),
            (None, None),
            (7, 7),
        ]

    def test_parameters(self) -> None:
        result = stream().window(fl.global_window()).agg(some=AtLeast("v", limit=3), all=AtLeast("v"))
        assert [(row["k"], row["some"], row["all"]) for row in result.table().to_pylist()] == [("a", 3, 4), ("b", 1, 1)]

    def test_columns_of_any_encoding(self) -> None:
        """A user sees values, not how they are encoded."""
        table = ORDERS.set_column(3, "name", ORDERS["name"].dictionary_encode())
        windowed = fl.stream(table, time="ts", unit="s", delay="1 min").window(fl.global_window())
        assert windowed.agg(longest=Longest("name")).table().column("longest").to_pylist() == ["espresso"]


class TestEverywhere:
    AGGREGATES: ClassVar[dict[str, fl.Aggregate]] = {
        "mean": GeometricMean("v"), "total": Total("v"), "longest": Longest("name"), "least": Least("v"),
    }  # fmt: skip

    @pytest.mark.parametrize("rows", [100, 1])
    @pytest.mark.parametrize("lateness", ["0 s", "1 h"])
    def test_hopping(self, rows: int, lateness: str) -> None:
        """Of a: [-5, 5) has 2; [0, 10) has 2 and 8; [5, 15) has 8 and 3; [10, 20) has 3; the last two have 7."""
        windowed = stream(rows).window(fl.hopping("10 s", every="5 s"), lateness=lateness)
        rows_of_a = [
            row
            for row in told(windowed.agg(**self.AGGREGATES).table(), "mean", "total", "longest", "least")
            if row[0] == "a"
        ]
        assert [row[1:] for row in rows_of_a] == [
            (-5, 2.0, 2, "tea", 2),
            (0, 4.0, 10, "water", 2),
            (5, round(math.sqrt(24), 9), 11, "espresso", 3),
            (10, 3.0, 3, "espresso", 3),
            (20, 7.0, 7, "tea", 7),
            (25, 7.0, 7, "tea", 7),
        ]  # fmt: skip

    def test_early_firings_carry_the_value_so_far(self) -> None:
        windowed = stream(1).window(fl.tumbling("10 s")).trigger(fl.at_watermark(early=fl.after(1)))
        rows = [
            row
            for row in told(windowed.agg(mean=GeometricMean("v"), least=Least("v")).table(), "mean", "least")
            if row[:2] == ("a", 0)
        ]
        assert [row[2:] for row in rows] == [(2.0, 2), (4.0, 2), (4.0, 2)]

    def test_updated_only_compares_their_results(self) -> None:
        windowed = stream(1).window(fl.tumbling("10 s")).trigger(fl.at_watermark(early=fl.after(1)), updated_only=True)
        rows = told(windowed.agg(least=Least("v")).table(), "least")
        assert [row[2] for row in rows if row[:2] == ("a", 0)] == [2]

    def test_discarding_starts_from_zero(self) -> None:
        windowed = stream(1).window(fl.tumbling("10 s")).trigger(fl.at_watermark(early=fl.after(1))).discarding()
        rows = told(windowed.agg(mean=GeometricMean("v"), longest=Longest("name")).table(), "mean", "longest")
        assert [row[2:] for row in rows if row[:2] == ("a", 0)] == [(2.0, "tea"), (8.0, "water")]

    def test_retracting_takes_their_results_back(self) -> None:
        windowed = stream(1).window(fl.tumbling("10 s")).trigger(fl.at_watermark(early=fl.after(1))).retracting()
        rows = windowed.agg(mean=GeometricMean("v")).table().to_pylist()
        assert [(row["pane"]["op"], row["mean"]) for row in rows if row["k"] == "b"] == [
            ("+I", 5.0),
            ("+I", None),  # of [10, 20): a record came, though its value was null
            ("-U", 5.0),
            ("+U", 5.0),
            ("-U", None),
            ("+U", None),
        ]

    def test_retraction_may_say_what_takes_a_result_back(self) -> None:
        """A sum that is taken back by its negative, so that downstream only ever adds."""

        class Delta(Total):
            def retraction(self, value: int) -> int:
                return -value

        windowed = stream(1).window(fl.global_window()).trigger(fl.repeat(fl.after(2))).retracting()
        rows = windowed.agg(total=Delta("v")).table().to_pylist()
        assert [(row["pane"]["op"], row["total"]) for row in rows if row["k"] == "a"] == [
            ("+I", 5),
            ("-U", -5),
            ("+U", 20),
        ]
        assert sum(row["total"] for row in rows) == 25

    @pytest.mark.parametrize("lateness", ["0 s", "1 h"])
    def test_a_snapshot_between_any_two_records_changes_nothing(self, lateness: str) -> None:
        windowed = (
            fl.stream([], time="ts", unit="s").key_by("k").window(fl.hopping("20 s", every="10 s"), lateness=lateness)
        )
        spec = windowed.agg(**self.AGGREGATES).spec
        steady, moved = fl.WindowOperator(spec), fl.WindowOperator(spec)
        for place in range(len(ORDERS)):
            steady.add(ORDERS.slice(place, 1))
            moved.add(ORDERS.slice(place, 1))
            moved = fl.WindowOperator.restore(spec, moved.snapshot())
        steady.end()
        moved.end()
        assert moved.take().to_pylist() == steady.take().to_pylist()

    def test_they_count_in_windows_that_are_read(self) -> None:
        operator = (
            stream().window(fl.tumbling("10 s"), retention=fl.retention("1 h")).agg(mean=GeometricMean("v")).operator()
        )
        operator.add(ORDERS)
        operator.advance(watermark=10 * S)
        rows = operator.windows().to_pylist()
        assert [(row["k"], row["mean"], row["pane"]["status"]) for row in rows] == [
            ("a", 4.0, "expired"),
            ("b", 5.0, "expired"),
            ("a", 3.0, "open"),
            ("b", None, "open"),
            ("a", 7.0, "open"),
        ]


class TestRefused:
    @pytest.mark.parametrize("name", ["state_type", "output_type"])
    def test_without_a_type(self, name: str) -> None:
        untyped = type("Untyped", (Total,), {name: None})
        with pytest.raises(fl.SpecError, match=rf"Untyped: `{name}` is missing\. Set it to an Arrow type"):
            untyped("v")

    def test_without_a_column(self) -> None:
        with pytest.raises(fl.SpecError, match="Total: needs a column to work on"):
            Total()

    @pytest.mark.parametrize("method", ["zero", "add", "merge", "finish"])
    def test_without_a_method(self, method: str) -> None:
        """The message names the class and the method; two bundles, so that there is something to merge."""
        partly = type("Partly", (GeometricMean,), {method: getattr(fl.UserAggregate, method)})
        with pytest.raises(fl.SpecError, match=rf"Partly: `{method}` is missing\. Return"):
            stream(1).window(fl.tumbling("10 s")).agg(x=partly("v")).table()

    @pytest.mark.parametrize("method", ["zero", "add", "merge", "finish", "add_batch"])
    def test_a_method_that_raises_is_named_with_what_it_raised(self, method: str) -> None:
        def broken(*_: object) -> None:
            raise KeyError("oops")

        brittle = type("Brittle", (GeometricMean,), {method: broken})
        with pytest.raises(
            fl.EngineError, match=rf"Brittle: `{method}` on `v` raised KeyError: 'oops'.*Correct"
        ) as error:
            stream(1).window(fl.tumbling("10 s")).agg(x=brittle("v")).table()
        assert isinstance(error.value.__cause__, KeyError)

    def test_a_result_that_is_not_of_its_type(self) -> None:
        class Talks(Total):
            def finish(self, state: int) -> Any:
                return "many"

        with pytest.raises(fl.EngineError, match=r"Talks: `finish` .* returned .* not fit `output_type` \(int64\)"):
            stream().window(fl.global_window()).agg(x=Talks("v")).table()

    def test_a_state_that_is_not_of_its_type(self) -> None:
        class Drifts(GeometricMean):
            def add(self, state: Any, value: float) -> Any:
                return value

        with pytest.raises(fl.EngineError, match=r"Drifts: `add` .* returned .* not fit `state_type` \(struct"):
            stream().window(fl.global_window()).agg(x=Drifts("v")).table()

    def test_states_for_the_wrong_number_of_groups(self) -> None:
        class Short(Total):
            def add_batch(self, states: pa.Array, values: pa.Array, groups: Ints, count: int) -> Any:
                return states[:-1]

        with pytest.raises(fl.EngineError, match=r"Short: `add_batch` returned 1 states for 2 groups\. Return one"):
            stream().window(fl.global_window()).agg(x=Short("v")).table()
