"""What users get wrong, and what sources do: a dead letter with its reason, or an error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.timestamp import EARLIEST, LATEST

S = 1_000_000
DAY = 86_400 * S
NAN = math.nan


def run(source: Any, keys: tuple[str, ...] = (), window: Any = None, **options: Any) -> fl.Result:
    """Counts by key in windows of ten seconds, and whatever else is asked for."""
    aggregates = options.pop("agg", {"n": fl.count()})
    stream = fl.stream(source, time="ts", unit="s", **options)
    keyed = stream.key_by(*keys) if keys else stream
    return keyed.window(window or fl.tumbling("10 s")).agg(**aggregates)


def values(result: fl.Result, name: str = "n") -> list[Any]:
    return result.table().column(name).to_pylist()  # type: ignore[no-any-return]


def same(left: Any, right: Any) -> bool:
    """Equal, and NaN equals NaN."""
    return repr(left) == repr(right)


class TestTimes:
    def test_that_cannot_be_read_are_dead_letters_with_their_reason(self) -> None:
        """Eight records: two are fine, two are null, two are no time, two are outside the years 1 to 9999."""
        texts = [
            "1970-01-01T00:00:01Z",
            None,
            "soon",
            "1970-02-30",
            None,
            "0000-12-31",
            "1970-01-01 00:00:02",
            "9999-12-31T23:59:59-01:00",
        ]
        result = run(pa.table({"ts": texts, "v": range(8)}), agg={"all": fl.list("v")})
        assert values(result, "all") == [[0, 6]]
        letters = sorted((row["record"]["v"], row["reason"]) for row in result.dead_letters.to_pylist())
        assert letters == [
            (1, "null_time"),
            (2, "unparsable_time"),
            (3, "unparsable_time"),
            (4, "null_time"),
            (5, "time_out_of_range"),
            (7, "time_out_of_range"),
        ]
        assert result.accounting.as_dict() == {"received": 8, "accepted": 2, "duplicates": 0, "dead_letters": 6}

    def test_beyond_the_calendar_are_dead_letters_and_move_no_watermark(self) -> None:
        """A number of seconds that was a number of milliseconds is the year 55 000; the next record is not late."""
        result = run(pa.table({"ts": [1, 1_700_000_000_000, -(2**62), 2**62, 2]}), rows=1)
        assert values(result) == [2]
        assert result.dead_letters.column("reason").to_pylist() == ["time_out_of_range"] * 3

    def test_all_null_are_all_dead_letters(self) -> None:
        result = run([{"ts": None}, {"ts": None}])
        assert result.table().num_rows == 0
        assert result.dead_letters.column("reason").to_pylist() == ["null_time", "null_time"]

    def test_before_1970_are_times_like_others(self) -> None:
        """Windows are cut downwards: -1 is in [-10, 0), and -10 begins it."""
        result = run(pa.table({"ts": [-1, -10, -11, 0]}), delay="1 min")
        starts = [int(window["start"].timestamp()) for window in values(result, "window")]
        assert list(zip(starts, values(result), strict=True)) == [(-20, 1), (-10, 2), (0, 1)]

    @pytest.mark.parametrize(
        ("column", "remedy"),
        [
            (pa.array([1.5]), "multiply and round it yourself to whole microseconds"),
            (pa.array([Decimal("1.5")]), "multiply and round it yourself"),
            (pa.array([True]), "Name a column of timestamps, dates, whole numbers"),
            (pa.array([b"x"]), "or ISO 8601 text such as '2026-01-31T12:00:00Z'"),
            (pa.array([{"a": 1}]), "Name a column of timestamps"),
            (pa.array([timedelta(1)]), "Name a column of timestamps"),
        ],
        ids=["float", "decimal", "bool", "binary", "struct", "duration"],
    )
    def test_of_a_type_that_is_no_time_are_refused(self, column: pa.Array, remedy: str) -> None:
        with pytest.raises(fl.InputError, match=f"time: the column has type .*which is no event time.*{remedy}"):
            run(pa.table({"ts": column})).table()


class TestJumps:
    FAR = pa.table({"ts": pa.array([EARLIEST + DAY, LATEST - DAY, 0], pa.timestamp("us")), "k": ["a", "b", "a"]})
    """Year 1, year 9999 and 1970. A table of all seconds between them would have 315 billion rows."""

    @pytest.mark.parametrize("early", [None, fl.after(1)], ids=["fires once", "fires early"])
    @pytest.mark.parametrize(
        ("kind", "windows"), [(fl.tumbling("1 s"), 1), (fl.hopping("1 s", every="100 ms"), 10)], ids=["1 s", "hopping"]
    )
    @pytest.mark.parametrize("watermark", [fl.bounded_disorder("0 s"), fl.stream_time()], ids=["bundle", "record"])
    def test_from_year_1_to_9999_cost_what_their_records_cost(
        self, kind: Any, windows: int, early: fl.Trigger | None, watermark: Any
    ) -> None:
        """Judged as one bundle all three count; judged one by one, the last comes after the end of everything else."""
        windowed = fl.stream(self.FAR, time="ts", watermark=watermark).key_by("k").window(kind)
        result = windowed.trigger(fl.at_watermark(early=early)).agg(n=fl.count(), all=fl.list("k"))
        expected = 3 if watermark == fl.bounded_disorder("0 s") else 2
        panes = {(row["k"], row["window"]["start"]): (row["n"], row["all"]) for row in result.table().to_pylist()}
        assert len(panes) == expected * windows
        assert set(map(str, panes.values())) == {"(1, ['a'])", "(1, ['b'])"}
        assert result.accounting.accepted == expected

    @pytest.mark.parametrize("early", [None, fl.after(1)], ids=["fires once", "fires early"])
    def test_with_windows_of_a_microsecond_and_many_keys_count_right(self, early: fl.Trigger | None) -> None:
        """315 540 billion windows times 64 keys are more pairs than int64 has numbers."""
        times = [EARLIEST + DAY] * 64 + [LATEST - DAY] * 64
        table = pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": [*range(64), *range(64)]})
        windowed = fl.stream(table, time="ts").key_by("k").window(fl.tumbling("1 us"))
        rows = windowed.trigger(fl.at_watermark(early=early)).agg(n=fl.count()).table().to_pylist()
        panes = {(row["k"], row["window"]["start"].year) for row in rows}
        assert panes == {(k, year) for k in range(64) for year in (1, 9999)}
        assert {row["n"] for row in rows} == {1}

    def test_a_record_of_1970_before_those_of_today_counts_right(self) -> None:
        """A time of 0 is the commonest wrong time there is; here it is judged record by record, in short windows."""
        today = 1_767_225_600 * S
        table = pa.table({"ts": pa.array([0, today, today + 150_000], pa.timestamp("us"))})
        stream = fl.stream(table, time="ts", watermark=fl.stream_time())
        rows = stream.window(fl.tumbling("100 ms"), lateness="1 min").agg(n=fl.count()).table().to_pylist()
        assert [(row["window"]["start"].timestamp() * S, row["n"]) for row in rows] == [
            (0, 1),
            (today, 1),
            (today + 100_000, 1),
        ]

    @pytest.mark.parametrize("lateness", ["0 s", "1 h"])
    def test_five_thousand_windows_far_apart(self, lateness: str) -> None:
        """One record an hour, in windows of a second, hopping by half of one: each record is in two windows."""
        hours = np.arange(5_000) * 3_600
        stream = fl.stream(pa.table({"ts": hours}), time="ts", unit="s")
        result = stream.window(fl.hopping("1 s", every="500 ms"), lateness=lateness).agg(n=fl.count(), t=fl.max("ts"))
        table = result.table()
        assert table.num_rows == 10_000
        assert np.array_equal(np.unique(table["t"].to_numpy()), hours)
        assert table["n"].to_numpy().tolist() == [1] * 10_000


class TestKeys:
    @pytest.mark.parametrize("keys", [("k",), ("k", "v")])
    def test_null_is_a_group_of_its_own(self, keys: tuple[str, ...]) -> None:
        table = pa.table({"ts": [1, 2, 3, 4], "k": ["a", None, None, ""], "v": [1, 1, 1, 1]})
        assert list(zip(values(run(table, keys), "k"), values(run(table, keys)), strict=True)) == [
            ("", 1),
            ("a", 1),
            (None, 2),
        ]

    @pytest.mark.parametrize("lateness", ["0 s", "1 s"])
    def test_nan_is_one_group_and_so_are_both_zeros(self, lateness: str) -> None:
        """In SQL's order of floats NaN comes after every number, and null after that."""
        floats = pa.array([NAN, 0.0, -0.0, None, NAN, math.inf], pa.float64(), from_pandas=False)
        stream = fl.stream(pa.table({"ts": [1, 2, 3, 4, 5, 6], "k": floats}), time="ts", unit="s", rows=2)
        result = stream.key_by("k").window(fl.tumbling("10 s"), lateness=lateness).agg(n=fl.count())
        assert same(values(result, "k"), [0.0, math.inf, NAN, None])
        assert values(result) == [2, 1, 2, 1]

    def test_nan_is_one_group_whatever_its_bits(self) -> None:
        """What 0 / 0 makes has another sign than what the text `nan` makes; nobody can see the difference."""
        result = run(pa.table({"ts": [1, 2], "k": np.array([NAN, -NAN])}), ("k",))
        assert values(result) == [2]

    KINDS: ClassVar[dict[str, tuple[pa.DataType, list[Any]]]] = {
        "bool": (pa.bool_(), [False, True]),
        "int8": (pa.int8(), [-128, 127]),
        "uint64": (pa.uint64(), [1, 2**64 - 1]),
        "half": (pa.float16(), [np.float16(0.5), np.float16(1.5)]),
        "decimal": (pa.decimal128(20, 2), [Decimal("-1.50"), Decimal("2.25")]),
        "wide decimal": (pa.decimal256(50, 2), [Decimal("-1.50"), Decimal("2.25")]),
        "date": (pa.date32(), [date(1, 1, 1), date(2026, 1, 31)]),
        "timestamp": (pa.timestamp("us", "UTC"), [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC)]),
        "duration": (pa.duration("us"), [timedelta(-1), timedelta(1)]),
        "binary": (pa.binary(), [b"", b"\xff\x00"]),
        "fixed binary": (pa.binary(2), [b"\x00a", b"\xff\x00"]),
        "text": (pa.string(), ["", "Ω"]),
        "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
        "view": (pa.string_view(), ["a", "b"]),
    }

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("lateness", ["0 s", "5 s"])
    def test_of_many_types_are_kept_apart_ordered_and_stored(self, kind: str, lateness: str) -> None:
        """a, b, null, then after a restart b again: 1, 2 and 1 in ascending order, null last."""
        arrow, (a, b) = self.KINDS[kind]
        table = pa.table({"ts": [1, 2, 3, 4], "k": pa.array([b, a, None, b], arrow)})
        stream = fl.stream([], time="ts", unit="s").key_by("k")
        spec = stream.window(fl.hopping("10 s", every="5 s"), lateness=lateness).agg(n=fl.count(), t=fl.list("ts")).spec
        operator = fl.WindowOperator(spec)
        operator.add(table.slice(0, 3))
        operator = fl.WindowOperator.restore(spec, operator.snapshot())
        operator.add(table.slice(3))
        operator.end()
        rows = [row for row in operator.take().to_pylist() if row["window"]["start"].second == 0]
        assert [(row["k"], row["n"], row["t"]) for row in rows] == [(a, 1, [2]), (b, 2, [1, 4]), (None, 1, [3])]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([{"a": 1}]),
            pa.array([[1]]),
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            pa.array([pa.MonthDayNano([1, 2, 3])]),
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16))),
        ],
        ids=["struct", "list", "map", "interval", "uuid"],
    )
    def test_without_an_order_are_refused_with_a_remedy(self, column: pa.Array) -> None:
        with pytest.raises(fl.InputError, match=r"key_by: column 'k' is .*Key by"):
            run(pa.table({"ts": [1], "k": column}), ("k",)).table()


