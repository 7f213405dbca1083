"""`window(…).top(n, by=…)` in this process, as a user has it: the first rows of each window, each with its rank."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl


def sold(ts: int, price: int | None, shop: str = "x", number: int = 1) -> dict[str, Any]:
    return {"ts": ts, "shop": shop, "price": price, "id": number}


SALES = [sold(1, 4), sold(2, 9, number=2), sold(3, 7, "y"), sold(4, 9), sold(5, None, "y"), sold(61, 2)]


def sales(came: list[dict[str, Any]] = SALES, **options: Any) -> fl.Stream:
    return fl.stream(came, time="ts", unit="s", **{"delay": "0 s", **options})


def minutes(came: list[dict[str, Any]] = SALES, **options: Any) -> Any:
    return sales(came, rows=1).key_by("shop").window(fl.tumbling("1 minute"), **options)


def ranked(result: fl.RowResult[Any]) -> list[tuple[Any, ...]]:
    return [(row["shop"], row["rank"], row["ts"]) for row in result.table().to_pylist()]


def told(result: fl.RowResult[Any]) -> list[tuple[str, int, int]]:
    return [(row["op"], row["rank"], row["price"]) for row in result.table().to_pylist()]


class TestFirstRows:
    def test_each_key_and_window_has_its_own(self) -> None:
        """2 and 4 are equal in price: the one with the lesser time is first."""
        assert ranked(minutes().top(2, by="price")) == [
            ("x", 1, 2),
            ("x", 2, 4),
            ("y", 1, 3),
            ("y", 2, 5),
            ("x", 1, 61),
        ]

    def test_a_row_has_the_columns_of_its_record_its_window_and_its_rank(self) -> None:
        table = minutes().top(1, by="price").table()
        assert table.column_names == ["ts", "shop", "price", "id", "window_start", "window_end", "rank"]
        assert table.column("window_end").cast(pa.int64()).to_pylist() == [60_000_000, 60_000_000, 120_000_000]

    def test_the_least_first(self) -> None:
        """Null is last, whichever comes first."""
        assert ranked(minutes().top(2, by=fl.asc("price")))[:4] == [("x", 1, 1), ("x", 2, 2), ("y", 1, 3), ("y", 2, 5)]

    def test_several_columns(self) -> None:
        assert ranked(minutes().top(2, by=("price", fl.asc("id"))))[:2] == [("x", 1, 4), ("x", 2, 2)]
        assert ranked(minutes().top(2, by=("price", fl.desc("id"))))[:2] == [("x", 1, 2), ("x", 2, 4)]

    def test_arrival_order_never_matters(self) -> None:
        one = ranked(sales().key_by("shop").window(fl.tumbling("1 min")).top(3, by="price"))
        assert one == ranked(sales(SALES[::-1]).key_by("shop").window(fl.tumbling("1 min")).top(3, by="price"))

    def test_without_keys_all_rows_compete(self) -> None:
        assert ranked(sales().window(fl.tumbling("1 h")).top(1, by="price")) == [("x", 1, 2)]

    def test_hopping_windows_share_rows(self) -> None:
        """A window starts every minute and is two long: the sale of 61 s competes with those of the first minute."""
        found = ranked(sales().window(fl.hopping("2 min", every="1 min")).top(1, by="price"))
        assert found == [("x", 1, 2), ("x", 1, 2), ("x", 1, 61)]

    def test_a_window_of_the_record_gives_way_to_the_one_it_is_first_in(self) -> None:
        """The hour's best of minute counts: rows of results are records like any other."""
        counts = minutes().agg(n=fl.count())
        best = counts.window(fl.tumbling("1 h")).top(1, by="n").table()
        assert best.column_names == ["shop", "n", "window_time", "window_start", "window_end", "rank"]
        assert best.column("window_end").cast(pa.int64()).to_pylist() == [3_600_000_000]

    def test_results_grouped_again_inside_their_windows(self) -> None:
        best = minutes().agg(n=fl.count()).rewindow().top(1, by="n")
        assert [(row["shop"], row["n"], row["rank"]) for row in best.table().to_pylist()] == [("x", 3, 1), ("x", 1, 1)]

    def test_dictionaries_are_decoded(self) -> None:
        batches = [
            pa.record_batch({"ts": [second], "shop": pa.array([shop]).dictionary_encode()})
            for second, shop in enumerate("bca")
        ]
        first = fl.stream(batches, time="ts", unit="s", delay="0 s").window(fl.tumbling("1 min")).top(2, by="shop")
        assert first.table().column("shop").to_pylist() == ["c", "b"]

    def test_windows_without_bounds_and_over_positions(self) -> None:
        everything = sales().window(fl.global_window()).top(1, by="price").table().to_pylist()
        assert [(row["window_start"], row["window_end"]) for row in everything] == [(None, None)]
        pairs = sales().window(fl.counting(2)).top(1, by=fl.asc("price")).table().to_pylist()
        assert [(row["window_start"], row["price"]) for row in pairs] == [(1, 4), (3, 7), (5, 2)]


