"""Sliding windows that fire once: a window has no row of its own, it is made of the records when it expires."""

from __future__ import annotations

import pytest
from tests.operators.window.accepting import SCHEMA
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl

SECOND = 1_000_000


class Operator:
    """Windows that reach ten seconds back, and all that is kept for them."""

    def __init__(self, anchor: str = "trailing") -> None:
        stream = fl.stream([], time="ts", unit="s", schema=SCHEMA, watermark=fl.Explicit()).key_by("k")
        result = stream.window(fl.sliding("10 s", anchor)).agg(of=fl.list("v"), n=fl.count())
        self.store = WatchedStore("atoms")
        self.operator = result.operator(store=self.store)

    def step(self, *records: tuple[int, str], watermark: int) -> list[tuple[str, int, list[int]]]:
        """Take (second, key) records in, then a watermark; key, last second and content of what leaves."""
        self.store.forget()
        rows = [{"ts": second, "k": key, "v": second} for second, key in records]
        if rows:
            self.operator.add(rows, watermark=watermark * SECOND)
        else:
            self.operator.advance(watermark=watermark * SECOND)
        left = self.operator.take().to_pylist() if self.operator.is_bound else []
        return [(row["k"], round(row["window"]["end"].timestamp()), row["of"]) for row in left]

    @property
    def kept(self) -> list[int]:
        """The slices of which records are kept; they are ten seconds wide."""
        return sorted({address.part for address in self.store.list("atoms")})


def test_windows_leave_by_their_ends_and_keys_with_all_that_is_in_them() -> None:
    """The watermark is past the windows that end with 100, 103 and 105, each a microsecond after its second."""
    operator = Operator()
    assert operator.step((105, "a"), (100, "b"), (100, "a"), (103, "a"), watermark=106) == [
        ("a", 100, [100]),
        ("b", 100, [100]),
        ("a", 103, [100, 103]),
        ("a", 105, [100, 103, 105]),
    ]


def test_a_window_waits_for_the_watermark_and_for_what_still_comes() -> None:
    operator = Operator()
    assert operator.step((105, "a"), watermark=100) == []
    assert operator.step((101, "a"), (104, "a"), watermark=103) == [("a", 101, [101])]
    assert operator.step(watermark=106) == [("a", 104, [101, 104]), ("a", 105, [101, 104, 105])]


def test_records_are_kept_as_long_as_a_window_can_need_them() -> None:
    """100 is in slice 10, 112 in slice 11. Windows that end at 121 reach back to 111: slice 10 is needed no more."""
    operator = Operator()
    operator.step((100, "a"), (112, "a"), watermark=105)
    assert operator.kept == [10, 11]
    operator.step(watermark=119)
    assert operator.kept == [10, 11]
    operator.step(watermark=121)
    assert operator.kept == [11]
    operator.step(watermark=140)
    assert operator.kept == []


def test_what_one_step_brings_and_ends_is_never_written() -> None:
    operator = Operator()
    assert operator.step((100, "a"), watermark=200) == [("a", 100, [100])]
    assert operator.store.written == []


@pytest.mark.parametrize(
    ("anchor", "found"),
    [
        ("trailing", [("a", 100, [100]), ("a", 105, [100, 105])]),
        ("forward", [("a", 110, [100, 105]), ("a", 115, [105])]),
        ("both", [("a", 100, [100]), ("a", 105, [100, 105]), ("a", 110, [105])]),
    ],
)
def test_each_anchor_has_its_own_windows(anchor: str, found: list[tuple[str, int, list[int]]]) -> None:
    """100 and 105. Both: after 100 comes a window that ends with 110 and holds 105; after 105 one that is empty."""
    assert Operator(anchor).step((100, "a"), (105, "a"), watermark=300) == found


def test_a_record_too_late_for_all_its_windows_is_a_dead_letter_and_one_in_time_for_one_is_not() -> None:
    operator = Operator()
    operator.step((105, "a"), watermark=101)
    operator.step((99, "a"), (90, "a"), watermark=101)
    letters = operator.operator.take_dead_letters().to_pylist()
    assert [(letter["reason"], letter["record"]["v"]) for letter in letters] == [("expired", 90)]
    # 90 has missed its own window, and so has 99: that of 105 takes it.
    assert operator.operator.accounting.missed_windows == 2
    assert operator.step(watermark=106) == [("a", 105, [99, 105])]
