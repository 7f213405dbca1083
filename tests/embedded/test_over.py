"""Rows with new columns over their frames: when they leave, what is forgotten, and what cannot be asked for."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

S = 1_000_000


def paid(second: int | None, price: Any = 1, card: str = "a", **more: Any) -> dict[str, Any]:
    return {"ts": second, "card": card, "price": price, **more}


def payments(*records: dict[str, Any], **options: Any) -> fl.Stream:
    """Payments of cards, a bundle each; nothing is late."""
    said: dict[str, Any] = {"delay": "10 minutes", "rows": 1}
    return fl.stream(list(records), time="ts", unit="s", **{**said, **options}).key_by("card")


def column(result: Any, name: str) -> list[Any]:
    values: list[Any] = result.table().column(name).to_pylist()
    return values


class TestWhenRowsLeave:
    def test_when_the_watermark_has_passed_them(self) -> None:
        operator = payments(watermark=fl.Explicit(), delay=None).over(fl.range("10 s")).add(n=fl.count()).operator()
        operator.add([paid(5), paid(3), paid(9)], watermark=5 * S)
        assert operator.take().column("ts").to_pylist() == [3]
        operator.advance(watermark=6 * S)
        assert operator.take().column("n").to_pylist() == [2]
        operator.add([paid(5)])
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]
        operator.end()
        assert operator.take().column("n").to_pylist() == [3]

    def test_a_frame_that_reaches_ahead_waits_for_its_end(self) -> None:
        """The row of 3 looks up to 8, so it leaves when nothing at 8 can come any more."""
        over = payments(watermark=fl.Explicit(), delay=None).over(fl.range("0 s", following="5 s"))
        operator = over.add(n=fl.count()).operator()
        operator.add([paid(3), paid(8)], watermark=8 * S)
        assert operator.take().num_rows == 0
        operator.advance(watermark=8 * S + 1)
        assert operator.take().column("n").to_pylist() == [2]

    def test_a_lead_waits_for_the_next_row_or_until_none_can_come(self) -> None:
        over = payments(watermark=fl.Explicit(), delay=None).over(fl.rows(), forget="1 min")
        operator = over.add(then=fl.lead("price")).operator()
        operator.add([paid(3, 1)], watermark=10 * S)
        assert operator.take().num_rows == 0
        operator.add([paid(20, 2)], watermark=21 * S)
        assert operator.take().column("then").to_pylist() == [2]
        operator.advance(watermark=80 * S)
        assert operator.take().num_rows == 0, "a row at 80 would still be the next one"
        operator.advance(watermark=80 * S + 1)
        assert operator.take().column("then").to_pylist() == [None]

    def test_a_lead_that_says_within_waits_no_longer_and_needs_no_forget(self) -> None:
        over = payments(watermark=fl.Explicit(), delay=None).over(fl.range("0 s"))
        result = over.add(then=fl.lead("price", within="10 s"))
        assert result.spec.hands_on(100 * S) == 90 * S
        operator = result.operator()
        operator.add([paid(3, 1), paid(8, 2), paid(19, 3)], watermark=9 * S)
        assert operator.take().column("then").to_pylist() == [2], "the next row is there"
        operator.advance(watermark=18 * S)
        assert operator.take().num_rows == 0, "a row at 18 would still be near enough"
        operator.advance(watermark=18 * S + 1)
        assert operator.take().column("then").to_pylist() == [None], "that of 19 is too far away"

    def test_the_frame_of_a_session_is_complete_when_it_is_over(self) -> None:
        """A silence of 10 s ends a session: a row at 17 starts another. The gap itself is outside, as in RisingWave."""
        over = payments(watermark=fl.Explicit(), delay=None).over(fl.session_frame("10 s"))
        result = over.add(n=fl.count(), first=fl.first_value("price"))
        assert result.spec.hands_on(100 * S) < 0, "a session may last for ever"
        operator = result.operator()
        operator.add([paid(3, 1), paid(7, 2), paid(17, 3)], watermark=17 * S - 1)
        assert operator.take().num_rows == 0
        operator.advance(watermark=17 * S)
        assert operator.take().select(["n", "first"]).to_pylist() == [{"n": 2, "first": 1}] * 2
        operator.end()
        assert operator.take().column("n").to_pylist() == [1]

    def test_rows_of_a_key_never_overtake_each_other(self) -> None:
        records = [paid(second, second) for second in (9, 2, 30, 4, 31, 33, 8)]
        over = payments(*records, delay="30 s").over(fl.rows(1, following=2), forget="1 h").add(n=fl.count())
        assert column(over, "ts") == [2, 4, 8, 9, 30, 31, 33]

    def test_the_watermark_is_handed_on_less_what_frames_reach_ahead(self) -> None:
        spec = payments().over(fl.range("1 min", following="5 s")).add(n=fl.count()).spec
        assert spec.hands_on(100 * S) == 95 * S
        leads = payments().over(fl.rows(), forget="10 s").add(then=fl.lead("price", 2)).spec
        assert leads.hands_on(100 * S) == 80 * S
        never = payments().over(fl.rows(), forget="never").add(then=fl.lead("price")).spec
        assert never.hands_on(100 * S) < 0


class TestState:
    def test_nothing_remains_after_the_end(self) -> None:
        over = payments().over(fl.rows(3, following=1), forget="1 h").add(n=fl.count(), number=fl.row_number())
        operator = over.operator()
        operator.add([paid(1), paid(2), paid(3, card="b")], clock=0)
        held = len(operator.snapshot())
        operator.end()
        operator.take()
        assert len(operator.snapshot()) < held

    def test_a_run_twenty_times_longer_holds_no_more(self) -> None:
        """A key comes back no sooner than after forgetting, and frames reach a minute: both are bounded."""
        over = payments(delay="5 s").over(fl.range("1 min"), forget="1 min")
        operator = over.add(n=fl.count(), before=fl.lag("price"), number=fl.row_number()).operator()
        sizes = []
        for step in range(100):
            operator.add([paid(10 * step + place, 1, card=f"{step % 40}-{place}") for place in range(10)])
            operator.take()
            sizes.append(len(operator.snapshot()))
        assert max(sizes[-20:]) <= max(sizes[10:30]) * 1.1

    def test_a_snapshot_in_between_changes_nothing(self) -> None:
        over = payments(delay="5 s").over(fl.range("30 s")).add(n=fl.count())
        over = over.over(fl.rows("unbounded"), forget="20 s").add(number=fl.row_number(), spent=fl.sum("price"))
        records = [
            paid(second, second, card) for second, card in zip((1, 9, 4, 30, 33, 80, 79), "aababaa", strict=True)
        ]
        whole, cut = over.operator(), over.operator()
        for record in records:
            whole.add([record])
            cut.add([record])
            cut = type(cut).restore(over.spec, cut.snapshot())
        whole.end()
        cut.end()
        assert cut.take() == whole.take()


class TestValues:
    def test_a_value_that_its_type_cannot_hold_concerns_its_row_alone(self) -> None:
        """The sum of both payments leaves int64. The row is a letter; the row after it, alone in its frame, leaves."""
        records = [paid(1, 2**62), paid(2, 2**62), paid(30, 5)]
        result = payments(*records).over(fl.range("10 s")).add(total=fl.sum("price"))
        assert [(row["ts"], row["total"]) for row in result.table().to_pylist()] == [(1, 2**62), (30, 5)]
        (letter,) = result.dead_letters.to_pylist()
        assert letter["reason"] == "value_out_of_range"
        assert str(2**63) in letter["detail"]
        assert result.accounting.values_out_of_range == 1
        assert result.accounting.adds_up

    def test_rows_of_one_time_are_ordered_by_columns(self) -> None:
        records = [paid(1, price, id=number) for number, price in enumerate([5, None, 9, 7])]
        over = payments(*records).over(fl.rows(), order=fl.desc("price"), forget="1 h")
        result = over.add(number=fl.row_number(), rank=fl.rank())
        assert [(row["price"], row["number"], row["rank"]) for row in result.table().to_pylist()] == [
            (9, 1, 1),
            (7, 2, 1),
            (5, 3, 1),
            (None, 4, 1),
        ]

    def test_null_is_last_and_nan_the_greatest_in_every_order(self) -> None:
        """Ascending NaN stands before null, descending it is first."""
        came = [{"ts": 1, "f": f} for f in (1.5, math.nan, None, -2.0)]
        stream = fl.stream(came, time="ts", unit="s")
        orders: list[tuple[Any, list[Any]]] = [
            ("f", [-2.0, 1.5, math.nan, None]),
            (fl.desc("f"), [math.nan, 1.5, -2.0, None]),
        ]
        for order, left in orders:
            numbers = stream.over(fl.rows(), order=order, forget="never").add(nth=fl.row_number())
            by = stream.over(fl.rows(), by=order).add(nth=fl.row_number()).retracting(retention="forever")
            windowed = stream.window(fl.tumbling("1 s")).over(order=order).add(nth=fl.row_number())
            for result in (numbers, by, windowed):
                assert repr(column(result, "f")) == repr(left)
                assert column(result, "nth") == [1, 2, 3, 4]

    def test_frames_on_one_side_of_the_row(self) -> None:
        """Peers are no row before, and no row after; a frame that ends before it starts has none."""
        records = [paid(second, second) for second in (1, 2, 2, 5)]
        over = payments(*records).over(fl.rows(2, following=-1), forget="1 h").add(before=fl.list("price"))
        over = over.over(fl.rows(-1, following=1)).add(next=fl.sum("price"))
        over = over.over(fl.range("1 s", following="-1 s")).add(second_before=fl.count())
        result = over.over(fl.rows(1, following=-10)).add(none=fl.count(), nothing=fl.avg("price"))
        assert column(result, "before") == [[], [1], [1, 2], [2, 2]]
        assert column(result, "next") == [2, 2, 5, None]
        assert column(result, "second_before") == [0, 1, 1, 0]
        assert column(result, "none") == [0, 0, 0, 0]
        assert column(result, "nothing") == [None] * 4

    def test_all_rows_but_the_newest(self) -> None:
        """What has left is summed up, but not yet the two rows that a later frame leaves out."""
        operator = (
            payments(delay="0 s")
            .over(fl.rows("unbounded", following=-2), forget="1 h")
            .add(spent=fl.sum("price"))
            .operator()
        )
        for second in range(1, 7):
            operator.add([paid(second, second)])
        operator.end()
        assert operator.take().column("spent").to_pylist() == [None, None, 1, 3, 6, 10]

    def test_after_a_long_silence_a_key_starts_anew(self) -> None:
        records = [paid(second, second) for second in (1, 5, 16, 26)]
        result = (
            payments(*records)
            .over(fl.rows("unbounded"), forget="10 s")
            .add(number=fl.row_number(), before=fl.lag("price"), spent=fl.sum("price"))
        )
        assert column(result, "number") == [1, 2, 1, 2]
        assert column(result, "before") == [None, 1, None, 16]
        assert column(result, "spent") == [1, 6, 16, 42]

    def test_the_result_is_a_stream_again(self) -> None:
        records = [paid(second, second) for second in (1, 20, 61, 62)]
        enriched = payments(*records).over(fl.range("30 s")).add(n=fl.count())
        minutes = enriched.where(fl.col("n") > 1).window(fl.tumbling("1 minute")).agg(n=fl.count())
        assert column(minutes, "n") == [1, 1]

    def test_the_columns_that_came_are_given_back_as_they_were(self) -> None:
        table = pa.table(
            {
                "ts": [2, 1],
                "card": pa.array(["a", "a"]).dictionary_encode(),
                "price": pa.array([1, None], pa.decimal128(5, 2)),
                "tags": [["x"], None],
            }
        )
        result = fl.stream(table, time="ts", unit="s").key_by("card").over(fl.range("5 s")).add(n=fl.count("price"))
        assert result.table().drop_columns(["n"]).to_pylist() == table.take([1, 0]).to_pylist()
        assert column(result, "n") == [0, 1]


class TestRefused:
    @pytest.mark.parametrize(
        ("frame", "functions", "told"),
        [
            (
                fl.rows(3),
                {"n": fl.count()},
                r"a frame of 3 rows before and the row \(n\) keeps something for every key",
            ),
            (fl.range("unbounded"), {"n": fl.count()}, r"a frame of all rows up to its time \(n\) keeps something"),
            (fl.range("1 s"), {"before": fl.lag("price")}, r"lag \(before\) keeps .* forget='1 hour'"),
            (fl.range("1 s"), {"place": fl.rank()}, r"rank \(place\) keeps"),
            (fl.range("1 s"), {"nth": fl.row_number()}, r"row_number \(nth\) keeps something for every key"),
            (fl.range("1 s"), {"n": fl.count}, r"n=<function count .* It is a function: call it"),
            (fl.range("1 s"), {"n": 3}, r"n=3 is not an aggregate and no function of rows"),
            (fl.range("1 s"), {}, "add: nothing is computed"),
        ],
    )
    def test_what_cannot_be_computed(self, frame: Any, functions: dict[str, Any], told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            payments().over(frame).add(**functions)

    def test_what_would_keep_every_row(self) -> None:
        over = payments().over(fl.rows("unbounded"), forget="never")
        with pytest.raises(fl.SpecError, match="middle is computed from all rows of its frame, and this frame has no"):
            over.add(middle=fl.median("price"))
        with pytest.raises(fl.SpecError, match="looks for a row from the start of a frame that has none"):
            over.add(first=fl.first_value("price"))

    def test_frames_that_are_none(self) -> None:
        with pytest.raises(fl.SpecError, match=r"`preceding` \(1.5\) must be a whole number"):
            fl.rows(1.5)  # type: ignore[arg-type]
        with pytest.raises(fl.SpecError, match=r"`exclude` \('ties'\) must be 'current'"):
            fl.range("1 s", exclude="ties")  # type: ignore[arg-type]
        with pytest.raises(fl.SpecError, match=r"no row would ever leave.*window\(tumbling\('1 hour'\)\).over"):
            payments().over(fl.range("1 s", following=fl.Duration.FOREVER)).add(n=fl.count())
        with pytest.raises(fl.SpecError, match="longer than times can be apart"):
            fl.range(fl.Duration(2**63 - 2))
        with pytest.raises(fl.SpecError, match="is no frame"):
            payments().over("1 min").add(n=fl.count())  # type: ignore[arg-type]
        with pytest.raises(fl.SpecError, match=r"lag: the number of rows \(-1\) must be a whole number from 0 up"):
            fl.lag("price", -1)
        with pytest.raises(fl.SpecError, match="lag: '' is no column name"):
            fl.lag("")

    def test_orders_that_are_none(self) -> None:
        with pytest.raises(fl.SpecError, match="'ts' is the time, which orders rows anyway"):
            payments().over(fl.range("1 s"), order="ts").add(n=fl.count())
        with pytest.raises(fl.SpecError, match="`order` has 3, which is no column"):
            payments().over(fl.range("1 s"), order=[3])  # type: ignore[list-item]

    def test_values_without_an_order(self) -> None:
        lists = fl.stream([{"ts": 1, "tags": ["a"]}], time="ts", unit="s")
        told = r"over: column 'tags' is list<.*>, whose values have no order.*Name a column with numbers"
        with pytest.raises(fl.InputError, match=told):
            lists.over(fl.range("1 s"), order="tags").add(n=fl.count()).table()
        with pytest.raises(fl.InputError, match=told):
            lists.over(fl.rows(), by="tags").add(n=fl.rank()).retracting(retention="1 s").table()
        with pytest.raises(fl.InputError, match=told):
            lists.window(fl.tumbling("1 s")).over(order="tags").add(n=fl.rank()).table()

    @pytest.mark.parametrize(
        ("function", "told"),
        [
            (fl.sum("card"), r"Sum: `card` is string, which is not a number\. Cast it .* or use count"),
            (fl.median("card"), r"Quantile: `card` is string, which is not a number"),
            (fl.any("price"), r"`price` is int64"),
        ],
    )
    def test_a_function_of_a_type_that_it_cannot_have(self, function: Any, told: str) -> None:
        stream = payments(paid(1))
        with pytest.raises(fl.InputError, match=told):
            stream.over(fl.range("1 s")).add(x=function).table()
        with pytest.raises(fl.InputError, match=told):
            stream.over(fl.range("1 s")).add(x=function).retracting(retention="1 h").table()
        with pytest.raises(fl.InputError, match=told):
            stream.window(fl.tumbling("1 s")).over().add(x=function).table()

    def test_a_name_that_a_column_has_already(self) -> None:
        with pytest.raises(fl.InputError, match="a column 'price' came already"):
            payments(paid(1)).over(fl.range("1 s")).add(price=fl.count()).table()
        with pytest.raises(fl.SpecError, match="two new columns are called 'n'"):
            payments().over(fl.range("1 s")).add(n=fl.count()).over(fl.range("2 s")).add(n=fl.count())

    def test_changes(self) -> None:
        changes = fl.stream([], time="ts", unit="s", op="op", unique="id")
        with pytest.raises(fl.SpecError, match=r"this stream has changes \(`op`\).*retracting\(.*or sort it first"):
            changes.over(fl.range("1 s")).add(n=fl.count()).table()

    def test_a_time_that_can_be_nan_is_no_time(self) -> None:
        came = [{"ts": ts, "v": 1} for ts in (1.0, math.nan)]
        with pytest.raises(fl.InputError, match="time: the column has type double, which is no event time"):
            fl.stream(came, time="ts", unit="s").over(fl.range("1 s")).add(n=fl.count()).table()

    def test_a_time_that_is_null_is_a_dead_letter(self) -> None:
        result = payments(paid(1), paid(None)).over(fl.range("1 s")).add(n=fl.count())
        assert column(result, "n") == [1]
        assert result.dead_letters.column("reason").to_pylist() == ["null_time"]


def test_it_says_of_itself_what_it_does() -> None:
    over = payments().over(fl.range("1 min"), order=("id", fl.desc("price")))
    assert repr(over).endswith("over the rows of the last 1 min: say add(…) to complete it>")
    told = over.add(n=fl.count()).explain()
    assert "order      by time, then by `id`, then by `price` descending, then as they came" in told
    assert "frames     the rows of the last 1 min" in told
    assert "fires      each row once, when the watermark has passed it" in told
