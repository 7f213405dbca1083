"""Joins by frames in this process: what a record finds when it comes, when pairs leave, what windows tell."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fanlight as fl
from fanlight.errors import FanlightError
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.time.timestamp import END_OF_TIME

ORDERS = [{"ts": 10, "id": 1, "v": 1}, {"ts": 11, "id": 2, "v": 2}, {"ts": 12, "id": 1, "v": 3}]
HOUR = fl.retention("1 h")
ALL = fl.frames(s=fl.unbounded(), o=fl.unbounded())


def stream(records: Any, name: str, **options: Any) -> fl.Stream:
    return fl.stream(records, **{"time": "ts", "unit": "s", "name": name, "delay": "1 min", **options}).key_by("id")


def joined(match: fl.Frames, kept: fl.Retention | None = HOUR, **options: Any) -> fl.JoinResult:
    return stream([], "s").join(stream([], "o"), match, retention=kept, **options)


def ship(second: int, key: int | None, cost: int) -> dict[str, Any]:
    return {"ts": second, "id": key, "c": cost}


def values(operator: fl.StandaloneJoin) -> list[tuple[int, int]]:
    """The order and the shipment of each pair that left since."""
    return [(row["v"], row["c"]) for row in operator.take().to_pylist()]


class TestWhatIsFound:
    def test_of_each_key_its_newest_rows_or_of_the_side(self) -> None:
        """Of id 1 the newest order is 3; of the side too, so that id 2 finds nothing there."""
        for per, expected in (("key", [(3, 7), (2, 8)]), ("stream", [(3, 7)])):
            match = fl.frames(s=fl.rows(1), o=fl.rows(1), per=per)  # type: ignore[arg-type]
            operator = joined(match).operator()
            operator.add(ORDERS, source="o")
            operator.add([ship(20, 1, 7), ship(21, 2, 8)], source="s")
            assert values(operator) == expected

    def test_a_pair_is_found_once_by_the_later_of_the_two(self) -> None:
        """The order that comes second finds the shipment; the shipment was there, and does not look again."""
        operator = joined(ALL).operator()
        operator.add([ship(20, 1, 7)], source="s")
        operator.add(ORDERS[:1], source="o")
        operator.add([ship(21, 1, 8)], source="s")
        assert values(operator) == [(1, 7), (1, 8)]

    def test_the_window_of_the_row_that_comes_says_nothing(self) -> None:
        """Orders have a window of one; a new order still finds all shipments, and is found by those to come."""
        operator = joined(fl.frames(s=fl.unbounded(), o=fl.rows(1))).operator()
        operator.add([ship(20, 1, 7), ship(21, 1, 8)], source="s")
        operator.add([ORDERS[0], ORDERS[2]], source="o")
        assert values(operator) == [(1, 7), (3, 7), (1, 8), (3, 8)]
        operator.add([ship(22, 1, 9)], source="s")
        assert values(operator) == [(3, 9)]

    def test_a_range_is_behind_the_newest_row_of_its_key_both_ends_inside(self) -> None:
        """The newest order of id 1 is of 12: 10 is two seconds behind it, and 9 would be three."""
        operator = joined(fl.frames(s=fl.rows(1), o=fl.range("2 s"))).operator()
        operator.add([{"ts": 9, "id": 1, "v": 0}, *ORDERS], source="o")
        operator.add([ship(99, 1, 7)], source="s")
        assert values(operator) == [(1, 7), (3, 7)]

    def test_a_window_that_nothing_enters_moves_with_the_watermark(self) -> None:
        """Another key takes the watermark of the orders to 20: for id 1 what is before 18 has left its window."""
        operator = joined(fl.frames(s=fl.rows(1), o=fl.range("2 s"))).operator()
        operator.add(ORDERS, source="o")
        operator.add([{"ts": 80, "id": 2, "v": 4}], source="o")
        operator.add([ship(99, 1, 7), ship(99, 2, 8)], source="s")
        assert values(operator) == [(4, 8)]

    def test_retention_limits_every_window_by_the_watermark_of_its_side(self) -> None:
        for match in (ALL, fl.frames(s=fl.rows(9), o=fl.rows(9))):
            operator = joined(match, fl.retention("9 s")).operator()
            operator.add(ORDERS, source="o")
            operator.advance(watermark=20_000_000, source="o")
            operator.add([ship(99, 1, 7), ship(99, 2, 8)], source="s")
            assert values(operator) == [(3, 7), (2, 8)]  # 11 is nine seconds behind, 10 is ten

    @pytest.mark.parametrize("read", ["slice", "key"])
    def test_a_row_that_is_too_old_takes_its_place_among_the_newest(self, read: Any) -> None:
        """Of two newest orders the last one, of 50, is too old; the one before them does not come back for it."""
        match = fl.frames(s=fl.rows(1), o=fl.rows(2), read=read)
        operator = joined(match, fl.retention("4 s")).operator()
        for number, second in enumerate((100, 101, 50)):
            operator.add([{"ts": second, "id": 1, "v": number}], source="o")
        for second in (55, 60, 65):
            operator.advance(watermark=second * 1_000_000, source="o")
            operator.add([ship(99, 1, second)], source="s")
            assert values(operator) == [(1, second)]

    @pytest.mark.parametrize("read", ["slice", "key"])
    def test_rows_that_are_too_old_take_none_with_them_that_came_before(self, read: Any) -> None:
        """Ten orders of 100 come in one bundle, then one of 50: when that is too old, the ten are not."""
        match = fl.frames(s=fl.rows(1), o=fl.rows(3), read=read)
        operator = joined(match, fl.retention("4 s")).operator()
        operator.add([{"ts": 100, "id": number, "v": number} for number in range(10)], source="o")
        operator.add([{"ts": 50, "id": 1, "v": 77}], source="o")
        operator.advance(watermark=55_000_000, source="o")
        operator.add([ship(99, 1, 5)], source="s")
        assert values(operator) == [(1, 5)]

    def test_a_side_that_has_ended_is_still_joined(self) -> None:
        """All orders come before the first shipment, in one bundle; they go on with the watermark of the shipments."""
        shipments = fl.stream(
            [ship(20 * n, 1, n) for n in range(1, 4)], time="ts", unit="s", rows=1, delay="0 s", name="s"
        )
        found = shipments.key_by("id").join(stream(ORDERS[:1], "o"), ALL, retention=fl.retention("40 s"))
        assert [row["c"] for row in found.table().to_pylist()] == [1, 2, 3]

    def test_how_far_apart_and_a_condition(self) -> None:
        near = fl.frames(s=fl.unbounded(), o=fl.unbounded(), within=fl.interval("-2 s", "0 s"))
        operator = joined(near, where=fl.col("v") < fl.col("c")).operator()
        operator.add(ORDERS, source="o")
        operator.add([ship(13, 1, 9), ship(12, 1, 2), ship(12, 1, 4)], source="s")
        assert values(operator) == [(1, 2), (1, 4), (3, 4), (3, 9)]

    def test_a_null_key_finds_nothing_but_takes_a_place_in_the_window_of_a_side(self) -> None:
        operator = joined(fl.frames(s=fl.rows(1), o=fl.rows(1), per="stream")).operator()
        operator.add([ORDERS[0], {"ts": 11, "id": None, "v": 0}], source="o")
        operator.add([ship(12, None, 7), ship(12, 1, 8)], source="s")
        assert values(operator) == []

    def test_without_keys_the_windows_of_the_sides_are_all_there_is(self) -> None:
        left, right = (fl.stream([], time="ts", unit="s", name=name) for name in ("s", "o"))
        operator = left.join(right, fl.frames(s=fl.rows(1), o=fl.rows(2))).operator()
        operator.add(ORDERS, source="o")
        operator.add([ship(12, 5, 7)], source="s")
        assert values(operator) == [(2, 7), (3, 7)]


class TestWhenTheyLeave:
    def test_late_records_have_a_period_of_their_own(self) -> None:
        """The order of 11 comes behind the watermark of 12: its pair waits, that of the next order does not."""
        said = joined(ALL, lateness="5 s").updates(late=fl.every("10 s"))
        operator = said.operator()
        operator.add([ship(20, 1, 7)], source="s", clock=1_000_000)
        operator.advance(watermark=12_000_000, source="o")
        operator.add([{"ts": 11, "id": 1, "v": 1}], source="o")
        operator.add([ORDERS[2]], source="o")
        assert values(operator) == [(3, 7)]
        operator.advance(clock=10_000_000)
        assert values(operator) == [(1, 7)]

    def test_what_waits_survives_a_restart_and_leaves_at_the_end(self) -> None:
        said = joined(ALL).updates(early=fl.every("1 min"))
        operator = said.operator()
        operator.add(ORDERS, source="o", clock=1_000_000)
        operator.add([ship(20, 1, 7)], source="s")
        again = fl.StandaloneJoin.restore(said.spec, operator.snapshot(), intakes=sided_intakes(said.spec))
        again.end()
        assert values(again) == [(1, 7), (3, 7)]

    def test_what_waits_leaves_when_both_sides_have_ended(self) -> None:
        """Each by a word of its own: then no clock need come."""
        operator = joined(ALL).updates(early=fl.every("1 min")).operator()
        operator.add(ORDERS, source="o", clock=1_000_000)
        operator.add([ship(20, 1, 7)], source="s")
        operator.advance(watermark=END_OF_TIME, source="o")
        assert values(operator) == []
        operator.advance(watermark=END_OF_TIME, source="s")
        assert values(operator) == [(1, 7), (3, 7)]

    def test_what_waits_and_what_is_kept_gets_its_type_when_it_is_known(self) -> None:
        """The first order has no value, so that its column has no type until the second comes."""
        operator = joined(ALL).updates(early=fl.every("1 min")).operator()
        operator.add([{"ts": 10, "id": 1, "v": None}], source="o", clock=1_000_000)
        operator.add([ship(20, 1, 7)], source="s")
        operator.add([{"ts": 12, "id": 1, "v": 3}], source="o")
        operator.advance(clock=60_000_000)
        assert operator.take()["v"].to_pylist() == [None, 3]

    def test_a_record_behind_the_watermark_of_its_side_is_expired(self) -> None:
        operator = joined(ALL).operator()
        operator.add(ORDERS, source="o", watermark=12_000_000)
        operator.add([{"ts": 11, "id": 1, "v": 5}], source="o")
        assert operator.dead_letters["reason"].to_pylist() == ["expired"]
        assert operator.accounting.adds_up


class TestWhatFollows:
    def test_windows_follow_by_the_greater_time(self) -> None:
        left = stream([ship(20, 1, 7), ship(70, 1, 8)], "s")
        both = left.join(stream(ORDERS, "o"), ALL, retention=fl.retention()).stamped("greatest")
        counted = both.window(fl.tumbling("1 min")).agg(n=fl.count())
        assert counted.table()["n"].to_pylist() == [2, 2]

    def test_a_function_makes_rows_of_the_pairs_that_leave_together(self) -> None:
        def cheapest(matches: pa.Table) -> pa.Table:
            return matches.group_by("id").aggregate([("c", "min")]).rename_columns(["id", "c"])

        made = joined(ALL).batch(cheapest, pa.schema({"id": pa.int64(), "c": pa.int32()}))
        operator = made.operator()
        operator.add(ORDERS, source="o")
        operator.add([ship(20, 1, 7), ship(20, 1, 6)], source="s")
        assert operator.take().to_pylist() == [{"id": 1, "c": 6}]
        operator.add([ship(20, 5, 7)], source="s")  # no pair, no call
        assert operator.take().schema == pa.schema({"id": pa.int64(), "c": pa.int32()})

    @pytest.mark.parametrize(
        ("function", "told"),
        [
            (lambda matches: matches["nothing"], "raised KeyError"),
            (lambda matches: matches, "were declared|was declared"),
            (lambda matches: 5, "returned a int"),
            (
                lambda matches: pa.table({"c": pc.cast(matches["c"], pa.string())}).append_column("id", [["x"]]),
                "do not fit",
            ),
        ],
    )
    def test_what_a_function_does_wrong_is_told(self, function: Any, told: str) -> None:
        operator = joined(ALL).batch(function, pa.schema({"id": pa.int64(), "c": pa.timestamp("us")})).operator()
        operator.add(ORDERS[:1], source="o")
        with pytest.raises(FanlightError, match=told):
            operator.add([ship(20, 1, 7)], source="s")
        assert operator.take().num_rows == 0


class TestLookingInto:
    def test_windows_and_messages_by_time_key_and_offset(self) -> None:
        kept = fl.retention("1 h", messages=True, offsets="offset")
        operator = joined(fl.frames(s=fl.unbounded(), o=fl.rows(1)), kept).operator()
        operator.add(ORDERS, source="o", offset=[5, 7, 9])
        operator.add([ship(20, 1, 7), ship(30, 1, 8)], source="s", offset=100)
        windows = operator.windows("o").to_pylist()
        assert [(row["id"], row["window"]["start"].second, row["pane"]) for row in windows] == [
            (1, 12, {"records": 1, "first_offset": 9, "last_offset": 9}),
            (2, 11, {"records": 1, "first_offset": 7, "last_offset": 7}),
        ]
        assert operator.windows("o", end=12_000_000)["id"].to_pylist() == [2]
        assert operator.windows("s", key=2).num_rows == 0
        assert operator.messages("s", 25_000_000)["c"].to_pylist() == [8]
        assert operator.messages("s", key=[1, 4], end_offset=101)["c"].to_pylist() == [7]
        assert operator.first_offsets() == {"s": 100, "o": 5}
        assert operator.kept()["o"]["v"].to_pylist() == [2, 3]

    def test_what_cannot_be_asked(self) -> None:
        operator = joined(ALL).operator()
        operator.add(ORDERS, source="o")
        with pytest.raises(FanlightError, match="'x' is no side of this join"):
            operator.windows("x")
        with pytest.raises(FanlightError, match="keeps no offsets"):
            operator.messages("o", start_offset=3)
        with pytest.raises(FanlightError, match="is keyed by id"):
            operator.messages("o", key=(1, 2))
        other = stream([], "s").join(stream([], "o"), fl.interval("0 s", "1 s")).operator()
        other.add(ORDERS, source="o")
        with pytest.raises(FanlightError, match="keeps no windows of its sides"):
            other.windows("o")


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (lambda: joined(ALL, None), "window of 's' has all its rows"),
        (lambda: joined(fl.frames(s=fl.range("1 s"), o=fl.rows(3)), None), "newest rows of every key of 'o'"),
        (lambda: joined(fl.frames(s=fl.rows(3), x=fl.rows(3))), "the frames of 's', 'x', and the sides"),
        (lambda: joined(fl.frames(s=fl.rows(3))), "frames of 's', and the sides"),
        (lambda: joined(fl.frames(s=fl.rows(0), o=fl.rows(3))), "rows(0) of 's' has no row"),
        (lambda: joined(fl.frames(s=fl.rows(3, following=1), o=fl.rows(3))), "ends with the newest row"),
        (lambda: joined(fl.frames(s=fl.rows(3, exclude="current"), o=fl.rows(3))), "ends with the newest row"),
        (lambda: joined(fl.frames(s=fl.range("-1 s"), o=fl.rows(3))), "starts after its newest row"),
        (lambda: joined(fl.frames(s=fl.session_frame("1 s"), o=fl.rows(3))), "is none that a join has"),
        (lambda: joined(fl.frames(s=fl.rows(1), o=fl.rows(1), read={"x": "key"})), "no side of these frames"),
        (lambda: joined(fl.frames(s=fl.rows(1), o=fl.rows(1), read="slow")), "'slow' is not one of slice, key"),
        (lambda: joined(fl.frames(s=fl.rows(1), o=fl.rows(1), within="1 s")), "must be an interval"),  # type: ignore[arg-type]
        (lambda: joined(ALL, fl.retention("1 h", count=3)), "rows are kept by time"),
        (lambda: joined(ALL, how="left"), "there is no left join by frames"),
        (lambda: joined(ALL).on_close(), "pairs of frames are not on_close"),
        (lambda: joined(ALL, combine="greatest"), "about rows that match by an interval"),
        (lambda: joined(ALL).updates(early=fl.after(3)), "`early` (After(records=3)) is no period of the clock"),
        (lambda: joined(ALL).batch(len, pa.int64()), "is no Arrow schema"),
        (lambda: joined(ALL).updates(early=fl.every("1 s")).sort(), "pairs wait for the clock"),
        (lambda: joined(ALL, fl.retention()).sort(), "Say stamped('greatest')"),
        (lambda: joined(ALL).agg(n=fl.count()), "only an interval join"),
        (lambda: stream([], "s", op="op").join(stream([], "o"), ALL, retention=HOUR), "Sort it first"),
        (
            lambda: stream([], "s").join(stream([], "o"), fl.interval("0 s", "1 s")).updates(early=fl.every("1 s")),
            "it is about pairs of windows",
        ),
        (
            lambda: fl.stream([], time="ts", name="s").join(
                fl.stream([], time="ts", name="o"), fl.frames(s=fl.rows(1), o=fl.rows(1), read="key")
            ),
            "these sides have no keys",
        ),
    ],
)
def test_what_is_refused_says_what_to_do(declared: Any, told: str) -> None:
    with pytest.raises(FanlightError, match=re.escape(told)):
        declared()


def test_explain_says_the_windows_and_how_they_are_read() -> None:
    match = fl.frames(s=fl.unbounded(), o=fl.rows(3), per="stream", read={"s": "slice"})
    told = joined(match, fl.retention(), lateness="5 s").updates(early=fl.every("1 min")).explain().splitlines()
    assert told[-5:] == [
        "joins      s with o, inner",
        "windows    s: all rows; o: the 3 newest; one of the side",
        "fires      a pair at each 1 min of the clock, one of a late record at once",
        "reads      s a slice of time, scanned, as was said; o the newest rows, scanned",
        "keeps      of s all rows: what is kept grows with the stream; of o 3 rows",
    ]
