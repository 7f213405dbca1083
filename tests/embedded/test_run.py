"""Pipelines from their source to their end: whatever they read, however it is cut, the same rows leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.time.timestamp import timestamp
from fanlight.operators.accounting import Accounting

S = 1_000_000
ORDERS = pa.table(
    {
        "ts": [1, 4, 12, 9, 25, 14],
        "k": ["tea", "milk", "tea", "tea", None, "milk"],
        "shop": [1, 1, 2, 1, 2, 2],
        "v": [3, 5, 2, 4, 6, 1],
    }
)
"""In windows of ten seconds: [0, 10) has 1, 4 and 9; [10, 20) has 12 and 14; [20, 30) has 25."""

TOTALS = [("milk", 0, 1, 5), ("tea", 0, 2, 7), ("milk", 10, 1, 1), ("tea", 10, 1, 2), (None, 20, 1, 6)]


def totals(source: Any, **options: Any) -> fl.Result:
    """Count and sum by key; 9 comes after 12, and 14 after 25, so the delay must be 11 to wait for both."""
    stream = fl.stream(source, time="ts", unit="s", delay="11 s", **options)
    return stream.key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count(), total=fl.sum("v"))


def said(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """Rows as tuples: the key, the start of the window in seconds, then these columns."""
    return [
        (row.get("k"), int(row["window"]["start"].timestamp()), *(row[column] for column in columns))
        for row in table.to_pylist()
    ]


def fired(result: fl.Result) -> list[tuple[Any, ...]]:
    """Firings as (op, timing, index, start of the window, count)."""
    return [
        (row["pane"]["op"], row["pane"]["timing"], row["pane"]["number"], start, n)
        for row, (_, start, n) in zip(result.table().to_pylist(), said(result.table(), "n"), strict=True)
    ]


def as_polars(table: pa.Table) -> Any:
    return pl.from_arrow(table)


def as_pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def with_column(name: str, change: Callable[[Any], Any]) -> pa.Table:
    place = ORDERS.schema.get_field_index(name)
    return ORDERS.set_column(place, name, change(ORDERS[name]))


SOURCES: dict[str, Callable[[], Any]] = {
    "table": lambda: ORDERS,
    "batch": lambda: ORDERS.to_batches()[0],
    "reader": lambda: ORDERS.to_reader(max_chunksize=2),
    "list of dicts": ORDERS.to_pylist,
    "iterator of dicts": lambda: iter(ORDERS.to_pylist()),
    "generator of dicts": lambda: (dict(record) for record in ORDERS.to_pylist()),
    "list of batches": lambda: ORDERS.to_batches(max_chunksize=4),
    "generator of tables": lambda: (ORDERS.slice(start, 2) for start in (0, 2, 4)),
    "pandas": lambda: as_pandas(ORDERS),
    "several pandas": lambda: [as_pandas(ORDERS.slice(0, 4)), as_pandas(ORDERS.slice(4))],
    "polars": lambda: as_polars(ORDERS),
    "dictionary keys": lambda: with_column("k", lambda k: k.dictionary_encode()),
    "dictionary keys of several batches": lambda: [
        part.set_column(1, "k", part["k"].dictionary_encode()) for part in (ORDERS.slice(0, 3), ORDERS.slice(3))
    ],
    "string views": lambda: with_column("k", lambda k: k.cast(pa.string_view())),
    "large strings": lambda: with_column("k", lambda k: k.cast(pa.large_string())),
    "times in a dictionary": lambda: with_column("ts", lambda ts: ts.dictionary_encode()),
    "times as timestamps": lambda: with_column("ts", lambda ts: ts.cast(pa.timestamp("s"))),
    "times as text": lambda: with_column("ts", lambda ts: ts.cast(pa.timestamp("s", "UTC")).cast(pa.string())),
}


class TestSources:
    @pytest.mark.parametrize("kind", SOURCES)
    @pytest.mark.parametrize("rows", [None, 1, 4])
    def test_every_kind_gives_the_same_rows(self, kind: str, rows: int | None) -> None:
        result = totals(SOURCES[kind](), rows=rows)
        assert said(result.table(), "n", "total") == TOTALS
        assert result.accounting == Accounting(6, 6, 0, 0)
        assert result.dead_letters.num_rows == 0

    def test_a_generator_is_read_as_rows_are_asked_for(self) -> None:
        """41 less the delay is 30: [0, 10) and [10, 20) close. What follows is not read until more rows are wanted."""
        read = []

        def records() -> Iterator[dict[str, Any]]:
            for ts in (1, 12, 41, 99):
                read.append(ts)
                yield {"ts": ts, "k": "tea", "v": 1}

        rows = iter(totals(records(), rows=1))
        assert said(next(rows), "n") == [("tea", 0, 1), ("tea", 10, 1)]
        assert read == [1, 12, 41]

    def test_a_stream_view_of_text_is_text_in_the_result(self) -> None:
        for kind in ("string views", "dictionary keys"):
            assert totals(SOURCES[kind]()).table().schema.field("k").type == pa.string()

    def test_views_may_be_dead_letters(self) -> None:
        """Polars hands over views, so its frames must be able to hold records that cannot be used."""
        views = pa.table(
            {"ts": pa.array([1, None, 2]), "k": pa.array(["a", "b", "a"], pa.string_view()), "v": [1, 2, 3]}
        )
        result = totals(views)
        assert said(result.table(), "n", "total") == [("a", 0, 2, 4)]
        assert result.dead_letters.column("record").to_pylist() == [{"ts": None, "k": "b", "v": 2}]

    def test_frames_of_polars_may_have_dead_letters(self) -> None:
        frame = pl.DataFrame({"ts": [1, None, 2], "k": ["a", "b", "a"], "v": [1, 2, 3]})
        result = totals(frame)
        assert said(result.table(), "n", "total") == [("a", 0, 2, 4)]
        assert result.dead_letters.column("reason").to_pylist() == ["null_time"]


class TestKeys:
    def test_without_one_there_is_one_group(self) -> None:
        windowed = fl.stream(ORDERS, time="ts", unit="s").window(fl.tumbling("10 s"))
        result = windowed.agg(total=fl.sum("v"))
        assert result.table().schema.names == ["window", "total"]
        assert said(result.table(), "total") == [(None, 0, 12), (None, 10, 3), (None, 20, 6)]

    def test_several_are_one_group_for_each_combination(self) -> None:
        stream = fl.stream(ORDERS, time="ts", unit="s").key_by("k", "shop")
        result = stream.window(fl.global_window()).agg(n=fl.count())
        rows = [(row["k"], row["shop"], row["n"]) for row in result.table().to_pylist()]
        assert rows == [("milk", 1, 1), ("milk", 2, 1), ("tea", 1, 2), ("tea", 2, 1), (None, 2, 1)]

    def test_the_last_key_by_counts(self) -> None:
        stream = fl.stream(ORDERS, time="ts", unit="s").key_by("k").key_by("shop")
        assert stream.window(fl.global_window()).agg(n=fl.count()).table().column("shop").to_pylist() == [1, 2]

    def test_one_without_columns_is_refused(self) -> None:
        with pytest.raises(fl.SpecError, match=r"needs at least one column\. Leave key_by out"):
            fl.stream(ORDERS, time="ts").key_by()

    @pytest.mark.parametrize("names", [["index"], ["mark", "pending"], ["rows", "time", "arrival"], ["0.sum", "v.k"]])
    def test_they_may_be_called_what_they_like(self, names: list[str]) -> None:
        """Chunks have columns of their own; a user's column of the same name must not meet them."""
        table = pa.table({"at": [1, 2, 11], **{name: ["a", "b", "a"] for name in names}})
        windowed = fl.stream(table, time="at", unit="s").key_by(*names).window(fl.tumbling("10 s"), lateness="5 s")
        pipeline = windowed.retracting().agg(n=fl.count(), all=fl.list("at"))
        operator = pipeline.operator()
        operator.add(table.slice(0, 2))
        operator = fl.WindowOperator.restore(pipeline.spec, operator.snapshot())
        operator.add(table.slice(2))
        operator.end()
        rows = operator.take().to_pylist()
        assert [(row[names[0]], row["n"], row["all"]) for row in rows] == [("a", 1, [1]), ("b", 1, [2]), ("a", 1, [11])]