class TestValues:
    def test_nan_is_a_value_and_greater_than_every_number(self) -> None:
        table = pa.table({"ts": [1, 2, 3], "v": pa.array([2.5, NAN, 1.5], from_pandas=False)})
        words = {"n": fl.count("v"), "low": fl.min("v"), "high": fl.max("v"), "sum": fl.sum("v"), "mean": fl.avg("v")}
        row = run(table, agg=words).table().drop_columns("window").to_pylist()[0]
        assert same(row, {"n": 3, "low": 1.5, "high": NAN, "sum": NAN, "mean": NAN})

    def test_nan_has_not_changed_if_it_is_still_nan(self) -> None:
        """The law of updated_only: NaN equals itself, also inside a list."""
        table = pa.table({"ts": [1, 12], "v": pa.array([NAN, 1.0], from_pandas=False)})
        windowed = fl.stream(table, time="ts", unit="s", rows=1).window(fl.tumbling("10 s"))
        looks = windowed.trigger(fl.at_watermark(early=fl.after(1)), updated_only=True)
        for aggregate in (fl.max("v"), fl.sum("v"), fl.list("v")):
            assert looks.agg(x=aggregate).table().num_rows == 2

    def test_null_is_no_value(self) -> None:
        table = pa.table({"ts": [1, 2, 12], "v": pa.array([None, 4, None], pa.int64())})
        words = {
            "rows": fl.count(),
            "n": fl.count("v"),
            "total": fl.sum("v"),
            "mid": fl.median("v"),
            "all": fl.list("v"),
        }
        rows = run(table, agg=words).table().drop_columns("window").to_pylist()
        assert rows == [
            {"rows": 2, "n": 1, "total": 4, "mid": 4.0, "all": [4]},
            {"rows": 1, "n": 0, "total": None, "mid": None, "all": []},
        ]

    @pytest.mark.parametrize(
        ("column", "aggregate", "message"),
        [
            (["x"], fl.sum("v"), "Sum: `v` is string, which is not a number. Cast it to int64, float64 or decimal128"),
            ([True], fl.avg("v"), "Avg: `v` is bool, which is not a number. Use count or any, or cast it to int64"),
            ([date(2026, 1, 1)], fl.sum("v"), "use min, max, first or last"),
            ([{"a": 1}], fl.max("v"), "Max: `v` is struct<a: int64>, whose values have no order. Take one of"),
            ([1], fl.any("v"), "AnyTrue: `v` is int64, which is neither true nor false. Make it a bool first"),
            (["x"], fl.median("v"), "Quantile: `v` is string, which is not a number"),
        ],
        ids=["sum of text", "mean of bools", "sum of dates", "greatest struct", "any of numbers", "median of text"],
    )  # fmt: skip
    def test_of_the_wrong_type_are_refused_with_a_remedy(self, column: Any, aggregate: Any, message: str) -> None:
        with pytest.raises(fl.InputError) as refused:
            run(pa.table({"ts": [1], "v": pa.array(column)}), agg={"x": aggregate}).table()
        assert message in str(refused.value)

    def test_a_sum_is_exact_or_an_error(self) -> None:
        table = pa.table({"ts": [1, 2], "v": [2**63 - 1, 1]})
        with pytest.raises(fl.EngineError, match=r"the sum of `v` in one pane leaves int64.*Cast `v` to decimal128"):
            run(table, agg={"total": fl.sum("v")}).table()
        exact = table.set_column(1, "v", table["v"].cast(pa.decimal128(28, 0)))
        assert values(run(exact, agg={"total": fl.sum("v")}), "total") == [Decimal(2**63)]

    def test_decimals_add_up_exactly(self) -> None:
        table = pa.table(
            {"ts": [1, 2, 3], "v": pa.array([Decimal("0.10"), Decimal("0.20"), None], pa.decimal128(10, 2))}
        )
        result = run(table, agg={"total": fl.sum("v"), "least": fl.min("v"), "n": fl.count("v")})
        assert (values(result, "total"), values(result, "least"), values(result)) == (
            [Decimal("0.30")],
            [Decimal("0.10")],
            [2],
        )

    @pytest.mark.parametrize(
        "kind", ["date", "timestamp", "binary", "fixed binary", "decimal", "text", "view", "dictionary"]
    )
    def test_of_many_types_have_a_least_a_greatest_a_first_and_a_last(self, kind: str) -> None:
        """They come as b, a, null by event time: b is first and greatest, a is last and least."""
        arrow, (a, b) = TestKeys.KINDS[kind]
        table = pa.table({"ts": [2, 3, 1], "v": pa.array([a, None, b], arrow)})
        words = {
            "low": fl.min("v"),
            "high": fl.max("v"),
            "first": fl.first("v"),
            "last": fl.last("v"),
            "all": fl.list("v"),
        }
        row = run(table, agg=words).table().drop_columns("window").to_pylist()[0]
        assert row == {"low": a, "high": b, "first": b, "last": a, "all": [b, a]}

    def test_structs_may_be_listed(self) -> None:
        structs = [{"a": 2, "b": ["x"]}, None, {"a": 1, "b": None}]
        table = pa.table({"ts": [2, 3, 1], "v": structs})
        windowed = fl.stream(table, time="ts", unit="s").window(fl.tumbling("10 s"), lateness="1 s")
        operator = windowed.retracting().agg(all=fl.list("v")).operator()
        operator.add(table)
        operator = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        operator.end()
        assert operator.take().column("all").to_pylist() == [[structs[2], structs[0]]]

    def test_one_record_may_have_ten_megabytes(self) -> None:
        blob = "x" * 10_000_000
        table = pa.table({"ts": [1, 2], "k": [blob, "y"], "v": ["z", blob]})
        spec = fl.stream([], time="ts", unit="s").key_by("k").window(fl.tumbling("10 s")).agg(high=fl.max("v")).spec
        operator = fl.WindowOperator(spec)
        operator.add(table)
        operator = fl.WindowOperator.restore(spec, operator.snapshot())
        operator.end()
        rows = operator.take().to_pylist()
        assert [(len(row["k"]), len(row["high"])) for row in rows] == [(10_000_000, 1), (1, 10_000_000)]


