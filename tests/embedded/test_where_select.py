"""What is done to records first: rows left out, columns chosen and computed, times extracted, watermarks in rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fanlight as fl

S = 1_000_000

SALES = [
    {"ts": second, "shop": shop, "price": price, "pieces": pieces}
    for second, shop, price, pieces in [
        (1, "n", 3, 2),
        (5, "s", -1, 1),
        (8, "n", None, 1),
        (12, "s", 5, 4),
        (61, "n", 2, 1),
    ]
]


def sales(records: Any = SALES, **options: Any) -> fl.Stream:
    """A bundle a sale."""
    in_order = {} if "watermark" in options else {"delay": "0 s"}
    return fl.stream(records, time="ts", unit="s", **{"rows": 1, **in_order, **options})


def rows(result: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in result.table().to_pylist()]


class TestWhere:
    def test_what_is_not_true_is_left_out_and_counted(self) -> None:
        """A price that is not known is not above zero."""
        result = sales().where(fl.col("price") > 0).key_by("shop").window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert rows(result, "shop", "n") == [("n", 1), ("s", 1), ("n", 1)]
        counts = result.accounting
        assert (counts.received, counts.accepted, counts.filtered, counts.dead_letters) == (5, 3, 2, 0)
        assert counts.adds_up
        assert len(result.dead_letters) == 0

    def test_conditions_add_up(self) -> None:
        result = sales().where(fl.col("price") > 0).where(fl.col("shop") == "n").sort()
        assert rows(result, "ts") == [(1,), (61,)]
        assert result.accounting.filtered == 3

    def test_all_records_may_be_left_out(self) -> None:
        result = sales().where(fl.col("price") > 100).window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert len(result.table()) == 0
        assert result.accounting.filtered == 5

    def test_what_is_left_out_moves_the_watermark(self) -> None:
        """The sale of 61 is left out, and closes the first minute as it would have: 2 is late after it."""
        records = [{"ts": second, "price": price} for second, price in [(1, 3), (61, -1), (2, 4), (62, 5)]]
        result = sales(records).where(fl.col("price") > 0).window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert rows(result, "n") == [(1,), (1,)]
        assert [one["record"]["ts"] for one in result.dead_letters.to_pylist()] == [2]

    def test_what_is_left_out_and_cannot_be_read_moves_nothing(self) -> None:
        operator = sales([]).where(fl.col("price") > 0).window(fl.tumbling("1 minute")).agg(n=fl.count()).operator()
        operator.add([{"ts": 1, "price": 1}, {"ts": None, "price": -1}])
        assert operator.watermark == 1 * S
        operator.add([{"ts": 90, "price": -1}, {"ts": 40, "price": -1}, {"ts": 30, "price": 1}])
        assert operator.watermark == 90 * S
        assert operator.accounting.filtered == 3

    def test_it_does_not_move_it_if_it_is_too_far_ahead(self) -> None:
        told = sales([], ahead="1 minute").where(fl.col("price") > 0).window(fl.tumbling("1 minute"))
        operator = told.agg(n=fl.count()).operator()
        operator.add([{"ts": 10, "price": 1}], clock=0)
        operator.add([{"ts": 1_000, "price": -1}], clock=1 * S)
        assert operator.watermark == 10 * S

    def test_record_by_record_it_counts_after_its_bundle(self) -> None:
        """Kafka's rule judges records by those before them in the bundle; what is left out is not among them."""
        records = [{"ts": second, "price": price} for second, price in [(1, 3), (61, -1), (2, 4), (3, 5)]]
        stream = sales(records, rows=3, watermark=fl.stream_time()).where(fl.col("price") > 0)
        result = stream.window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert rows(result, "n") == [(2,)]
        assert [one["record"]["ts"] for one in result.dead_letters.to_pylist()] == [3]

    def test_malformed_records_are_letters_whatever_the_condition_says(self) -> None:
        """Values that do not fit come before the condition, which would find nothing to compare."""
        records = [{"ts": 1, "price": 3}, {"ts": 2, "price": "dear"}, {"ts": 3, "price": -3}]
        result = sales(records).where(fl.col("price") > 0).window(fl.tumbling("1 minute")).agg(n=fl.count())
        with pytest.warns(fl.FanlightWarning, match="'dear'"):
            found = rows(result, "n")
        assert found == [(1,)]
        (letter,) = result.dead_letters.to_pylist()
        assert (letter["reason"], letter["record"]) == ("malformed", {"ts": 2, "price": None})
        counts = result.accounting
        assert (counts.received, counts.accepted, counts.filtered, counts.dead_letters) == (3, 1, 1, 1)

    def test_duplicates_are_no_filtered_records(self) -> None:
        operator = sales([]).where(fl.col("price") > 0).sort().operator()
        operator.add([{"ts": 1, "price": -1}, {"ts": 2, "price": 1}], offset=0)
        operator.add([{"ts": 1, "price": -1}, {"ts": 2, "price": 1}, {"ts": 3, "price": -1}], offset=0)
        counts = operator.accounting
        assert (counts.received, counts.accepted, counts.duplicates, counts.filtered) == (5, 1, 2, 2)

    def test_a_hook_sees_what_is_left(self) -> None:
        seen: list[Any] = []

        def hook(batch: pa.RecordBatch) -> pa.RecordBatch:
            seen.extend(batch.column("price").to_pylist())
            return batch.slice(1)

        operator = sales([]).where(fl.col("price") > 0).sort().operator(before_process=hook)
        operator.add(SALES)
        assert seen == [3, 5, 2]
        counts = operator.accounting
        assert (counts.received, counts.accepted, counts.filtered, counts.dropped) == (5, 2, 2, 1)

    @pytest.mark.parametrize(
        ("condition", "told"),
        [
            ("price > 0", "is text, not an expression"),
            (True, "is True or False, not an expression"),
            (lambda batch: batch, "is a function, not an expression"),
        ],
        ids=["text", "bool", "function"],
    )
    def test_what_is_no_condition_is_refused(self, condition: Any, told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            sales().where(condition)

    def test_a_condition_that_the_columns_do_not_allow(self) -> None:
        with pytest.raises(fl.SpecError, match="Did you mean 'price'"):
            sales().where(fl.col("prise") > 0).sort().table()
        with pytest.raises(fl.SpecError, match="a condition is true or false"):
            sales().where(fl.col("price") + 1).sort().table()


class TestSelect:
    def test_columns_are_chosen_computed_and_renamed(self) -> None:
        result = sales(SALES[:1]).select("ts", place="shop", cost=fl.col("price") * fl.col("pieces")).sort()
        assert result.table().to_pylist() == [{"ts": 1, "place": "n", "cost": 6}]

    def test_the_time_may_get_another_name(self) -> None:
        result = sales().select("shop", at="ts").key_by("shop").window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert result.spec.time == "at"
        assert rows(result, "shop", "n") == [("n", 2), ("s", 2), ("n", 1)]

    def test_and_another_after_that(self) -> None:
        once = sales().select("price", at="ts").where(fl.col("price") > 0)
        result = once.select("price", sold=fl.col("at")).sort()
        assert result.table().column_names == ["price", "sold"]
        assert rows(result, "sold") == [(1,), (12,), (61,)]
        assert result.accounting.filtered == 2

    def test_what_is_left_out_after_a_renaming_moves_the_watermark(self) -> None:
        records = [{"ts": second, "price": price} for second, price in [(1, 3), (61, -1), (2, 4)]]
        renamed = sales(records).select("price", at="ts").where(fl.col("price") > 0)
        result = renamed.window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert rows(result, "n") == [(1,)]
        assert [one["record"] for one in result.dead_letters.to_pylist()] == [{"price": 4, "at": 2}]

    def test_a_condition_before_protects_what_is_computed(self) -> None:
        shares = sales().where(fl.col("pieces") > 1).select("ts", share=pc.scalar(8) / (fl.col("pieces") - 1))
        assert rows(shares.sort(), "share") == [(8,), (2,)]

    def test_the_time_must_stay(self) -> None:
        with pytest.raises(fl.SpecError, match=r"select: the column of times, 'ts', is left out.*select\('ts', …\)"):
            sales().select("shop", "price")
        with pytest.raises(fl.SpecError, match="'at', is left out"):
            sales().select("price", at="ts").select("price", "ts")

    def test_a_computed_time_is_not_the_time(self) -> None:
        with pytest.raises(fl.SpecError, match="'ts', is left out"):
            sales().select(ts=fl.col("ts") + 1)

    def test_what_says_changes_must_stay(self) -> None:
        changes = fl.stream([], time="ts", unit="s", op="op", unique="id")
        with pytest.raises(fl.SpecError, match="'op' is left out, which says what a record changes"):
            changes.select("ts", "id")
        with pytest.raises(fl.SpecError, match="'id' is left out"):
            changes.select("ts", "op")

    def test_malformed_records_have_the_columns_of_the_others(self) -> None:
        records = [{"ts": 1, "price": 3}, {"ts": 2, "price": "dear"}]
        result = sales(records).select("ts", double=fl.col("price") * 2).sort()
        with pytest.warns(fl.FanlightWarning, match="'dear'"):
            found = rows(result, "double")
        assert found == [(6,)]
        assert [one["record"] for one in result.dead_letters.to_pylist()] == [{"ts": 2, "double": None}]


class TestResultsAndUnions:
    def test_where_on_a_result_is_counted_at_the_next_stage(self) -> None:
        counts = sales().key_by("shop").window(fl.tumbling("10 s")).agg(n=fl.count(), most=fl.max("price"))
        result = counts.where(fl.col("n") > 1).window(fl.tumbling("1 minute")).agg(windows=fl.count())
        assert rows(result, "windows") == [(1,)]
        assert [stage.accounting.filtered for stage in result.stages] == [0, 3]
        assert all(stage.accounting.adds_up for stage in result.stages)
        assert len(counts.table()) == 4, "the result itself is as it was"

    def test_select_on_a_result_keeps_its_time(self) -> None:
        counts = sales().key_by("shop").window(fl.tumbling("10 s")).agg(n=fl.count())
        result = counts.select("shop", "n", at="window_time").sort("shop")
        assert rows(result, "shop", "n") == [("n", 2), ("s", 1), ("s", 1), ("n", 1)]
        with pytest.raises(fl.SpecError, match="'window_time', is left out"):
            counts.select("shop", "n")

    def test_on_an_input_of_a_union_and_on_the_union(self) -> None:
        web = sales().where(fl.col("price") > 0).select("ts", "price")
        other = fl.stream([{"at": 3, "cents": 500}, {"at": 4, "cents": 100}], time="at", unit="s", rows=1, delay="0 s")
        alike = other.select(ts="at", price=fl.col("cents") / 100)
        result = fl.union(web=web, shop=alike).where(fl.col("price") < 5).window(fl.tumbling("1 minute"))
        totals = result.agg(n=fl.count(), total=fl.sum("price"))
        assert rows(totals, "n", "total") == [(2, 4), (1, 2)]
        own = totals.accounting_by_input
        assert {name: one.filtered for name, one in own.items()} == {"web": 3, "shop": 1}
        assert all(one.adds_up for one in own.values())

    def test_a_union_is_filtered_by_its_inputs(self) -> None:
        union = fl.union(web=sales(), shop=sales()).where(fl.col("input") == "web")
        assert rows(union.select("ts", "input").sort(), "ts", "input") == [(one["ts"], "web") for one in SALES]

    def test_explain_says_it(self) -> None:
        told = sales().where(fl.col("price") > 0).select("ts", "price").sort().explain()
        assert "after      where (price > 0), then select ts, price" in told


class TestTimes:
    def test_a_function_gives_the_times(self) -> None:
        lines = pa.table({"line": ["00:00:05 tea", "00:01:10 tea", "00:00:07 milk"]})

        def spoken_at(batch: pa.RecordBatch) -> Any:
            stamps = pc.utf8_slice_codeunits(batch["line"], 0, 8)
            return pc.strptime(pc.binary_join_element_wise("1970-01-01", stamps, " "), "%Y-%m-%d %H:%M:%S", "us")

        stream = fl.stream(lines, time=spoken_at, rows=1, delay="0 s")
        result = stream.window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert rows(result, "n") == [(1,), (1,)]
        (letter,) = result.dead_letters.to_pylist()
        assert letter["record"]["line"] == "00:00:07 milk"
        assert letter["record"]["event_time"].second == 7

    def test_whole_numbers_of_a_function_count_the_unit(self) -> None:
        stream = fl.stream(SALES, time=lambda batch: pc.multiply(batch["ts"], 60), unit="s")
        assert rows(stream.window(fl.tumbling("10 minutes")).agg(n=fl.count()), "n") == [(3,), (1,), (1,)]

    def test_conditions_see_the_times_and_select_keeps_them(self) -> None:
        stream = fl.stream(SALES, time=lambda batch: batch["ts"], unit="s").where(fl.col("event_time") > 4)
        assert rows(stream.select("price", at="event_time").sort(), "at") == [(5,), (8,), (12,), (61,)]
        with pytest.raises(fl.SpecError, match="'event_time', is left out"):
            stream.select("ts")

    def test_a_function_that_gives_too_few_is_an_error(self) -> None:
        stream = fl.stream(SALES, time=lambda batch: batch["ts"].slice(1), unit="s")
        with pytest.raises(fl.InputError, match="4 values for 5 records"):
            stream.sort().table()

    def test_null_times_of_a_function_are_letters(self) -> None:
        stream = fl.stream(SALES, time=lambda batch: batch["price"], unit="s", delay="1 minute")
        result = stream.sort()
        assert rows(result, "event_time") == [(-1,), (2,), (3,), (5,)]
        assert [one["reason"] for one in result.dead_letters.to_pylist()] == ["null_time"]


class TestControlRows:
    ROWS = (
        {"ts": 1, "n": 1, "until": None},
        {"ts": 70, "n": 1, "until": None},
        {"ts": 2, "n": 1, "until": None},
        {"ts": None, "n": None, "until": 60},
        {"ts": 3, "n": 1, "until": None},
        {"ts": 71, "n": 1, "until": None},
    )

    def test_they_alone_say_the_watermark(self) -> None:
        """70 closes nothing; the row that says 60 closes the first minute, and 3 is late then."""
        stream = sales(self.ROWS, watermark=fl.control("until"))
        result = stream.window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
        assert rows(result, "n") == [(2,), (2,)]
        (letter,) = result.dead_letters.to_pylist()
        assert (letter["reason"], letter["record"]) == ("expired", {"ts": 3, "n": 1})
        assert (result.accounting.received, result.accounting.accepted) == (5, 4)

    def test_a_watermark_counts_after_its_bundle(self) -> None:
        stream = sales(self.ROWS, rows=6, watermark=fl.control("until"))
        result = stream.window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
        assert rows(result, "n") == [(3,), (2,)]
        assert len(result.dead_letters) == 0

    def test_rows_that_say_no_more_than_before_change_nothing(self) -> None:
        operator = (
            sales([], watermark=fl.control("until")).window(fl.tumbling("1 minute")).agg(n=fl.sum("n")).operator()
        )
        operator.add([{"ts": 1, "n": 1, "until": None}])
        operator.add([{"ts": None, "n": None, "until": 60}])
        operator.add([{"ts": None, "n": None, "until": 30}])
        assert operator.watermark == 60 * S
        assert operator.take().column("n").to_pylist() == [1]

    def test_they_come_before_conditions(self) -> None:
        """The condition is null for them, and the column of watermarks is not there for it to read."""
        stream = sales(self.ROWS, watermark=fl.control("until")).where(fl.col("n") > 0).select("ts", "n")
        result = stream.window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
        assert rows(result, "n") == [(2,), (2,)]
        assert result.accounting.filtered == 0
        gone = sales(self.ROWS, watermark=fl.control("until")).where(fl.col("until").is_null())
        with pytest.raises(fl.SpecError, match="'until', which is not there"):
            gone.sort().table()

    def test_each_input_of_a_union_may_have_them(self) -> None:
        web = sales(self.ROWS, watermark=fl.control("until"))
        shop = sales([{"ts": 4, "n": 10}, {"ts": 5, "n": 10}, {"ts": 90, "n": 10}])
        result = fl.union(web=web, shop=shop).window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
        assert sum(n for (n,) in rows(result, "n")) == 34
        assert [one["record"]["input"] for one in result.dead_letters.to_pylist()] == ["web"]

    def test_a_column_that_is_missing(self) -> None:
        with pytest.raises(fl.InputError, match="'until' is not in the input"):
            sales(watermark=fl.control("until")).sort().table()


class TestByHand:
    def test_dicts_are_prepared_too(self) -> None:
        stream = sales([]).where(fl.col("price") > 0).select("ts", cost=fl.col("price") * fl.col("pieces"))
        operator = stream.window(fl.tumbling("1 minute")).agg(total=fl.sum("cost")).operator()
        for sale in SALES:
            operator.add(sale)
        operator.end()
        assert operator.take().column("total").to_pylist() == [26, 2]
        assert operator.accounting.filtered == 2

    def test_the_columns_may_be_said_before(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "price": pa.float64()})
        stream = fl.stream([], time="ts", unit="s", schema=schema).select("ts", double=fl.col("price") * 2)
        operator = stream.sort().operator()
        operator.add({"ts": 1, "price": 3})
        operator.end()
        assert operator.take().to_pylist() == [{"ts": 1, "double": 6.0}]

    def test_a_snapshot_knows_the_columns_after_it(self) -> None:
        result = sales([]).where(fl.col("price") > 0).select("shop", at="ts").key_by("shop")
        windows = result.window(fl.tumbling("1 minute")).agg(n=fl.count())
        operator = windows.operator()
        operator.add(SALES[:2])
        again = fl.WindowOperator.restore(windows.spec, operator.snapshot(), intakes=windows.embedded_run().intakes)
        again.add(SALES[2:])
        again.end()
        assert again.take().select(["shop", "n"]).to_pylist() == [
            {"shop": "n", "n": 1},
            {"shop": "s", "n": 1},
            {"shop": "n", "n": 1},
        ]
        assert again.accounting.filtered == 2
