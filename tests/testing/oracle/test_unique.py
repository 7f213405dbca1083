"""The oracle of deduplication, against what the law says in words, worked out by hand."""

from __future__ import annotations

import pytest

import fanlight as fl
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.testing.oracle.unique import UniqueOracle, UniqueOutcome
from fanlight.testing.script import Step


def oracle(keep: Keep) -> UniqueOracle:
    return UniqueOracle(UniqueSpec("ts", ("id",), ("id",), Duration(10), keep, fl.Explicit()))


def at(*times: int | None, **more: object) -> Step:
    return Step(records=tuple({"ts": time, "id": 1} for time in times), **more)  # type: ignore[arg-type]


def left(outcome: UniqueOutcome) -> list[int]:
    return [row["ts"] for row in outcome.rows]


def counts(outcome: UniqueOutcome) -> tuple[int, int, int, int]:
    return outcome.records_in, outcome.accepted, outcome.duplicates, len(outcome.dead_letters)


class TestFirst:
    def test_what_is_in_reach_of_a_kept_record_is_a_duplicate_on_both_sides(self) -> None:
        outcome = oracle(Keep.FIRST).step(at(50, 60, 40, 61, 39))
        assert left(outcome) == [50, 61, 39]
        assert counts(outcome) == (5, 3, 2, 0)

    def test_duplicates_extend_nothing(self) -> None:
        assert left(oracle(Keep.FIRST).step(at(5, 15, 16))) == [5, 16]

    def test_records_may_be_as_far_behind_as_they_reach(self) -> None:
        run = oracle(Keep.FIRST)
        run.step(Step(watermark=50))
        outcome = run.step(at(39, 40, None))
        assert left(outcome) == [40]
        assert [reason for reason, _ in outcome.dead_letters] == [Reason.EXPIRED, Reason.NULL_TIME]

    def test_a_kept_record_is_forgotten_when_none_can_reach_it(self) -> None:
        run = oracle(Keep.FIRST)
        run.step(at(1, watermark=21))
        assert len(run.held) == 1
        run.step(Step(watermark=22))
        assert run.held == []


class TestLast:
    def test_a_group_leaves_when_the_watermark_is_past_all_that_it_can_hold(self) -> None:
        run = oracle(Keep.LAST)
        first = run.step(at(12, 5, 15, 16, watermark=15))
        assert (left(first), counts(first)) == ([], (4, 4, 0, 0))
        then = run.step(Step(watermark=16))
        assert (left(then), counts(then)) == ([15], (0, -2, 2, 0))
        assert left(run.step(Step(end=True))) == [16]

    def test_what_is_below_the_watermark_is_expired(self) -> None:
        run = oracle(Keep.LAST)
        run.step(at(5, watermark=12))
        outcome = run.step(at(11, 12))
        assert counts(outcome) == (2, 1, 0, 1)
        assert left(run.step(Step(end=True))) == [12]


@pytest.mark.parametrize("keep", Keep)
def test_the_watermark_handed_on_is_behind_by_the_reach(keep: Keep) -> None:
    run = oracle(keep)
    assert run.step(Step()).watermark == START_OF_TIME
    assert run.step(Step(watermark=50)).watermark == 40
    assert run.step(Step(end=True)).watermark == END_OF_TIME


def test_a_watermark_it_does_not_read_is_refused() -> None:
    with pytest.raises(fl.SpecError, match=r"oracle of unique_by: .* is not read here. Use Explicit"):
        UniqueOracle(UniqueSpec("ts", ("id",), ("id",), Duration(10), watermark=fl.fixed_distance("5 s")))