class TestChanges:
    def test_a_late_record_changes_the_ranks_below_its_own(self) -> None:
        """8 comes late, between 9 and 4: rank 2 changes, rank 1 says nothing."""
        came = [sold(1, 4), sold(2, 9), sold(61, 1), sold(3, 8)]
        assert told(minutes(came, lateness="1 h").top(2, by="price")) == [
            ("+I", 1, 9),
            ("+I", 2, 4),
            ("-U", 2, 4),
            ("+U", 2, 8),
            ("+I", 1, 1),
        ]

    def test_accumulating_and_retracting_say_the_same(self) -> None:
        early = fl.at_watermark(early=fl.after(1))
        rows = [told(mode(minutes().trigger(early)).top(2, by=("price", "id"))) for mode in (_all_so_far, _taken_back)]
        assert rows[0] == rows[1]
        assert rows[0][:4] == [("+I", 1, 4), ("-U", 1, 4), ("+U", 1, 9), ("+I", 2, 4)]

    def test_a_window_in_which_nothing_changed_says_nothing(self) -> None:
        came = [sold(1, 9), sold(61, 1), sold(2, 3), sold(3, 4)]
        assert told(minutes(came, lateness="1 h").top(1, by="price")) == [("+I", 1, 9), ("+I", 1, 1)]

    def test_sessions_that_grow_together_are_taken_back(self) -> None:
        came = [sold(0, 4), sold(10, 9), sold(5, 7)]
        early = fl.at_watermark(early=fl.after(1))
        merged = sales(came, rows=1, delay="1 h").window(fl.session("7 s")).trigger(early).top(1, by="price")
        assert told(merged) == [("+I", 1, 4), ("+I", 1, 9), ("-D", 1, 4), ("-D", 1, 9), ("+I", 1, 9)]

    def test_a_row_that_is_taken_back_leaves_its_rank_to_the_next(self) -> None:
        """The changes of a table: 9 is deleted, so 7 moves up, and rank 2 is empty."""
        came = [{**sold(1, 9), "op": "+I"}, {**sold(2, 7), "op": "+I"}, {**sold(1, 9), "op": "-D"}]
        stream = fl.stream(came, time="ts", unit="s", rows=1, op="op", delay="1 h")
        early = fl.at_watermark(early=fl.after(1))
        assert told(stream.window(fl.tumbling("1 min")).trigger(early).top(2, by="price")) == [
            ("+I", 1, 9),
            ("+I", 2, 7),
            ("-U", 1, 9),
            ("+U", 1, 7),
            ("-D", 2, 7),
        ]

    def test_results_that_are_taken_back_can_be_ranked(self) -> None:
        """Shop y passes shop x with a late sale, and the ranks of the window follow."""
        came = [sold(1, 4), sold(2, 3, "y"), sold(61, 1), sold(3, 5, "y")]
        totals = minutes(came, lateness="1 h").retracting().agg(total=fl.sum("price"))
        best = totals.rewindow().trigger(fl.at_watermark()).top(1, by="total").table().to_pylist()
        assert [(row["op"], row["shop"], row["total"]) for row in best] == [
            ("+I", "x", 4),
            ("-U", "x", 4),
            ("+U", "y", 8),
            ("+I", "x", 1),
        ]


def _all_so_far(windowed: Any) -> Any:
    return windowed.accumulating()


def _taken_back(windowed: Any) -> Any:
    return windowed.retracting()