class TestColumns:
    def test_that_are_missing_are_named_with_what_is_there_and_the_closest(self) -> None:
        table = pa.table({"ts": [1], "product": ["tea"], "price": [3]})
        for result, name in (
            (run(table, ("prodcut",)), "prodcut"),
            (run(table, agg={"x": fl.sum("product_")}), "product_"),
        ):
            with pytest.raises(
                fl.InputError, match=f"Column '{name}' is not in the input, which has ts, product, price.*'product'"
            ):
                result.table()
        with pytest.raises(fl.InputError, match=r"Column 'time' is not in the input, which has ts, product, price\."):
            fl.stream(table, time="time").window(fl.tumbling("1 s")).agg(n=fl.count()).table()

    def test_so_is_a_clock_that_is_missing(self) -> None:
        table = pa.table({"ts": [1], "arrived": [1]})
        with pytest.raises(fl.InputError, match=r"'arivved'.*ts, arrived.*'arrived'"):
            run(table, clock="arivved").table()

    def test_a_clock_that_is_no_time_is_refused(self) -> None:
        with pytest.raises(fl.InputError, match=r"the clock column 'arrived' is string\. Use a timestamp, or"):
            run(pa.table({"ts": [1], "arrived": ["noon"]}), clock="arrived").table()

    def test_that_stand_there_twice_are_refused(self) -> None:
        table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["ts", "v", "v"])
        with pytest.raises(fl.InputError, match=r"Column 'v' stands in the input 2 times\. Rename all but one"):
            run(table, agg={"x": fl.sum("v")}).table()

    def test_that_nobody_reads_may_be_anything(self) -> None:
        table = pa.table({"ts": [1, 2], "odd": pa.array([[{"a": [1]}], None]), "none": pa.nulls(2)})
        assert values(run(table, rows=1)) == [2]

    def test_that_have_no_value_at_first_may_get_one(self) -> None:
        """The first bundle settles the types; a column of nulls has none yet."""
        assert values(run([{"ts": 1, "note": None}, {"ts": 2, "note": "x"}], rows=1)) == [2]

    def test_that_have_no_value_at_first_may_be_aggregated_if_their_type_is_declared(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "v": pa.int64(), "k": pa.string()})
        records = [{"ts": 1, "v": None, "k": None}, {"ts": 2, "v": 5, "k": "a"}]
        result = run(records, ("k",), rows=1, schema=schema, agg={"n": fl.count("v"), "total": fl.sum("v")})
        assert values(result, "k") == ["a", None]
        assert (values(result), values(result, "total")) == ([1, 0], [5, None])


