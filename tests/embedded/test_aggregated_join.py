"""Aggregating joins through the words of a pipeline: what is computed of which matches, and what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import FanlightError, SpecError

S = 1_000_000
TRADES = [{"ts": 10, "id": 7, "v": 1}, {"ts": 12, "id": 8, "v": 2}, {"ts": 14, "id": 7, "v": 3}]
BIDS = [{"ts": 1, "id": 7, "bid": 4}, {"ts": 6, "id": 7, "bid": 9}, {"ts": 14, "id": 7, "bid": 5}]
NEAR = fl.interval("-5 s", "0 s")


def stream(source: Any, name: str, **options: Any) -> fl.Stream:
    return fl.stream(source, time="ts", unit="s", name=name, **{"delay": "40 s", **options})


def joined(left: Any = TRADES, right: Any = BIDS, **options: Any) -> fl.JoinResult:
    return stream(left, "t").join(stream(right, "s"), NEAR, **{"on": "id", "how": "left", **options})


def test_each_trade_with_the_highest_bid_of_its_last_five_seconds() -> None:
    """The bid of 1 s is too old for the trade of 10 s, that of 6 s for the trade of 14 s; 8 has no bid."""
    found = joined().agg(high=fl.max("s.bid"), n=fl.count(), all=fl.list("bid")).table().to_pylist()
    assert found == [
        {"ts": 10, "id": 7, "v": 1, "high": 9, "n": 1, "all": [9]},
        {"ts": 12, "id": 8, "v": 2, "high": None, "n": 0, "all": []},
        {"ts": 14, "id": 7, "v": 3, "high": 5, "n": 1, "all": [5]},
    ]


def test_an_inner_join_leaves_out_rows_without_a_match() -> None:
    assert joined(how="inner").agg(n=fl.count()).table().column("v").to_pylist() == [1, 3]


def test_a_side_that_brings_nothing() -> None:
    found = joined(right=[]).agg(n=fl.count(), high=fl.max("bid")).table()
    assert found.select(["v", "n", "high"]).to_pylist() == [{"v": v, "n": 0, "high": None} for v in (1, 2, 3)]
    assert len(joined(left=[]).agg(n=fl.count()).table()) == 0


def test_aggregates_get_their_types_with_the_first_record_of_the_right_side() -> None:
    left, right = (stream([], name, watermark=fl.Explicit(), delay=None) for name in ("t", "s"))
    operator = left.join(right, NEAR, on="id", how="left").agg(n=fl.count(), high=fl.max("bid")).operator()
    operator.add(TRADES[:1], source="t")
    for side in ("t", "s"):
        operator.advance(watermark=11 * S, source=side)
    operator.add(TRADES[2:], source="t")
    operator.add(BIDS[2:], source="s")
    operator.end()
    assert operator.take().select(["v", "n", "high"]).to_pylist() == [
        {"v": 1, "n": 0, "high": None},
        {"v": 3, "n": 1, "high": 5},
    ]


def test_a_row_leaves_when_no_match_can_come_any_more() -> None:
    left, right = (stream([], name, watermark=fl.Explicit(), delay=None) for name in ("t", "s"))
    match = fl.interval("0 s", "5 s")
    operator = left.join(right, match, on="id", how="left").agg(n=fl.count()).operator()
    operator.add(TRADES[:1], source="t")
    operator.add([{"ts": 15, "id": 7, "bid": 1}], source="s")
    operator.advance(watermark=50 * S, source="t")
    operator.advance(watermark=15 * S, source="s")
    assert len(operator.take()) == 0
    operator.advance(watermark=15 * S + 1, source="s")
    assert operator.take().column("n").to_pylist() == [1]


def test_a_value_that_its_type_cannot_hold_keeps_its_row_back() -> None:
    bids = pa.table({"ts": [8, 9], "id": [7, 7], "bid": [2**62, 2**62]})
    result = joined(right=bids).agg(total=fl.sum("bid"))
    assert result.table().column("v").to_pylist() == [2, 3]
    assert result.accounting.values_out_of_range == 1


def test_windows_over_rows_with_aggregates() -> None:
    result = joined().agg(n=fl.count()).window(fl.tumbling("1 min")).agg(bids=fl.sum("n"))
    assert result.table().column("bids").to_pylist() == [2]
    assert result.accounting.dead_letters == 0


def test_explain_says_that_no_pairs_are_made() -> None:
    told = joined().agg(high=fl.max("s.bid")).explain()
    assert "high = max(s.bid) of the matches of each row; no pairs are made" in told


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: joined().agg(), "nothing is computed"),
        (lambda: joined().agg(n=3), "is no aggregate"),
        (lambda: joined().agg(x=fl.max("t.v")), "a column of the left side"),
        (lambda: joined(how="full").agg(n=fl.count()), "there is no full join"),
        (lambda: joined(where=fl.col("bid") > 1).agg(n=fl.count()), "would make every pair"),
        (lambda: joined().agg(n=fl.count()).eager(), "rows leave on close"),
        (lambda: joined(how="inner").agg(n=fl.count()).stamped("right"), "the time of its left row"),
        (lambda: joined().agg(n=fl.count()).agg(n=fl.count()), "only an interval join"),
        (lambda: joined().agg(n=fl.batch(len, pa.int64(), "bid")), "a function of all rows of a window"),
    ],
)
def test_what_is_refused_when_it_is_declared(declare: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        declare()


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda: joined().agg(high=fl.max("bit")), "Did you mean 'bid'"),
        (lambda: joined().agg(v=fl.count()), "has a column 'v' already"),
    ],
)
def test_what_is_refused_when_the_columns_are_known(run: Any, told: str) -> None:
    with pytest.raises(FanlightError, match=told):
        run().table()
