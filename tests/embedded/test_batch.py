"""`fl.batch` in this process, as a user has it: a function of all rows of a window as one Arrow table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fanlight as fl

SALES = [
    {"ts": 9, "shop": "tea", "price": 8},
    {"ts": 1, "shop": "tea", "price": 3},
    {"ts": 5, "shop": "rum", "price": None},
    {"ts": 9, "shop": "tea", "price": 2},
    {"ts": 61, "shop": "tea", "price": 1},
]
ROWS = pa.list_(pa.struct({"ts": pa.int64(), "shop": pa.string(), "price": pa.int64()}))


def minutes(records: list[dict[str, Any]] = SALES, **said: Any) -> fl.Windowed:
    return fl.stream(records, time="ts", unit="s", **said).key_by("shop").window(fl.tumbling("1 min"))


def of(function: Any, output_type: Any, *columns: str, windows: fl.Windowed | None = None) -> list[Any]:
    result = (minutes() if windows is None else windows).agg(found=fl.batch(function, output_type, *columns))
    found: list[Any] = result.table().column("found").to_pylist()
    return found


class TestTables:
    def test_a_table_has_all_columns_of_all_rows_by_time_then_as_they_came(self) -> None:
        """Null is a value like any other here."""
        rum, tea, later = of(pa.Table.to_pylist, ROWS)
        assert rum == [SALES[2]]
        assert tea == [SALES[1], SALES[0], SALES[3]]
        assert later == [SALES[4]]

    def test_named_columns_are_all_there_is_and_all_that_is_kept(self) -> None:
        assert of(lambda table: table.column_names, pa.list_(pa.string()), "price")[0] == ["price"]
        assert of(lambda table: table.column_names, pa.list_(pa.string()), "price", "ts")[0] == ["price", "ts"]
        operator = minutes().agg(n=fl.batch(len, pa.int64(), "price")).operator()
        wide = [{**SALES[0], "note": "x" * 100_000}]
        operator.add(wide)
        assert len(operator.snapshot()) < 100_000

    def test_types_are_those_of_the_records(self) -> None:
        """Also in a window in which all values are null."""
        schemas: list[pa.Schema] = []
        of(lambda table: schemas.append(table.schema), pa.int64())
        assert set(schemas) == {pa.schema({"ts": pa.int64(), "shop": pa.string(), "price": pa.int64()})}

    def test_it_stands_beside_other_aggregates_and_inside_a_composite(self) -> None:
        result = minutes().agg(
            total=fl.sum("price"),
            both=fl.composite(n=fl.batch(len, pa.int64()), most=fl.max("price")),
            span=fl.batch(lambda table: pc.max(table["ts"]).as_py() - pc.min(table["ts"]).as_py(), pa.int64(), "ts"),
        )
        rows = [(row["total"], row["both"], row["span"]) for row in result.table().to_pylist()]
        assert rows == [(None, {"n": 1, "most": None}, 0), (13, {"n": 3, "most": 8}, 8), (1, {"n": 1, "most": 1}, 0)]

    def test_what_select_and_where_leave_is_the_record(self) -> None:
        stream = (
            fl.stream(SALES, time="ts", unit="s").where(fl.col("price") > 2).select("ts", cents=fl.col("price") * 100)
        )
        rows = pa.list_(pa.struct({"ts": pa.int64(), "cents": pa.int64()}))
        found = of(pa.Table.to_pylist, rows, windows=stream.window(fl.tumbling("1 min")))
        assert found == [[{"ts": 1, "cents": 300}, {"ts": 9, "cents": 800}]]

    def test_late_records_are_there_where_windows_fire_when_they_expire(self) -> None:
        stream = fl.stream([*SALES, SALES[1]], time="ts", unit="s", rows=1, delay="0 s")
        late = stream.window(fl.tumbling("1 min"), lateness="1 min").trigger(fl.at_expiry())
        assert of(len, pa.int64(), windows=late) == [5, 1]

    def test_a_late_record_stands_in_its_letter_as_it_came(self) -> None:
        late = {"ts": 7, "shop": "tea", "price": 6}
        result = minutes([SALES[0], SALES[4], late], rows=1, delay="0 s").agg(n=fl.batch(len, pa.int64(), "price"))
        (letter,) = result.dead_letters.to_pylist()
        assert (letter["reason"], letter["record"]) == ("expired", late)

    def test_a_snapshot_goes_on_with_the_rows(self) -> None:
        result = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("1 min"))
        operator = result.agg(first=fl.batch(lambda table: table["price"][0], pa.int64(), "price")).operator()
        operator.add(SALES[:1])
        other = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        other.add(SALES[1:2])
        other.end()
        assert other.take().column("first").to_pylist() == [3]


class TestValues:
    @pytest.mark.parametrize(
        ("function", "kind", "value"),
        [
            (lambda table: pc.mean(table["price"]), pa.float64(), 13 / 3),
            (lambda table: table["price"], pa.list_(pa.int64()), [3, 8, 2]),
            (lambda table: table.select(["n"]), pa.list_(pa.struct({"n": pa.int64()})), [{"n": 1}, {"n": 1}, {"n": 1}]),
            (lambda table: {"n": len(table)}, pa.struct({"n": pa.int8()}), {"n": 3}),
            (lambda table: table["price"].to_numpy().sum(), pa.int64(), 13),
            (lambda table: None, pa.int64(), None),
        ],
    )  # fmt: skip
    def test_arrow_numpy_and_python_values_will_do(self, function: Any, kind: pa.DataType, value: Any) -> None:
        only_tea = fl.stream([SALES[place] | {"n": 1} for place in (0, 1, 3)], time="ts", unit="s")
        assert of(function, kind, windows=only_tea.window(fl.tumbling("1 min"))) == [value]


class TestChanges:
    def test_a_function_sees_the_rows_that_are_left(self) -> None:
        """The operation is no part of a row; windows that each key has for itself see the same."""
        orders = [
            {"ts": 1, "op": "+I", "id": 1, "tags": ["a"]},
            {"ts": 2, "op": "+I", "id": 2, "tags": None},
            {"ts": 3, "op": "+U", "id": 1, "tags": ["b", "c"]},
            {"ts": 4, "op": "-D", "id": 2, "tags": None},
        ]
        rows = pa.list_(pa.struct({"ts": pa.int64(), "id": pa.int64(), "tags": pa.list_(pa.string())}))
        for kind in (fl.tumbling("1 min"), fl.session("10 s")):
            stream = fl.stream(orders, time="ts", unit="s", op="op", unique="id")
            left = [{"ts": 3, "id": 1, "tags": ["b", "c"]}]
            assert of(pa.Table.to_pylist, rows, windows=stream.window(kind)) == [left]


class TestStages:
    def test_results_are_rows_with_their_windows(self) -> None:
        counted = minutes().agg(n=fl.count())
        columns = of(
            lambda table: table.column_names, pa.list_(pa.string()), windows=counted.window(fl.tumbling("1 h"))
        )
        assert columns == [["shop", "n", "window_start", "window_end", "window_time"]]
        again = of(lambda table: table["n"].to_pylist(), pa.list_(pa.int64()), windows=counted.rewindow())
        assert [sorted(each) for each in again] == [[1, 3], [1]]

    def test_a_union_says_where_a_record_came_from(self) -> None:
        one, other = (fl.stream([row], time="ts", unit="s") for row in SALES[:2])
        both = fl.union(one=one, other=other).window(fl.tumbling("1 min"))
        assert of(lambda table: table["input"].to_pylist(), pa.list_(pa.string()), windows=both) == [["other", "one"]]


class TestMistakes:
    def test_what_a_function_raises_is_told_with_its_rows_key_and_window(self) -> None:
        def spread(table: pa.Table) -> int:
            return 1 // (3 - len(table))

        told = (
            r"batch: `.*spread` raised ZeroDivisionError: .*, over 3 rows, the first of which is \{'ts': 1, 'shop'.*"
            r"This is 'found' of the key \{'shop': 'tea'\} and the window \[1970-01-01T00:00:00Z, 1970-01-01T00:01:0"
        )
        with pytest.raises(fl.EngineError, match=told):
            of(spread, pa.int64())
        with pytest.raises(fl.EngineError, match=r"over 3 rows, the first of which is \{'ts': 1, 'shop': 'tea'"):
            of(
                spread,
                pa.int64(),
                windows=fl.stream(SALES, time="ts", unit="s").key_by("shop").window(fl.session("20 s")),
            )

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            (1.5, pa.int64()),
            ("x", pa.float64()),
            (300, pa.int8()),
            ([1, "x"], pa.list_(pa.int64())),
            ({"m": 1}, pa.struct({"n": pa.int64()})),
        ],
    )  # fmt: skip
    def test_a_value_that_does_not_fit_exactly_is_an_error_that_names_it(self, value: Any, kind: pa.DataType) -> None:
        """Of many windows it is that of the second."""
        with pytest.raises(fl.EngineError, match=r"returned .* which is no .*over 3 rows.*Return values of that type"):
            of(lambda table: None if len(table) == 1 else value, kind)

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ((3, pa.int64()), r"batch: 3 cannot be called. Give a function of an Arrow table"),
            ((len, int), r"batch: <class 'int'> is no Arrow type.*batch\(function, pyarrow.float64\(\)\)"),
            ((len, "price"), r"batch: 'price' is no Arrow type.*columns come after it"),
            ((len, pa.int64(), ["price"]), r"batch: \['price'\] is no column name. Use text"),
            ((len, pa.int64(), "price", "price"), r"batch: the column 'price' is named twice"),
        ],
    )
    def test_a_mistake_is_named_when_it_is_declared(self, given: Any, told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            fl.batch(*given)

    def test_windows_must_fire_once(self) -> None:
        lateness = fl.stream(SALES, time="ts", unit="s").window(fl.tumbling("1 min"), lateness="1 h")
        for windows in (lateness, minutes().trigger(fl.at_watermark(early=fl.after(1))).retracting()):
            with pytest.raises(fl.SpecError, match=r"found is computed of the complete rows.*trigger\(at_expiry\(\)\)"):
                of(len, pa.int64(), windows=windows)

    def test_frames_have_no_complete_rows(self) -> None:
        with pytest.raises(
            fl.SpecError, match=r"over: n is a function of all rows of a window.*window\(…\)\.over\(…\)"
        ):
            fl.stream(SALES, time="ts", unit="s").over(fl.range("1 s")).add(n=fl.batch(len, pa.int64()))

    def test_a_column_that_is_not_there(self) -> None:
        with pytest.raises(fl.InputError, match="colour"):
            of(len, pa.int64(), "colour")
