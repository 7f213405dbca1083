"""Joins that answer as peers do, and intervals without an end: by hand, step by step."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SpecError

S = 1_000_000
AROUND = fl.interval("-5 s", "5 s")


def joined(match: Any = AROUND, *, told: bool = True, **said: Any) -> fl.JoinResult:
    """Two sides whose watermarks are told, or follow their records at once."""
    watermark: dict[str, Any] = {"watermark": fl.Explicit()} if told else {"delay": "0 s"}
    left, right = (fl.stream([], time="ts", unit="s", name=name, **watermark) for name in ("o", "p"))
    return left.join(right, match, on="id", **said)


class Played:
    """A join that takes one record a step, and tells the times of the rows that leave."""

    def __init__(self, result: fl.JoinResult) -> None:
        self.operator = result.operator()
        for side in ("p", "o"):
            self.operator.add([{"ts": None, "id": 0}], source=side)
        self.operator.take_dead_letters()

    def add(self, side: str, second: int, key: int = 1) -> list[tuple[Any, Any]]:
        self.operator.add([{"ts": second, "id": key}], source=side)
        return self.left()

    def say(self, side: str, second: int) -> list[tuple[Any, Any]]:
        self.operator.advance(watermark=second * S, source=side)
        return self.left()

    def left(self) -> list[tuple[Any, Any]]:
        return [(row["ts"], row["ts_p"]) for row in self.operator.take().to_pylist()]

    def expired(self) -> list[int]:
        letters = self.operator.take_dead_letters()["record"].to_pylist()
        return [letter[letter["input"]]["ts"] for letter in letters]


class TestKafka:
    def run(self, match: Any = AROUND, **said: Any) -> Played:
        return Played(joined(match, told=False, combine="greatest", **said).semantics("kafka"))

    def test_stream_time_is_the_greatest_of_both_sides_and_counts_the_record(self) -> None:
        """The order of 10 is padded by a payment of another key, as soon as that is later than 15."""
        run = self.run(how="left")
        assert run.add("o", 10) == []
        assert run.add("p", 15, key=2) == []
        assert run.add("p", 16, key=2) == [(10, None)]

    def test_a_late_record_joins_what_is_kept_or_is_padded_at_once(self) -> None:
        """By the payments' own time, 20, one of 11 is still kept, for the 10 s of the interval."""
        run = self.run(how="full")
        run.add("p", 11)
        assert run.add("p", 20) == [(None, 11)]
        assert run.add("o", 40, key=2) == [(None, 20)]
        assert run.add("o", 15) == [(15, 11), (15, 20)]
        assert run.add("o", 2) == [(2, None)]
        assert run.expired() == []

    def test_rows_that_are_out_of_its_own_sides_reach_are_found_no_more(self) -> None:
        run = self.run()
        run.add("p", 10)
        run.add("p", 20)
        assert run.add("o", 10) == []
        assert run.operator.kept()["p"]["ts"].to_pylist() == [20]

    def test_a_pair_may_follow_a_padded_row(self) -> None:
        run = self.run(fl.interval("-5 s", "0 s"), how="left")
        run.add("o", 10)
        assert run.add("o", 11, key=2) == [(10, None)]
        assert run.add("p", 8) == [(10, 8)]

    def test_grace_waits_for_rows_that_came_in_time_and_not_for_late_ones(self) -> None:
        run = self.run(how="left", lateness="3 s")
        run.add("o", 10)
        run.add("p", 17, key=2)
        assert run.add("o", 11) == [(11, None)]
        assert run.add("p", 18, key=2) == []
        assert run.add("p", 19, key=2) == [(10, None)]
        assert run.add("p", 21, key=2) == [], "the order of 11 is padded once"
        assert run.add("p", 9) == [(10, 9), (11, 9)]

    def test_padded_rows_leave_first_of_both_sides_by_time_right_ones_before_left_ones(self) -> None:
        run = self.run(how="full")
        for side, second, key in (("o", 3, 1), ("p", 3, 2), ("p", 2, 3), ("o", 15, 4)):
            run.operator.add([{"ts": second, "id": key}], source=side)
        run.left()
        assert run.add("p", 16, key=4) == [(15, 16)]
        run.operator.add([{"ts": 17, "id": 5}, {"ts": 18, "id": 6}], source="p")
        run.operator.add([{"ts": 17, "id": 7}], source="o")
        run.left()
        assert run.add("p", 40, key=8) == [(None, 17), (17, None), (None, 18)]

    def test_rows_leave_eagerly_and_in_no_other_way(self) -> None:
        assert joined(how="left").semantics("kafka").spec == joined(how="left").eager().semantics("kafka").spec
        with pytest.raises(SpecError, match="take records that come behind the watermark"):
            joined(how="left").semantics("kafka").on_close()


class TestFlink:
    def test_a_record_is_judged_by_the_least_of_both_watermarks(self) -> None:
        for name, expired in (("fanlight", [7]), ("flink", []), ("spark", [])):
            run = Played(joined().semantics(name))
            run.say("o", 10)
            run.say("p", 6)
            run.add("o", 7)
            assert run.expired() == expired, name
            run.add("o", 5)
            assert run.expired() == [5], name

    def test_the_join_of_sql_pads_a_late_row_at_once_and_joins_one_whose_partners_may_come(self) -> None:
        run = Played(joined(how="left").semantics("flink_sql"))
        for side in ("o", "p"):
            run.say(side, 20)
        assert run.add("o", 14) == [(14, None)]
        assert run.add("o", 15) == []
        assert run.add("p", 14) == [(15, 14)], "the order of 14 is gone, that of 15 is kept"
        assert run.expired() == []


class TestWithoutAnEnd:
    def test_rows_match_as_far_apart_as_they_are_kept(self) -> None:
        run = Played(joined(fl.interval("0 s", "forever"), retention=fl.retention("1 min")))
        run.add("o", 10)
        assert run.add("p", 71) == []
        assert run.add("p", 70) == [(10, 70)]
        run.say("p", 71)
        assert len(run.operator.kept()["o"]) == 0

    def test_without_a_limit_they_are_kept_until_the_input_ends_and_explain_says_so(self) -> None:
        result = joined(fl.interval("-forever", "0 s"), retention=fl.retention(), how="right")
        assert "grows with the stream" in result.explain()
        run = Played(result.eager())
        run.add("p", 10)
        for side in ("o", "p"):
            run.say(side, 10_000_000)
        assert len(run.operator.kept()["p"]) == 1
        run.operator.end()
        assert run.left() == [(None, 10)]
        assert len(run.operator.kept()["p"]) == 0


class TestWhatIsKept:
    @pytest.mark.parametrize("mode", ["eager", "on_close"])
    def test_rows_that_may_still_be_matched(self, mode: str) -> None:
        run = Played(getattr(joined(), mode)())
        for second in (1, 2, 3):
            run.add("o", second)
        run.say("p", 8)
        run.say("o", 7)
        assert run.operator.kept()["o"]["ts"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: joined(combine="latest"), "`combine` ('latest') must be 'least' or 'greatest'"),
        (lambda: joined().semantics("storm"), "no preset is named 'storm'"),
        (lambda: joined(match="5 s", retention=fl.retention("1 h")), "is about rows that match by an interval"),
        (lambda: joined(retention=fl.retention("1 h")), "Leave it out"),
    ],
)
def test_what_is_refused(declare: Any, told: str) -> None:
    with pytest.raises(SpecError, match=re.escape(told)):
        declare()
