"""Rows of windows with new columns: when they leave, in which order, and what cannot be asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

from .test_over import S, column, paid, payments


def rows_of(result: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in result.table().to_pylist()]


class TestPartitions:
    def test_rows_leave_when_their_window_has_expired_and_late_ones_are_letters(self) -> None:
        """The minute is over at 60, and takes late records until 70. The record of 59 is in time, that of 58 is not."""
        minutes = payments(
            *(paid(5, 1), paid(65, 2), paid(59, 3), paid(80, 4), paid(58, 5), paid(200, 6)), delay="0 s"
        ).window(fl.tumbling("1 min"), lateness="10 s")
        result = minutes.over().add(number=fl.row_number(), of=fl.count())
        assert rows_of(result, "ts", "number", "of") == [(5, 1, 1), (59, 2, 2), (65, 1, 1), (80, 2, 2), (200, 1, 1)]
        (letter,) = result.dead_letters.to_pylist()
        assert (letter["reason"], letter["record"]) == ("expired", paid(58, 5))
        windows, rows = result.stages
        assert windows.accounting.dead_letters == 1
        assert windows.accounting.accepted == 5
        assert rows.accounting.adds_up

    def test_a_record_leaves_once_for_each_of_its_windows(self) -> None:
        """[0, 20) and [10, 30) both have the record of 15: first of the one that ends first."""
        records = [paid(5, 7), paid(15, 9)]
        over = payments(*records).window(fl.hopping("20 s", every="10 s")).over(order=fl.desc("price"))
        result = over.add(place=fl.row_number())
        ends = [(end.timestamp(), *rest) for end, *rest in rows_of(result, "window_end", "ts", "place")]
        assert ends == [(10.0, 5, 1), (20.0, 15, 1), (20.0, 5, 2), (30.0, 15, 1)]

    def test_a_frame_that_is_left_out_goes_to_the_last_peer(self) -> None:
        """Both of price 3 see both, as in SQL; rows(…) parts them."""
        records = [paid(1, 3), paid(2, 3), paid(3, 5)]
        over = payments(*records).window(fl.tumbling("1 min")).over(order="price").add(upto=fl.sum("price"))
        result = over.over(fl.rows("unbounded")).add(rows=fl.sum("price"))
        assert rows_of(result, "upto", "rows") == [(6, 3), (6, 6), (11, 11)]

    def test_null_is_last_and_nan_is_greatest(self) -> None:
        records = [paid(1, None), paid(2, float("nan")), paid(3, 1.0)]
        minutes = payments(*records, rows=3).window(fl.tumbling("1 min"))
        assert column(minutes.over(order="price").add(n=fl.row_number()), "ts") == [3, 2, 1]
        assert column(minutes.over(order=fl.desc("price")).add(n=fl.row_number()), "ts") == [2, 3, 1]

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            (fl.session("10 s"), [(1, 1, 2), (5, 2, 2), (30, 1, 1)]),
            (fl.session(gap_from="gap"), [(1, 1, 1), (5, 1, 1), (30, 1, 1)]),
            (fl.counting(2), [(30, 1, 2), (1, 2, 2), (5, 1, 1)]),
            (fl.global_window(), [(1, 1, 3), (5, 2, 3), (30, 3, 3)]),
            (fl.custom(lambda times, batch: (times * 0, times * 0 + batch.column("gap").to_numpy() * S)), None),
        ],
        ids=["session", "own gaps", "counting", "global", "custom"],
    )
    def test_windows_of_every_kind(self, kind: Any, expected: list[tuple[int, int, int]] | None) -> None:
        """They came in the order 30, 1, 5; their prices are their places by time, their gaps 2 s."""
        records = [paid(30, 3, gap=2), paid(1, 1, gap=2), paid(5, 2, gap=2)]
        over = payments(*records, delay="60 s").window(kind).over()
        result = over.add(number=fl.row_number()).over(fl.rows("unbounded", following="unbounded")).add(n=fl.count())
        found = rows_of(result, "ts", "number", "n")
        assert found == ([(1, 1, 3), (5, 2, 3), (30, 3, 3)] if expected is None else expected)

    def test_a_global_window_has_no_bounds(self) -> None:
        result = payments(paid(1)).window(fl.global_window()).over().add(n=fl.count())
        assert rows_of(result, "window_start", "window_end") == [(None, None)]

    def test_the_result_is_a_stream_again_by_the_time_of_its_records(self) -> None:
        records = [paid(second, second) for second in (1, 20, 61, 62)]
        ranked = payments(*records, delay="5 s").window(fl.tumbling("1 min")).over().add(n=fl.ntile(2))
        assert ranked.spec.hands_on(100 * S) == 40 * S
        assert column(ranked.window(fl.tumbling("30 s")).agg(ns=fl.list("n")), "ns") == [[1, 2], [1, 2]]

    def test_a_value_that_its_type_cannot_hold_concerns_its_row_alone(self) -> None:
        records = [paid(1, 2**62), paid(2, 2**62), paid(3, -5)]
        result = payments(*records).window(fl.tumbling("1 min")).over().add(total=fl.sum("price"))
        assert column(result, "total") == [2**62, 2**63 - 5]
        assert [letter["reason"] for letter in result.dead_letters.to_pylist()] == ["value_out_of_range"]


class TestCompleteRows:
    """A function of the rows of a frame, as a table in the order of the partition."""

    ROWS = (paid(5, 7), paid(9, 9), paid(15, 8), paid(70, 1))
    WHOLE = fl.rows("unbounded", following="unbounded")

    def minutes(self) -> Any:
        return payments(*self.ROWS).window(fl.tumbling("1 min"))

    def test_of_a_whole_partition_it_is_called_once(self) -> None:
        tables: list[pa.Table] = []
        spread = fl.batch(lambda table: tables.append(table) or table.num_rows, pa.int64(), "price")
        result = self.minutes().over(self.WHOLE, order=fl.desc("price")).add(n=spread)
        assert rows_of(result, "price", "n") == [(9, 3), (8, 3), (7, 3), (1, 1)]
        assert [table.column("price").to_pylist() for table in tables] == [[9, 8, 7], [1]]

    def test_whole_records_and_frames_of_a_few_rows(self) -> None:
        """Without an order by columns rows are by time. The first row has none before it."""
        seen = fl.batch(lambda table: [row["price"] for row in table.to_pylist()], pa.list_(pa.int64()))
        result = self.minutes().over(fl.rows(2, exclude="current")).add(before=seen)
        assert rows_of(result, "ts", "before") == [(5, []), (9, [7]), (15, [7, 9]), (70, [])]

    def test_what_it_raises_is_told_with_its_rows(self) -> None:
        wrong = fl.batch(lambda table: table["colour"], pa.int64(), "price")
        with pytest.raises(fl.EngineError, match=r"raised KeyError.*over 3 rows, the first of which is {'price': 9}"):
            self.minutes().over(self.WHOLE, order=fl.desc("price")).add(n=wrong).table()

    def test_beside_others_that_go_by_time_it_is_refused_in_another_order(self) -> None:
        both = fl.composite(n=fl.batch(len, pa.int64(), "price"), first=fl.first("price"))
        assert self.minutes().over(self.WHOLE).add(both=both).table().column("both")[0].as_py() == {"n": 3, "first": 7}
        with pytest.raises(fl.SpecError, match=r"over: both has a function of complete rows among others.*by itself"):
            self.minutes().over(self.WHOLE, order="price").add(both=both)


class TestRefused:
    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (lambda minutes: minutes.trigger(fl.after(3)), "a trigger means nothing here"),
            (lambda minutes: minutes.retracting(), "`retracting` means nothing here"),
            (lambda minutes: minutes.discarding(), "`discarding` means nothing here"),
            (lambda minutes: minutes.stamped("earliest"), "`stamped` means nothing here"),
            (lambda minutes: minutes.agg(n=fl.count()).rewindow(), "window them anew"),
        ],
    )
    def test_what_fires_more_than_once(self, said: Any, told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            said(payments().window(fl.tumbling("1 min"))).over()

    @pytest.mark.parametrize("function", [fl.percent_rank(), fl.cume_dist(), fl.ntile(2)])
    def test_outside_of_windows_what_needs_a_partition_that_ends(self, function: Any) -> None:
        with pytest.raises(fl.SpecError, match=r"share looks at all rows of its key.*window\(tumbling\('1 hour'\)\)"):
            payments().over(fl.range("1 s")).add(share=function)
        with pytest.raises(fl.SpecError, match="n has no last row"):
            payments().over(fl.rows(0, following="unbounded"), forget="never").add(n=fl.count())

    def test_lengths_of_time_in_another_order(self) -> None:
        over = payments().window(fl.tumbling("1 min")).over(fl.range("5 s"), order="price")
        with pytest.raises(fl.SpecError, match=r"n looks at how far times are apart.*Leave `order` out"):
            over.add(n=fl.count())
        counted = payments().window(fl.counting(3)).over(fl.session_frame("5 s"))
        with pytest.raises(fl.SpecError, match="not in the order of event times"):
            counted.add(n=fl.count())

    def test_a_stage_after_windows_without_a_greatest_length(self) -> None:
        result = payments(paid(1)).window(fl.session("1 min")).over().add(n=fl.count())
        assert column(result, "n") == [1]
        with pytest.raises(fl.SpecError, match="has no greatest length"):
            result.sort()

    def test_names_that_are_taken(self) -> None:
        minutes = payments(paid(1)).window(fl.tumbling("1 min"))
        with pytest.raises(fl.InputError, match="a column 'price' came already"):
            minutes.over().add(price=fl.count()).table()
        with pytest.raises(fl.SpecError, match="'window_end' is a column of its own here"):
            minutes.over().add(window_end=fl.count())
        with pytest.raises(fl.SpecError, match="two new columns are called 'n'"):
            minutes.over().add(n=fl.count()).over(fl.rows(1)).add(n=fl.rank())
        with pytest.raises(fl.SpecError, match=r"`forget` is for streams"):
            minutes.over().add(n=fl.count()).over(fl.rows(1), forget="1 h")

    def test_changes_and_retention(self) -> None:
        changes = fl.stream([], time="ts", unit="s", op="op", unique="id")
        with pytest.raises(fl.SpecError, match=r"this stream has changes \(`op`\).*Sort it first"):
            changes.window(fl.tumbling("1 min")).over()
        with pytest.raises(fl.SpecError, match="`retention` means nothing here"):
            payments().window(fl.tumbling("1 min"), retention=fl.retention("1 h")).over()


def test_it_says_of_itself_what_it_does() -> None:
    over = payments().window(fl.tumbling("1 min"), lateness="5 s").over(order=("id", fl.desc("price")))
    assert repr(over).endswith("say add(…) to complete it")
    first, second = over.add(n=fl.count()).explain().split("\n\n")
    assert "fires      once for each pane, when its window expires" in first
    assert "partitions  the records of each key and window" in second
    assert "order       by `id`, then by `price` descending, then by time, then as they came" in second
    assert "frames      the rows from the first to its peers" in second
