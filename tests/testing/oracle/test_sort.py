"""The oracle of sort, against what the law says in words, worked out by hand."""

from __future__ import annotations

import pytest

import fanlight as fl
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, LATEST
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.testing.oracle.sort import SortOracle, SortOutcome, WaitingRows
from fanlight.testing.script import Step


def at(*times: int | None, **more: object) -> Step:
    return Step(records=tuple({"ts": time} for time in times), **more)  # type: ignore[arg-type]


def released(outcome: SortOutcome) -> list[int]:
    return [row["ts"] for row in outcome.rows]


def reasons(outcome: SortOutcome) -> list[tuple[Reason, int | None]]:
    return [(reason, record["ts"]) for reason, record in outcome.dead_letters]


def test_a_row_leaves_when_the_watermark_has_passed_it() -> None:
    oracle = SortOracle("ts")
    assert released(oracle.step(at(1, 2, 6, 7))) == []
    assert released(oracle.step(Step(watermark=3))) == [1, 2]
    assert released(oracle.step(at(5, 4, 8))) == []
    assert released(oracle.step(Step(watermark=7))) == [4, 5, 6]
    assert released(oracle.step(Step(end=True))) == [7, 8]


def test_a_record_below_the_watermark_before_its_bundle_is_expired() -> None:
    """Not by the watermark that comes with it: 9 is below 20, and leaves at once."""
    oracle = SortOracle("ts")
    oracle.step(Step(watermark=5))
    outcome = oracle.step(at(4, 5, 9, watermark=20))
    assert released(outcome) == [5, 9]
    assert reasons(outcome) == [(Reason.EXPIRED, 4)]
    assert (outcome.records_in, outcome.accepted) == (3, 2)
    assert outcome.watermark == 20


def test_the_watermark_never_goes_back() -> None:
    oracle = SortOracle("ts")
    oracle.step(Step(watermark=10))
    assert reasons(oracle.step(at(9, watermark=3))) == [(Reason.EXPIRED, 9)]
    assert oracle.step(Step(watermark=3)).watermark == 10


def test_records_without_a_time_that_counts_are_dead_letters() -> None:
    oracle = SortOracle("ts", ahead=10)
    outcome = oracle.step(at(None, LATEST + 1, 111, 110, clock=100))
    assert reasons(outcome) == [
        (Reason.NULL_TIME, None),
        (Reason.TIME_OUT_OF_RANGE, LATEST + 1),
        (Reason.TOO_FAR_AHEAD, 111),
    ]


def test_the_watermark_follows_the_greatest_time_by_its_delay() -> None:
    """After 20 it is 15: the 14 of the same bundle was in time, that of the next is not."""
    oracle = SortOracle("ts", watermark=BoundedDisorder(Duration.of("5 us")))
    assert released(oracle.step(at(20, 14))) == [14]
    assert reasons(oracle.step(at(14, 15))) == [(Reason.EXPIRED, 14)]


def test_record_by_record_a_record_is_judged_by_those_before_it() -> None:
    oracle = SortOracle("ts", watermark=BoundedDisorder(Duration.of("5 us"), per_record=True))
    outcome = oracle.step(at(14, 20, 14, 15))
    assert reasons(outcome) == [(Reason.EXPIRED, 14)]
    assert released(outcome) == [14]


def test_a_watermark_told_every_so_often_is_not_read_here() -> None:
    strategy = BoundedDisorder(Duration.of("5 us"), every=Duration.of("1 s"))
    with pytest.raises(fl.SpecError, match="every"):
        SortOracle("ts", watermark=strategy)


def test_ties_go_by_their_columns_and_then_by_arrival() -> None:
    waiting = WaitingRows(ties=("v",))
    nan = float("nan")
    for place, value in enumerate([None, nan, 2.0, 1.0, 2.0]):
        waiting.change("+I", 7, {"v": value, "place": place})
    assert [row["place"] for _, row in waiting.take(END_OF_TIME)] == [3, 2, 4, 1, 0]


def test_a_delete_takes_the_oldest_equal_row_and_says_whether_there_was_one() -> None:
    waiting = WaitingRows()
    for value in ("a", "b", "a"):
        waiting.change("+I", 1, {"v": value})
    assert waiting.delete(1, {"v": "a"})
    assert not waiting.delete(2, {"v": "b"})
    assert waiting.take(2) == [(1, {"v": "b"}), (1, {"v": "a"})]
    assert not waiting.delete(1, {"v": "a"})


def test_of_unique_rows_an_insert_replaces_and_a_delete_needs_the_id_alone() -> None:
    waiting = WaitingRows(unique=("id",))
    waiting.change("+I", 1, {"id": 1, "v": "a"})
    waiting.change("+U", 9, {"id": 1, "v": "b"})
    assert waiting.rows == [(9, {"id": 1, "v": "b"})]
    assert waiting.change("-D", 0, {"id": 1, "v": None})
    assert waiting.peek(END_OF_TIME) is None
