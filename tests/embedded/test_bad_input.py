"""Bad input: a clear error or a dead letter, never a wrong number or a crash."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.operators.accounting import Accounting

from .readings import DAY, S, run, values


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
        assert result.accounting == Accounting(8, 2, 0, 6)

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
        windowed = fl.stream(self.FAR, time="ts", watermark=watermark, rows=9).key_by("k").window(kind)
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
        windowed = fl.stream(table, time="ts", delay="0 s", rows=128).key_by("k").window(fl.tumbling("1 us"))
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
        stream = fl.stream(pa.table({"ts": hours}), time="ts", unit="s", delay="0 s", rows=5_000)
        result = stream.window(fl.hopping("1 s", every="500 ms"), lateness=lateness).agg(n=fl.count(), t=fl.max("ts"))
        table = result.table()
        assert table.num_rows == 10_000
        assert np.array_equal(np.unique(table["t"].to_numpy()), hours)
        assert table["n"].to_numpy().tolist() == [1] * 10_000


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
        with pytest.raises(fl.InputError, match=r"Column 'v' occurs in the input 2 times\. Rename all but one"):
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
        assert result.accounting == Accounting(0, 0, 0, 0)

    def test_has_columns_if_they_were_declared(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string()})
        for source in ([], pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string())})):
            result = run(source, ("k",), schema=schema)
            assert result.table().schema.names == ["k", "window", "n"]
            assert result.dead_letters.schema.names == ["reason", "watermark", "detail", "record"]

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
            (lambda: fl.tumbling("P1M"), "months and years have no fixed length"),
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
