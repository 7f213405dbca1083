"""`over` as rows come, and `over` kept up to date: when rows leave, what corrects them, what cannot be asked for."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl

S = 1_000_000


def paid(second: int | None, price: Any = 1, card: str = "a", **more: Any) -> dict[str, Any]:
    return {"ts": second, "card": card, "price": price, **more}


def payments(*records: dict[str, Any], **options: Any) -> fl.Stream:
    """Payments of cards, a bundle each."""
    return fl.stream(list(records), time="ts", unit="s", **{"rows": 1, "delay": "0 s", **options}).key_by("card")


def by_hand(**options: Any) -> fl.Stream:
    """Payments that a caller adds, who says the watermark."""
    return fl.stream([], time="ts", unit="s", watermark=fl.Explicit(), **options).key_by("card")


def said(result: Any, *names: str) -> list[tuple[Any, ...]]:
    """These columns of all rows."""
    table = result if hasattr(result, "to_pylist") else result.table()
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


class TestAsRowsCome:
    def test_a_row_leaves_at_once_with_what_is_known(self) -> None:
        """The payment of 5 comes after that of 9: it counts for what comes later, and corrects nothing."""
        over = by_hand().over(fl.range("10 s")).add(n=fl.count()).eager()
        operator = over.operator()
        found = []
        for second in (9, 5, 12):
            operator.add([paid(second)])
            found += said(operator.take(), "ts", "n")
        assert found == [(9, 1), (5, 1), (12, 3)]

    def test_a_bundle_is_looked_at_as_a_whole_and_leaves_in_its_order(self) -> None:
        operator = by_hand().over(fl.range("10 s")).add(n=fl.count()).eager().operator()
        operator.add([paid(9), paid(5), paid(9)])
        assert said(operator.take(), "ts", "n") == [(9, 3), (5, 1), (9, 3)], "both of 9 are peers"

    def test_a_record_behind_the_watermark_is_expired(self) -> None:
        operator = by_hand().over(fl.range("10 s")).add(n=fl.count()).eager().operator()
        operator.add([paid(5)], watermark=5 * S)
        operator.add([paid(5), paid(4)])
        assert said(operator.take(), "n") == [(1,), (2,)]
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]

    def test_rows_that_the_watermark_has_passed_still_count(self) -> None:
        over = by_hand().over(fl.rows("unbounded"), forget="1 h").add(number=fl.row_number(), spent=fl.sum("price"))
        operator = over.eager().operator()
        for second in (1, 3, 2, 9):
            operator.add([paid(second, second)], watermark=(second - 1) * S)
        assert said(operator.take(), "number", "spent") == [(1, 1), (2, 4), (2, 3), (4, 15)]

    def test_nothing_is_kept_but_what_others_look_at(self) -> None:
        """A row of 10,000 letters has left: what stays of it is its time, its key and its price."""
        over = by_hand().over(fl.range("1 min")).add(spent=fl.sum("price")).eager()
        operator = over.operator()
        operator.add([paid(1, note="x" * 10_000)])
        operator.take()
        assert len(operator.snapshot()) < 10_000

    def test_a_run_twenty_times_longer_holds_no_more(self) -> None:
        operator = payments(delay="5 s").over(fl.range("1 min")).add(n=fl.count()).eager().operator()
        sizes = []
        for step in range(100):
            operator.add([paid(10 * step + place, card=f"{step % 40}-{place}") for place in range(10)])
            operator.take()
            sizes.append(len(operator.snapshot()))
        assert max(sizes[-20:]) <= max(sizes[10:30]) * 1.1

    def test_another_frame_shares_the_pass_and_the_mode(self) -> None:
        minute = payments(paid(9), paid(5), delay="1 min").over(fl.range("10 s")).add(n=fl.count()).eager()
        both = minute.over(fl.rows(1), forget="1 h").add(before=fl.lag("ts"))
        assert said(both, "ts", "n", "before") == [(9, 1, None), (5, 1, None)]
        assert len(both.stages) == 1
        assert said(both.on_close(), "ts", "n", "before") == [(5, 1, None), (9, 2, 5)]

    def test_what_follows_is_not_late(self) -> None:
        """The row of 5 leaves when the watermark is at 3, which is handed on with it."""
        eager = payments(paid(9), paid(5), paid(70), delay="6 s").over(fl.range("10 s")).add(n=fl.count()).eager()
        minutes = eager.window(fl.tumbling("1 min")).agg(n=fl.count(), most=fl.max("n"))
        assert said(minutes, "n", "most") == [(2, 1), (1, 1)]
        assert minutes.dead_letters.num_rows == 0

    def test_what_looks_ahead_is_refused(self) -> None:
        stream = payments()
        for frame, function in ((fl.rows(0, following=1), fl.count()), (fl.rows(), fl.lead("price"))):
            over = stream.over(frame, forget="1 h").add(c=function)
            with pytest.raises(fl.SpecError, match=r"eager: c looks at rows after its own.*on_close\(\).*retracting\("):
                over.eager()
        with pytest.raises(fl.SpecError, match="eager: c looks at rows after its own"):
            stream.over(fl.range("1 s", following="1 s")).add(c=fl.count()).eager()


class TestKeptUpToDate:
    def test_a_late_row_corrects_those_that_count_it(self) -> None:
        """The payment of 5 is in the last ten seconds of 9, and not of 20."""
        corrected = payments(paid(9, 4), paid(20, 1), paid(5, 8)).over(fl.range("10 s")).add(spent=fl.sum("price"))
        assert said(corrected.retracting(retention="1 min"), "op", "ts", "spent") == [
            ("+I", 9, 4),
            ("+I", 20, 1),
            ("+I", 5, 8),
            ("-U", 9, 4),
            ("+U", 9, 12),
        ]

    def test_until_it_is_older_than_the_retention(self) -> None:
        """The watermark is at 30: a record of 20 is taken, one of 19 is not."""
        result = payments(paid(30), paid(20), paid(19)).over(fl.range("1 min")).add(n=fl.count())
        corrected = result.retracting(retention="10 s")
        assert said(corrected, "op", "ts", "n") == [("+I", 30, 1), ("+I", 20, 1), ("-U", 30, 1), ("+U", 30, 2)]
        assert corrected.dead_letters.column("reason").to_pylist() == ["expired"]

    def test_a_lead_is_null_until_the_next_row_has_come(self) -> None:
        leads = payments(paid(1, 1), paid(9, 9), paid(4, 4)).over(fl.rows(), forget="1 h").add(then=fl.lead("price"))
        assert said(leads.retracting(retention="1 min"), "op", "ts", "then") == [
            ("+I", 1, None),
            ("-U", 1, None),
            ("+U", 1, 9),
            ("+I", 9, None),
            ("-U", 1, 9),
            ("+U", 1, 4),
            ("+I", 4, 9),
        ]

    def test_floats_that_are_only_rounded_otherwise_are_no_change(self) -> None:
        """Ten rows of 0.1 s, and then one far away: the sums of the ten may be added up in another order, and stay."""
        operator = by_hand().over(fl.range("1 min")).add(s=fl.sum("price"), d=fl.stddev("price")).retracting("1 h")
        run = operator.operator()
        run.add([paid(10 + second, 0.1 * second) for second in range(10)])
        run.take()
        run.add([paid(1000, 0.7)])
        assert said(run.take(), "op", "ts") == [("+I", 1000)]

    def test_settled_rows_are_dropped(self) -> None:
        over = by_hand().over(fl.range("10 s")).add(n=fl.count()).retracting(retention="20 s")
        operator = over.operator()
        sizes = []
        for step in range(60):
            operator.add([paid(10 * step + place, card=f"{step % 20}-{place}") for place in range(10)])
            operator.advance(watermark=10 * step * S)
            operator.take()
            sizes.append(len(operator.snapshot()))
        assert max(sizes[-20:]) <= max(sizes[10:25]) * 1.1

    def test_the_result_is_a_stream_of_changes(self) -> None:
        """Of each minute the greatest sum, after all corrections: that of 9 is 12 in the end."""
        records = [paid(9, 4), paid(70, 1), paid(5, 8)]
        corrected = payments(*records).over(fl.range("10 s")).add(spent=fl.sum("price")).retracting(retention="2 min")
        minutes = corrected.window(fl.tumbling("1 min")).retracting().agg(most=fl.max("spent"), rows=fl.count())
        assert [(row["pane"]["op"], row["most"], row["rows"]) for row in minutes.table().to_pylist()] == [
            ("+I", 4, 1),
            ("-U", 4, 1),
            ("+U", 12, 2),
            ("+I", 1, 1),
        ]
        assert minutes.dead_letters.num_rows == 0

    def test_one_keeps_another_up_to_date(self) -> None:
        """The running sum of what the first stage says, which is corrected with it."""
        records = [paid(9, 4), paid(12, 1), paid(5, 8)]
        first = payments(*records).over(fl.range("10 s")).add(spent=fl.sum("price")).retracting(retention="1 min")
        then = first.key_by("card").over(fl.rows("unbounded"), forget="never").add(sums=fl.sum("spent"))
        left: dict[int, int] = {}
        for op, second, sums in said(then.retracting(retention="1 min"), "op", "ts", "sums"):
            if op in ("+I", "+U"):
                left[second] = sums
            else:
                assert left.pop(second) == sums
        assert left == {5: 8, 9: 8 + 12, 12: 8 + 12 + 13}


def order(op: str, second: int, number: int, shop: str = "a", price: int | None = 1) -> dict[str, Any]:
    return {"op": op, "ts": second, "id": number, "card": shop, "price": price}


class TestChanges:
    def orders(self, *changes: dict[str, Any], **options: Any) -> fl.Stream:
        return payments(*changes, **{"op": "op", "unique": "id", **options})

    def test_a_delete_takes_its_row_out_and_corrects_the_others(self) -> None:
        changes = order("+I", 1, 1, price=5), order("+I", 2, 2, price=7), order("-D", 3, 1)
        over = self.orders(*changes).over(fl.range("1 min")).add(spent=fl.sum("price")).retracting(retention="1 min")
        assert said(over, "op", "id", "spent") == [
            ("+I", 1, 5),
            ("+I", 2, 12),
            ("-D", 1, 5),
            ("-U", 2, 12),
            ("+U", 2, 7),
        ]
        assert over.table().column_names == ["op", "ts", "id", "card", "price", "spent"]

    def test_a_row_that_moves_to_another_key_is_taken_back_first(self) -> None:
        changes = order("+I", 9, 1, "a"), order("+U", 5, 1, "b")
        over = self.orders(*changes, delay="1 min").over(fl.range("1 min")).add(n=fl.count())
        assert said(over.retracting(retention="1 min"), "op", "ts", "card", "n") == [
            ("+I", 9, "a", 1),
            ("-D", 9, "a", 1),
            ("+I", 5, "b", 1),
        ]

    def test_a_delete_that_finds_nothing_is_a_letter(self) -> None:
        over = self.orders(order("-D", 1, 9)).over(fl.range("1 min")).add(n=fl.count()).retracting(retention="1 min")
        assert said(over, "op") == []
        assert over.dead_letters.column("reason").to_pylist() == ["no_such_row"]

    def test_changes_are_refused_where_rows_are_never_taken_back(self) -> None:
        over = self.orders().over(fl.range("1 min")).add(n=fl.count())
        for complete in (lambda: over.on_close(), lambda: over.eager(), lambda: over.table()):
            with pytest.raises(
                fl.SpecError, match=r"this stream has changes \(`op`\).*retracting\(retention='1 hour'\)"
            ):
                complete()
        assert "say retracting(…) to complete it" in repr(over)


class TestInAnyOrder:
    def test_the_greatest_of_the_last_minute(self) -> None:
        """When the watermark is at 62, the payment of 1 is more than a minute old: it is taken back, 40 is first."""
        records = [paid(1, 90), paid(2, 40), paid(62, 20)]
        top = payments(*records).over(fl.rows(), by=fl.desc("price")).add(rank=fl.rank())
        assert said(top.retracting(retention="1 min"), "op", "price", "rank") == [
            ("+I", 90, 1),
            ("+I", 40, 2),
            ("-D", 90, 1),
            ("-U", 40, 2),
            ("+U", 40, 1),
            ("+I", 20, 2),
        ]

    def test_rows_that_are_equal_are_peers(self) -> None:
        records = [paid(second, price) for second, price in ((1, 5), (2, 7), (3, 5), (4, None))]
        over = payments(*records, rows=9).over(fl.range("unbounded"), by="price")
        result = over.add(rank=fl.rank(), dense=fl.dense_rank(), up_to=fl.count()).retracting(retention="forever")
        found = [(row["price"], row["rank"], row["dense"], row["up_to"]) for row in result.table().to_pylist()]
        assert found == [(5, 1, 1, 2), (5, 1, 1, 2), (7, 3, 2, 3), (None, 4, 3, 4)]

    def test_by_time_descending_before_means_later(self) -> None:
        records = [paid(second, second) for second in (1, 5, 8)]
        over = payments(*records, rows=9).over(fl.range("3 s"), by=fl.desc("ts")).add(seen=fl.list("price"))
        found = dict(said(over.retracting(retention="forever"), "ts", "seen"))
        assert {second: sorted(prices) for second, prices in found.items()} == {1: [1], 5: [5, 8], 8: [8]}

    def test_first_and_last_of_all_rows(self) -> None:
        records = [paid(second, price) for second, price in ((1, 5), (2, 7), (3, 6))]
        over = payments(*records, rows=9).over(fl.rows("unbounded", following=9), by="price")
        result = over.add(least=fl.first_value("price"), most=fl.last_value("price")).retracting(retention="1 min")
        assert set(said(result, "least", "most")) == {(5, 7)}


class TestRefused:
    def test_without_a_retention(self) -> None:
        with pytest.raises(fl.SpecError, match=r"nothing says for how long.*retracting\(retention='1 hour'\)"):
            payments().over(fl.range("1 s")).add(n=fl.count()).retracting()
        with pytest.raises(fl.SpecError, match=r"`retention` \(-1 s\) must be from 0 up"):
            payments().over(fl.range("1 s")).add(n=fl.count()).retracting(retention=fl.Duration(-S))

    def test_an_operation_that_is_none(self) -> None:
        with pytest.raises(fl.InputError, match=r"a column 'op' came already.*Rename it with select.*op='op'"):
            payments(paid(1, op="x")).over(fl.range("1 s")).add(n=fl.count()).retracting(retention="1 s").table()
        with pytest.raises(fl.SpecError, match=r"'op' is the column of operations. Give the new column another name"):
            payments().over(fl.range("1 s")).add(op=fl.count()).retracting(retention="1 s")

    def test_orders_that_do_not_go_together(self) -> None:
        def over(frame: Any = None, **options: Any) -> Any:
            rows = payments().over(fl.rows() if frame is None else frame, **{"by": "price", **options})
            return rows.add(n=fl.count()).retracting(retention="1 s")

        with pytest.raises(fl.SpecError, match="`by` is the whole order, and `order` is for rows of one time"):
            over(order="id")
        with pytest.raises(fl.SpecError, match=r"`forget` \(1 h\) goes by the time between two rows"):
            over(forget="1 h")
        with pytest.raises(fl.SpecError, match=r"the frame of n is the rows of the last 1 s.*rows\(…\), or by='ts'"):
            over(fl.range("1 s"))
        with pytest.raises(fl.SpecError, match="`by` names 'price' twice"):
            over(by=("price", fl.desc("price")))
        with pytest.raises(fl.SpecError, match=r"`by` \(`price`\) orders rows by something else than their time"):
            payments().over(fl.rows(), by="price").add(n=fl.count()).eager()
        with pytest.raises(fl.SpecError, match="`by` has 3, which is no column"):
            over(by=[3])

    def test_keys_that_would_never_go(self) -> None:
        """Rows settle, and the newest of each key stay: as on close, somebody must say for how long."""
        changes = fl.stream([], time="ts", op="op", unique="id").key_by("card")
        with pytest.raises(fl.SpecError, match=r"keeps something for every key.*forget='1 hour'"):
            changes.over(fl.rows(3)).add(n=fl.count()).retracting(retention="1 min")


def test_it_says_of_itself_what_it_does() -> None:
    over = payments().over(fl.range("1 min")).add(n=fl.count())
    assert "fires      each row once, when it comes, with what is known by then" in over.eager().explain()
    told = over.retracting(retention="1 h").explain()
    assert "fires      each row when it comes, and again whenever its values change" in told
    assert "gives      the columns that came, and n, with `op` one of +I, -U, +U, -D" in told
    assert "keeps      all rows until the watermark is 1 h past them, those that later frames reach" in told
    by = payments().over(fl.rows(), by=fl.desc("price")).add(n=fl.count()).retracting(retention="1 h").explain()
    assert "order      by `price` descending, then as they came" in by
    assert "keeps      all rows until the watermark is 1 h past them, and they are taken back" in by