class TestStages:
    def test_nothing_is_late_for_the_next_stage(self) -> None:
        """The window of the first minute closes at 61; its rows are as old as its start."""
        first = minutes().top(2, by="price")
        counts = first.window(fl.tumbling("5 s")).agg(n=fl.count())
        assert counts.table().column("n").to_pylist() == [3, 1, 1]
        assert not len(counts.dead_letters)

    def test_a_stage_that_follows_changes_counts_each_rank_once(self) -> None:
        came = [sold(1, 4), sold(2, 9), sold(61, 1), sold(3, 8), sold(300, 1)]
        first = minutes(came, lateness="1 h").top(2, by="price")
        sums = first.window(fl.tumbling("1 min")).trigger(fl.at_expiry()).agg(total=fl.sum("price"))
        assert sums.table().column("total").to_pylist() == [17, 1, 1]
        assert not len(sums.dead_letters)

    def test_where_and_select_come_first(self) -> None:
        first = sales().where(fl.col("price") < 9).select("ts", "price", "shop").window(fl.tumbling("1 h"))
        assert first.top(1, by="price").table().select(["ts", "price"]).to_pylist() == [{"ts": 3, "price": 7}]

    def test_all_is_accounted_for(self) -> None:
        """A late record is a dead letter of the windows, and stands in it as it came."""
        first = minutes([sold(1, 4), sold(61, 1), sold(2, 9)]).top(1, by="price")
        (letter,) = first.dead_letters.to_pylist()
        assert (letter["reason"], letter["record"]) == ("expired", sold(2, 9))
        assert all(stage.accounting.adds_up for stage in first.stages)

    def test_a_change_that_is_a_dead_letter_has_its_operation(self) -> None:
        """The minute is over when 2 comes; it and what it changes of 1 come too late for the ranks."""
        near = sales([sold(1, 4), sold(61, 1), sold(2, 9)], rows=1).over(fl.range("5 s", following="5 s"))
        corrected = near.add(n=fl.count()).retracting(retention="1 hour")
        best = corrected.window(fl.tumbling("1 min"), lateness="0 s").top(1, by="price")
        found = [json.loads(letter["detail"])["record"] for letter in best.dead_letters.to_pylist()]
        assert found == [
            {**sold(1, 4), "n": 1, "op": "-U"},
            {**sold(1, 4), "n": 2, "op": "+U"},
            {**sold(2, 9), "n": 2, "op": "+I"},
        ]

    def test_columns_may_be_called_record_and_row(self) -> None:
        came = [{"ts": 1, "record": 3, "row": "a"}, {"ts": 2, "record": 5, "row": "b"}]
        best = fl.stream(came, time="ts", unit="s").key_by("row").window(fl.tumbling("1 min")).top(1, by="record")
        assert best.table().column("record").to_pylist() == [3, 5]

    def test_it_says_what_it_does(self) -> None:
        said = minutes(lateness="1 h").top(2, by=("price", fl.asc("id"))).explain()
        assert "`price`, the greatest first, then `id`, the least first, then their other columns ascending" in said
        assert "`rank` from 1 to 2 and `op`" in said


class TestRefusals:
    @pytest.mark.parametrize("n", [0, -1, 1.5, True, "3", None])
    def test_n_is_a_whole_number_from_1_up(self, n: Any) -> None:
        with pytest.raises(fl.SpecError, match=r"top: `n` \(.*\) must be a whole number from 1 up"):
            minutes().top(n, by="price")

    @pytest.mark.parametrize(
        ("by", "said"),
        [
            ((), "nothing is named to go by"),
            (None, r"`by` \(None\) is no column"),
            (["price", 3], "`by` has 3, which is no column"),
            (("price", fl.asc("price")), "`by` names the column 'price' twice"),
        ],
    )
    def test_a_mistake_is_named(self, by: Any, said: str) -> None:
        with pytest.raises(fl.SpecError, match=f"top: {said}"):
            minutes().top(1, by=by)

    def test_a_column_that_is_not_there_or_has_no_order(self) -> None:
        with pytest.raises(fl.InputError, match=r"'prize', and there is none\. Go by one of ts, shop, price, id"):
            minutes().top(1, by="prize").table()
        lists = sales([{"ts": 1, "tags": ["a"]}]).window(fl.tumbling("1 s"))
        with pytest.raises(fl.InputError, match=r"'tags', which is list<.*>, whose values have no order"):
            lists.top(1, by="tags").table()

    def test_discarding_forgets_who_was_first(self) -> None:
        early = minutes().trigger(fl.at_watermark(early=fl.after(1))).discarding()
        with pytest.raises(fl.SpecError, match=r"top: `discarding` forgets.*Say accumulating\(\) or retracting\(\)"):
            early.top(1, by="price")

    def test_names_that_rows_get(self) -> None:
        ranks = fl.stream([{"ts": 1, "rank": 2}], time="ts", unit="s").window(fl.tumbling("1 s"))
        with pytest.raises(fl.SpecError, match=r"top: the records have a column 'rank'.*select\(…, other='rank'\)"):
            ranks.top(1, by="rank").table()
        with pytest.raises(fl.SpecError, match=r"top: the key 'rows' is called like a column"):
            fl.stream([], time="ts").key_by("rows").window(fl.tumbling("1 s")).top(1, by="ts")

    def test_windows_without_a_greatest_length_are_last(self) -> None:
        """A session may have begun at any time before it ends, and its rows are as old as that."""
        with pytest.raises(fl.SpecError, match="top: its rows have the times of their records, and Session windows"):
            sales().window(fl.session("1 min")).top(1, by="price").sort()

    def test_a_stream_is_told_where_it_stands(self) -> None:
        with pytest.raises(AttributeError, match=r"say window\(…\) first"):
            sales().top  # type: ignore[attr-defined]  # noqa: B018