class TestNothing:
    @pytest.mark.parametrize(
        "source",
        [[], iter(()), pa.table({}), pa.table({"ts": pa.array([], pa.int64())})],
        ids=["list", "iterator", "no columns", "no rows"],
    )
    def test_comes_of_nothing(self, source: Any) -> None:
        result = run(source)
        assert result.table().num_rows == result.dead_letters.num_rows == 0
        assert list(result) == []
        assert result.accounting.as_dict() == {"received": 0, "accepted": 0, "duplicates": 0, "dead_letters": 0}

    def test_has_columns_if_they_were_declared(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string()})
        for source in ([], pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string())})):
            result = run(source, ("k",), schema=schema)
            assert result.table().schema.names == ["k", "window", "n"]
            assert result.dead_letters.schema.names == ["reason", "watermark", "record"]

    def test_is_a_bundle_too(self) -> None:
        full, empty = pa.record_batch({"ts": [1]}), pa.record_batch({"ts": pa.array([], pa.int64())})
        assert values(run([empty, full, empty, full])) == [2]

    def test_a_record_without_fields_lacks_the_time(self) -> None:
        with pytest.raises(fl.InputError, match="Column 'ts' is not in the input, which has none"):
            run([{}]).table()


class TestDeclarations:
    """What cannot mean anything is refused where it is said, before any record is read."""

    WINDOWED = fl.stream([], time="ts").key_by("k").window(fl.tumbling("1 s"))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: fl.tumbling("0 s"), r"Tumbling: `size` \(0 s\) must be a length above zero"),
            (lambda: fl.tumbling("-10 s"), r"Tumbling: `size` \(-10 s\) must be a length above zero"),
            (lambda: fl.tumbling("forever"), r"`size` \(forever\).*Global for one window without end"),
            (lambda: fl.hopping("10 s", every="0 s"), r"Hopping: `every` \(0 s\) must be a length above zero"),
            (lambda: fl.hopping("10 s", every="-1 s"), r"Hopping: `every` \(-1 s\)"),
            (lambda: fl.hopping("10 s", every="15 s"), r"`every` \(15 s\) exceeds `size` \(10 s\).*gaps=True"),
            (lambda: fl.tumbling("10 parsecs"), "'parsecs' in '10 parsecs' is not a unit. Use us, ms, s, min"),
            (lambda: fl.tumbling("ten"), "'ten' cannot be read. Write a number and a unit"),
            (lambda: fl.tumbling(10), "10 is a int, which says no unit"),  # type: ignore[arg-type]
            (lambda: fl.tumbling("P1M"), "months have no fixed length"),
            (lambda: fl.tumbling("1 s", domain="wall"), "wall.*event.*processing"),
            (lambda: fl.every("0 s"), r"Every: `period` \(0 s\) must be above zero"),
            (lambda: fl.after(0), r"After: `records` \(0\) must be at least 1"),
            (lambda: fl.quantile("v", 50), r"Quantile: `q` \(50\) must be from 0 to 1"),
            (lambda: fl.sum(None), "Sum: needs a column to work on"),  # type: ignore[arg-type]
            (lambda: fl.bounded_disorder("-5 s"), r"`delay` \(-5 s\) must be from 0 up"),
        ],
    )  # fmt: skip
    def test_values(self, wrong: Callable[[], object], message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            wrong()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"delay": "1 s", "watermark": fl.Explicit()},
                "`delay` and `watermark` both say how the watermark follows",
            ),
            ({"delay": "-1 s"}, r"`delay` \(-1 s\) must be from 0 up"),
            ({"unit": "h"}, "'h'.*us, ms.* s"),
        ],
        ids=["two watermarks", "negative delay", "unknown unit"],
    )
    def test_streams(self, options: Any, message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            fl.stream([], time="ts", **options)

    def test_a_tick_of_nothing(self) -> None:
        with pytest.raises(fl.SpecError, match=r"`tick` \(0 s\) must be at least 1 us"):
            fl.stream([], time="ts", tick="0 s").window(fl.tumbling("1 s")).agg(n=fl.count())

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda windowed: windowed.agg(), r"needs at least one aggregate. Name one, as in agg\(n=count\(\)\)"),
            (lambda windowed: windowed.agg(n=5), r"n=5 is not an aggregate. Use one, as in n=sum\('price'\)"),
            (lambda windowed: windowed.agg(n=fl.count), "n=<function count.* is not an aggregate"),
            (lambda windowed: windowed.agg(k=fl.count()), "two result columns are called 'k'. Choose another name"),
            (lambda windowed: windowed.agg(window=fl.count()), "'window' is a result column of its own"),
            (lambda windowed: windowed.agg(pane=fl.count()), "'pane' is a result column of its own"),
            (lambda windowed: windowed.semantics("storm"), "no preset is named 'storm'. Use one of fanlight, beam"),
            (lambda windowed: windowed.stamped("middle"), "'middle'.*end.*earliest.*latest"),
            (lambda windowed: windowed.closing(last="sometimes"), "'sometimes'.*always.*if_new.*never"),
            (lambda windowed: windowed.closing(on_time="perhaps"), "'perhaps'.*always.*if_content.*if_new"),
        ],
        ids=["none", "a number", "a function", "twice", "window", "pane", "peer", "stamp", "closing", "on time"],
    )  # fmt: skip
    def test_pipelines(self, wrong: Callable[[Any], object], message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            wrong(self.WINDOWED)

    @pytest.mark.parametrize(
        ("kind", "lateness", "message"),
        [
            (fl.tumbling("1 s"), "-1 s", r"`lateness` \(-1 s\) is negative.*Use a duration from 0 up"),
            (fl.tumbling("1 s", domain="processing"), "1 s", r"`lateness` \(1 s\) means nothing for processing-time"),
        ],
    )
    def test_lateness(self, kind: Any, lateness: str, message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            fl.stream([], time="ts").window(kind, lateness=lateness).agg(n=fl.count())

    def test_keys_that_are_named_twice(self) -> None:
        with pytest.raises(fl.SpecError, match="two result columns are called 'k'"):
            fl.stream([], time="ts").key_by("k", "k").window(fl.tumbling("1 s")).agg(n=fl.count())