class TestResults:
    def test_batches_and_the_table_have_the_same_rows(self) -> None:
        in_batches = [row for batch in totals(ORDERS, rows=1) for row in batch.to_pylist()]
        assert in_batches == totals(ORDERS, rows=1).table().to_pylist()

    def test_the_table_may_be_read_again_and_again(self) -> None:
        result = totals(iter(ORDERS.to_pylist()))
        assert result.table() is not None
        assert result.table().equals(result.table())
        assert [row for batch in result for row in batch.to_pylist()] == result.table().to_pylist()

    def test_a_source_is_not_read_twice_by_accident(self) -> None:
        result = totals(ORDERS)
        list(result)
        with pytest.raises(fl.InputError, match="has been read already"):
            list(result)

    def test_after_the_last_batch_the_counts_and_the_dead_letters_are_there(self) -> None:
        result = totals([{"ts": 1, "k": "a", "v": 1}, {"ts": None, "k": "b", "v": 2}])
        assert sum(batch.num_rows for batch in result) == 1
        assert result.accounting == Accounting(2, 1, 0, 1)
        assert result.dead_letters.column("reason").to_pylist() == ["null_time"]

    def test_there_is_a_pane_only_where_one_can_fire_more_than_once(self) -> None:
        stream = fl.stream(ORDERS, time="ts", unit="s", delay="0 s", rows=9)
        windowed = stream.window(fl.tumbling("10 s"))
        late = stream.window(fl.tumbling("10 s"), lateness="1 s")
        once = [windowed, windowed.trigger(fl.never()), late.trigger(fl.at_expiry())]
        often = [late, windowed.trigger(fl.at_watermark(early=fl.after(9))), windowed.closing(last="always")]
        for pipeline in once:
            assert "pane" not in pipeline.agg(n=fl.count()).table().schema.names
        for pipeline in often:
            assert "pane" in pipeline.agg(n=fl.count()).table().schema.names

    def test_a_dead_letter_has_its_reason_its_watermark_and_the_whole_record(self) -> None:
        """Without delay the record at 12 moves the watermark to 12, and the one at 9 comes when [0, 10) is over."""
        result = (
            fl.stream(ORDERS, time="ts", unit="s", rows=1, delay="0 s").window(fl.tumbling("10 s")).agg(n=fl.count())
        )
        assert result.accounting == Accounting(6, 4, 0, 2, missed_windows=2)
        assert result.dead_letters.to_pylist() == [
            {
                "reason": "expired",
                "watermark": datetime(1970, 1, 1, second=watermark, tzinfo=UTC),
                "detail": None,
                "record": ORDERS.slice(place, 1).to_pylist()[0],
            }
            for place, watermark in ((3, 12), (5, 25))
        ]

    def test_a_pipeline_is_an_operator_too(self) -> None:
        operator = totals([]).operator()
        operator.add(ORDERS)
        operator.end()
        assert said(operator.take(), "n", "total") == TOTALS


