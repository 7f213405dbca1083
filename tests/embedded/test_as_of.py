"""As-of joins through the words of a pipeline: which quote a trade gets, when it leaves, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SpecError

S = 1_000_000
TRADES = [
    {"ts": 5, "id": 7, "v": 1},
    {"ts": 8, "id": 7, "v": 2},
    {"ts": 30, "id": 7, "v": 3},
    {"ts": 6, "id": 8, "v": 4},
]
QUOTES = [{"ts": 4, "id": 7, "bid": 10}, {"ts": 8, "id": 7, "bid": 11}, {"ts": 9, "id": 7, "bid": 12}]


def stream(source: Any, name: str, **options: Any) -> fl.Stream:
    return fl.stream(source, time="ts", unit="s", name=name, **{"delay": "40 s", **options})


def joined(match: Any, left: Any = TRADES, right: Any = QUOTES, **options: Any) -> fl.JoinResult:
    return stream(left, "t").join(stream(right, "q"), match, **{"on": "id", "how": "left", **options})


def bids(result: fl.JoinResult) -> dict[int, int | None]:
    """The quote of each trade, in the order in which they leave."""
    return {row["v"]: row["bid"] for row in result.table().to_pylist()}


def by_hand(match: Any, **options: Any) -> Any:
    """An operator whose watermarks are told."""
    left, right = (stream([], name, watermark=fl.Explicit(), delay=None) for name in ("t", "q"))
    return left.join(right, match, **{"on": "id", "how": "left", **options}).operator()


class TestWhichRow:
    @pytest.mark.parametrize(
        ("match", "expected"),
        [
            (fl.as_of("10 s"), {1: 10, 4: None, 2: 11, 3: None}),
            (fl.as_of("10 s", allow_exact=False), {1: 10, 4: None, 2: 10, 3: None}),
            (fl.as_of("10 s", "forward"), {1: 11, 4: None, 2: 11, 3: None}),
            (fl.as_of("10 s", "forward", allow_exact=False), {1: 11, 4: None, 2: 12, 3: None}),
            (fl.as_of("2 s", "forward"), {1: None, 4: None, 2: 11, 3: None}),
            (fl.as_of("10 s", "nearest"), {1: 10, 4: None, 2: 11, 3: None}),
            (fl.as_of("10 s", "nearest", allow_exact=False), {1: 10, 4: None, 2: 12, 3: None}),
            (fl.as_of().within(fl.retention()), {1: 10, 4: None, 2: 11, 3: 12}),
        ],
    )
    def test_quotes_of_4_8_and_9_for_trades_of_5_8_and_30(self, match: Any, expected: dict[int, int | None]) -> None:
        assert bids(joined(match)) == expected

    def test_a_retention_takes_the_place_of_the_tolerance(self) -> None:
        """The trade of 30 s is 21 s after the last quote."""
        assert bids(joined(fl.as_of(), retention=fl.retention("21 s")))[3] == 12
        assert bids(joined(fl.as_of(), retention=fl.retention("20 s")))[3] is None
        assert bids(joined(fl.as_of(), retention=fl.retention()))[3] == 12

    def test_as_far_before_as_after_is_before(self) -> None:
        assert bids(joined(fl.as_of("10 s", "nearest"), [{"ts": 6, "id": 7, "v": 1}])) == {1: 10}

    @pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
    def test_of_several_at_one_time_the_last_to_come(self, direction: Any) -> None:
        quotes = [{"ts": 5, "id": 7, "bid": bid} for bid in (3, 1, 2)]
        assert bids(joined(fl.as_of("1 s", direction), TRADES[:1], quotes)) == {1: 2}

    def test_a_condition_chooses_among_the_quotes(self) -> None:
        """The newest quote below 11 is that of 4 s: for the trade of 8 s too."""
        assert bids(joined(fl.as_of("10 s"), where=fl.col("q.bid") < 11))[2] == 10

    @pytest.mark.parametrize(("how", "expected"), [("inner", [1, 2]), ("semi", [1, 2]), ("anti", [4, 3])])
    def test_other_types(self, how: Any, expected: list[int]) -> None:
        found = joined(fl.as_of("10 s"), how=how).table()
        assert found.column("v").to_pylist() == expected
        assert ("bid" in found.column_names) is (how == "inner")

    def test_without_keys_times_alone_count(self) -> None:
        result = stream(TRADES, "t").join(stream(QUOTES, "q"), fl.as_of("2 s"), how="left")
        assert bids(result) == {1: 10, 4: 10, 2: 11, 3: None}

    def test_a_side_that_brings_nothing(self) -> None:
        assert joined(fl.as_of("10 s"), right=[]).table().column("v").to_pylist() == [1, 4, 2, 3]
        assert len(joined(fl.as_of("10 s"), left=[]).table()) == 0


class TestWhenRowsLeave:
    def test_backward_when_both_watermarks_have_passed(self) -> None:
        operator = by_hand(fl.as_of("10 s"))
        operator.add([{"ts": 4, "id": 7, "bid": 10}], source="q")
        operator.add(TRADES[:1], source="t")
        operator.advance(watermark=50 * S, source="t")
        operator.advance(watermark=5 * S, source="q")
        assert len(operator.take()) == 0
        operator.add([{"ts": 5, "id": 7, "bid": 11}], source="q")
        operator.advance(watermark=5 * S + 1, source="q")
        assert operator.take().column("bid").to_pylist() == [11]

    @pytest.mark.parametrize("direction", ["forward", "nearest"])
    def test_forward_when_no_nearer_quote_can_come(self, direction: Any) -> None:
        operator = by_hand(fl.as_of("3 s", direction))
        operator.add(TRADES[:1], source="t")
        operator.add([{"ts": 8, "id": 7, "bid": 10}], source="q")
        operator.advance(watermark=50 * S, source="t")
        operator.advance(watermark=8 * S, source="q")
        assert len(operator.take()) == 0
        operator.advance(watermark=8 * S + 1, source="q")
        assert operator.take().column("bid").to_pylist() == [10]

    def test_a_late_quote_is_a_dead_letter(self) -> None:
        operator = by_hand(fl.as_of("10 s"))
        operator.advance(watermark=50 * S, source="q")
        operator.add([{"ts": 49, "id": 7, "bid": 10}], source="q")
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]

    def test_windows_over_joined_rows_lose_nothing(self) -> None:
        left = [{"ts": second, "id": second % 3, "v": 1} for second in range(20)]
        right = [{"ts": second, "id": second % 3, "bid": second} for second in range(20)]
        for direction in ("backward", "forward", "nearest"):
            match = fl.as_of("3 s", direction)  # type: ignore[arg-type]
            result = joined(match, left, right).window(fl.tumbling("5 s")).agg(n=fl.count())
            assert sum(result.table().column("n").to_pylist()) == 20
            assert result.accounting.dead_letters == 0

    def test_the_results_of_windows_as_of(self) -> None:
        """The windows of quotes end at 10 s: their rows are of that time, less one instant."""
        highest = stream(QUOTES, "q").key_by("id").window(fl.tumbling("10 s")).agg(high=fl.max("bid"))
        result = stream(TRADES, "t").key_by("id").join(highest.key_by("id"), fl.as_of("30 s"), how="left")
        assert {row["v"]: row["high"] for row in result.table().to_pylist()} == {1: None, 4: None, 2: None, 3: 12}


def test_explain_says_what_is_taken_and_what_is_kept() -> None:
    def lines(match: Any, **said: Any) -> dict[str, str]:
        told = joined(match, **said).explain()
        return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in told.splitlines())

    backward = lines(fl.as_of("10 s"))
    assert backward["matches"] == (
        "the right row of its key that is the newest at or before the left row's time, no further than 10 s"
    )
    assert backward["keeps"].endswith("and the last of each key before, for 10 s")
    assert lines(fl.as_of().within(fl.retention()))["keeps"].endswith("for ever: it grows with the keys")
    assert "by 10 s" in lines(fl.as_of("10 s", "nearest"))["fires"]
    assert "rate × (10 s + delays)" in lines(fl.as_of("10 s"), where=fl.col("bid") > 1)["keeps"]


class TestRefused:
    @pytest.mark.parametrize(
        ("declare", "told"),
        [
            (lambda: joined(fl.as_of()), "kept for ever. Say how far back"),
            (lambda: joined(fl.as_of("1 s"), retention=fl.retention()), "Leave one of the two out"),
            (lambda: joined(fl.as_of(), retention=fl.retention(count=3)), "kept by time, not by count"),
            (lambda: joined(fl.as_of("1 s"), combine="greatest"), "is about rows that match by an interval"),
            (lambda: fl.as_of(direction="forward"), "would wait for ever"),
            (lambda: fl.as_of("1 s", "sideways"), "must be 'backward', 'forward' or 'nearest'"),
            (lambda: fl.as_of("-1 s"), "is negative"),
            (lambda: joined(fl.as_of("1 s"), how="right"), "there is no right one"),
            (lambda: joined(fl.as_of("1 s"), how="full"), "there is no full one"),
            (lambda: joined(fl.as_of("1 s")).eager(), "rows leave on close"),
            (lambda: joined(fl.as_of("1 s"), how="inner").stamped("right"), "the time of its left row"),
            (lambda: joined(fl.as_of().within(fl.retention()), where=fl.col("bid") > 1), "kept for ever"),
        ],
    )
    def test_when_it_is_declared(self, declare: Any, told: str) -> None:
        with pytest.raises(SpecError, match=told):
            declare()