class TestCuts:
    @pytest.mark.parametrize("rows", [1, 2, 3, 5, 6, 100])
    def test_rows_make_bundles_and_bundles_make_steps(self, rows: int) -> None:
        """Fired after every update: as many early firings as there are (step, pane) pairs, and the same last values."""
        windowed = fl.stream(ORDERS, time="ts", unit="s", delay="1 h", rows=rows).window(fl.tumbling("10 s"))
        result = windowed.trigger(fl.at_watermark(early=fl.after(1))).agg(n=fl.count())
        times = ORDERS["ts"].to_pylist()
        touched = sum(len({ts // 10 for ts in times[i : i + rows]}) for i in range(0, 6, rows))
        early = [row for row in fired(result) if row[1] == "EARLY"]
        assert len(early) == touched
        assert {row[3]: row[4] for row in fired(result)} == {0: 3, 10: 2, 20: 1}

    @given(
        st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab")), min_size=1, max_size=30),
        st.integers(1, 31),
        st.sampled_from([fl.tumbling("10 s"), fl.hopping("10 s", every="5 s"), fl.hopping("10 s", every="4 s")]),
    )
    def test_no_cut_changes_a_final_value(self, records: list[tuple[int, str]], rows: int, kind: Any) -> None:
        """An hour of lateness: nothing comes too late, however the records are cut. The last row of a pane stands."""
        table = pa.table({"ts": [ts for ts, _ in records], "k": [k for _, k in records]})

        def standing(rows: int) -> dict[Any, Any]:
            stream = fl.stream(table, time="ts", unit="s", rows=rows, delay="0 s").key_by("k")
            windowed = stream.window(kind, lateness="1 h")
            result = windowed.agg(n=fl.count(), all=fl.list("ts"), last=fl.last("ts"))
            assert result.accounting.accepted == len(records)
            return {row[:2]: row[2:] for row in said(result.table(), "n", "all", "last")}

        assert standing(rows) == standing(len(records))


class TestAccumulation:
    """Bundles of one record, windows of ten seconds with ten of lateness: 1, 12 (closes the first), 5 (late), 30."""

    RECORDS = pa.table({"ts": [1, 12, 5, 30]})

    def windowed(self) -> fl.Windowed:
        return fl.stream(self.RECORDS, time="ts", unit="s", rows=1, delay="0 s").window(
            fl.tumbling("10 s"), lateness="10 s"
        )

    def test_accumulating_carries_all_so_far(self) -> None:
        assert fired(self.windowed().agg(n=fl.count())) == [
            ("+I", "ON_TIME", 0, 0, 1),
            ("+U", "LATE", 1, 0, 2),
            ("+I", "ON_TIME", 0, 10, 1),
            ("+I", "ON_TIME", 0, 30, 1),
        ]

    def test_discarding_carries_what_came_since(self) -> None:
        assert fired(self.windowed().discarding().agg(n=fl.count())) == [
            ("+I", "ON_TIME", 0, 0, 1),
            ("+I", "LATE", 1, 0, 1),
            ("+I", "ON_TIME", 0, 10, 1),
            ("+I", "ON_TIME", 0, 30, 1),
        ]

    def test_retracting_takes_the_row_before_back(self) -> None:
        assert fired(self.windowed().retracting().agg(n=fl.count())) == [
            ("+I", "ON_TIME", 0, 0, 1),
            ("-U", "LATE", 1, 0, 1),
            ("+U", "LATE", 1, 0, 2),
            ("+I", "ON_TIME", 0, 10, 1),
            ("+I", "ON_TIME", 0, 30, 1),
        ]

    def test_the_last_word_counts(self) -> None:
        pipeline = self.windowed().retracting().discarding().accumulating()
        assert fired(pipeline.agg(n=fl.count())) == fired(self.windowed().agg(n=fl.count()))


class TestTriggers:
    def test_early_firings_leave_before_the_close_and_late_ones_after(self) -> None:
        """1 and 2 make two, an early firing; 3 is pending when 12 closes the window; 4 is one of two late ones."""
        records = pa.table({"ts": [1, 2, 3, 12, 4, 5]})
        windowed = fl.stream(records, time="ts", unit="s", rows=1, delay="0 s").window(
            fl.tumbling("10 s"), lateness="1 min"
        )
        result = windowed.trigger(fl.at_watermark(early=fl.after(2), late=fl.after(2))).agg(n=fl.count())
        assert [row for row in fired(result) if row[3] == 0] == [
            ("+I", "EARLY", 0, 0, 2),
            ("+U", "ON_TIME", 1, 0, 3),
            ("+U", "LATE", 2, 0, 5),
        ]

    def test_what_late_triggers_hold_back_leaves_at_the_end(self) -> None:
        records = pa.table({"ts": [1, 12, 4]})
        windowed = fl.stream(records, time="ts", unit="s", rows=1, delay="0 s").window(
            fl.tumbling("10 s"), lateness="1 min"
        )
        result = windowed.trigger(fl.at_watermark(late=fl.after(2))).agg(n=fl.count())
        assert [row for row in fired(result) if row[3] == 0] == [("+I", "ON_TIME", 0, 0, 1), ("+U", "LATE", 1, 0, 2)]

    def test_updated_only_holds_back_what_was_said(self) -> None:
        """Each record is a new one, but only the second raises the maximum."""
        records = pa.table({"ts": [1, 2, 3], "v": [5, 9, 7]})
        windowed = fl.stream(records, time="ts", unit="s", rows=1, delay="0 s").window(fl.tumbling("10 s"))
        every_update = fl.at_watermark(early=fl.after(1))
        loud = windowed.trigger(every_update).agg(n=fl.max("v"))
        quiet = windowed.trigger(every_update, updated_only=True).agg(n=fl.max("v"))
        assert [row[4] for row in fired(loud)] == [5, 9, 9, 9]
        assert [row[4] for row in fired(quiet)] == [5, 9]

    def test_a_clock_may_be_a_column(self) -> None:
        """The greatest arrival of a bundle is its clock: 8, 12 and 19 s. A multiple of ten lies between 8 and 12.

        Whole numbers in it count the unit of the stream, as those in the time column do.
        """
        records = pa.table({"ts": [1, 2, 3], "arrived": [8, 12, 19]})
        for arrived in (records["arrived"], records["arrived"].cast(pa.timestamp("s", "UTC"))):
            table = records.set_column(1, "arrived", arrived)
            stream = fl.stream(table, time="ts", unit="s", rows=1, delay="0 s", clock="arrived").window(
                fl.tumbling("10 s")
            )
            result = stream.trigger(fl.at_watermark(early=fl.every("10 s"))).agg(n=fl.count())
            assert fired(result) == [("+I", "EARLY", 0, 0, 2), ("+U", "ON_TIME", 1, 0, 3)]

    def test_a_clock_may_be_the_callers(self) -> None:
        moments = iter(
            ["1970-01-01T00:00:08Z", timestamp("1970-01-01T00:00:12Z"), datetime(1970, 1, 1, 0, 0, 19, 0, UTC)]
        )
        windowed = fl.stream(
            pa.table({"ts": [1, 2, 3]}), time="ts", unit="s", rows=1, delay="0 s", clock=lambda: next(moments)
        ).window(fl.tumbling("10 s"))
        result = windowed.trigger(fl.at_watermark(early=fl.every("10 s"))).agg(n=fl.count())
        assert fired(result) == [("+I", "EARLY", 0, 0, 2), ("+U", "ON_TIME", 1, 0, 3)]

    def test_windows_may_be_cut_by_the_clock(self) -> None:
        """The time column is not read: it need not even be there."""
        records = pa.table({"arrived": [8 * S, 9 * S, 12 * S]})
        stream = fl.stream(records, time="none", unit="us", rows=1, delay="0 s", clock="arrived")
        result = stream.window(fl.tumbling("10 s", domain="processing")).agg(n=fl.count())
        assert said(result.table(), "n") == [(None, 0, 2), (None, 10, 1)]

    def test_stamps_follow_the_end_or_the_records(self) -> None:
        """Of [0, 10) with 1, 4 and 9: the last instant before 10, the least time, the greatest."""
        stream = fl.stream(ORDERS, time="ts", unit="s", delay="11 s", rows=9)
        windowed = stream.window(fl.tumbling("10 s"), lateness="1 s")
        stamps = {}
        for word in ("end", "earliest", "latest"):
            row = windowed.stamped(word).agg(n=fl.count()).table().to_pylist()[0]
            stamps[word] = timestamp(row["pane"]["time"])
        assert stamps == {"end": 10 * S - 1, "earliest": 1 * S, "latest": 9 * S}

    def test_the_instant_before_the_end_is_a_tick(self) -> None:
        windowed = fl.stream(ORDERS, time="ts", unit="s", delay="11 s", tick="1 s").window(fl.tumbling("10 s"))
        row = windowed.closing(last="always").agg(n=fl.count()).table().to_pylist()[0]
        assert timestamp(row["pane"]["time"]) == 9 * S


class TestSemantics:
    def test_kafka_has_no_window_before_the_epoch(self) -> None:
        """A record at 3 is in [-5, 5) and [0, 10); the first starts before 1970 and does not exist for Kafka."""
        windowed = fl.stream(pa.table({"ts": [3]}), time="ts", unit="s").window(fl.hopping("10 s", every="5 s"))
        assert [row[1] for row in said(windowed.agg(n=fl.count()).table())] == [-5, 0]
        assert [row[1] for row in said(windowed.semantics("kafka").agg(n=fl.count()).table())] == [0]

    def test_a_record_that_no_window_takes_is_a_dead_letter(self) -> None:
        windowed = fl.stream(pa.table({"ts": [-1, 1]}), time="ts", unit="s").window(fl.tumbling("10 s"))
        result = windowed.semantics("kafka").agg(n=fl.count())
        assert said(result.table(), "n") == [(None, 0, 1)]
        assert result.dead_letters.column("reason").to_pylist() == ["no_window"]

    def test_gaps_between_windows_have_dead_letters(self) -> None:
        kind = fl.hopping("5 s", every="10 s", gaps=True)
        result = fl.stream(pa.table({"ts": [4, 5, 9, 10]}), time="ts", unit="s").window(kind).agg(n=fl.count())
        assert said(result.table(), "n") == [(None, 0, 1), (None, 10, 1)]
        assert result.dead_letters.column("reason").to_pylist() == ["no_window", "no_window"]

    def test_a_value_of_ones_own_is_taken_as_it_is(self) -> None:
        windowed = fl.stream(ORDERS, time="ts").window(fl.tumbling("10 s"))
        rules = fl.Semantics(late_by=fl.LateBy.RECORD)
        assert windowed.semantics(rules).agg(n=fl.count()).spec.semantics == rules

    def test_closing_says_what_leaves_with_nothing_new(self) -> None:
        """One record, fired early; at the close and at the expiry nothing is new."""

        def timings(**rules: str) -> list[str]:
            windowed = fl.stream(pa.table({"ts": [1]}), time="ts", unit="s").window(fl.tumbling("10 s"), lateness="5 s")
            early = windowed.trigger(fl.at_watermark(early=fl.after(1))).closing(**rules)
            operator = early.agg(n=fl.count()).operator()
            operator.add([{"ts": 1}])
            operator.advance(watermark=10 * S)
            operator.advance(watermark=15 * S)
            return [row["pane"]["timing"] for row in operator.take().to_pylist()]

        assert timings() == ["EARLY", "ON_TIME"]  # there is content
        assert timings(on_time="if_new") == ["EARLY"]
        assert timings(on_time="always", last="always") == ["EARLY", "ON_TIME", "LATE"]
        assert timings(last="always") == ["EARLY", "ON_TIME", "LATE"]

    def test_stream_time_judges_record_by_record(self) -> None:
        """One bundle: the record at 12 ends [0, 10) for the 9 behind it, though they came together."""
        records = pa.table({"ts": [1, 12, 9]})
        windowed = fl.stream(records, time="ts", unit="s", watermark=fl.stream_time()).window(fl.tumbling("10 s"))
        result = windowed.agg(n=fl.count())
        assert said(result.table(), "n") == [(None, 0, 1), (None, 10, 1)]
        assert result.dead_letters.column("reason").to_pylist() == ["expired"]
