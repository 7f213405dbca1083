"""Joins as they are declared: what is refused, and what the watermark handed on is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec, interval, same_time
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several

LEFT, RIGHT = Side("o", "ts", keys=("id",)), Side("p", "at", keys=("id",))
SPEC = IntervalJoinSpec(LEFT, RIGHT, interval("-2 s", "5 s"))


class TestIntervals:
    @pytest.mark.parametrize(
        ("closed", "least", "most"), [("both", -2, 5), ("left", -2, 4), ("right", -1, 5), ("neither", -1, 4)]
    )
    def test_an_open_bound_is_one_instant_nearer(self, closed: Any, least: int, most: int) -> None:
        match = Interval(Duration(-2), Duration(5), closed)
        assert (match.least, match.most) == (least, most)

    def test_the_same_time_is_no_distance(self) -> None:
        assert same_time() == interval("0 s", "0 s")

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ((Duration(0), Duration.FOREVER), "`upper` (forever) is no bound"),
            ((Duration(-(LATEST - EARLIEST) - 1), Duration(0)), "is no bound"),
            ((Duration(5), Duration(4)), "nothing would ever match"),
            ((Duration(0), Duration(1), "neither"), "nothing would ever match"),
            ((Duration(0), Duration(1), "open"), "must be 'both', 'left', 'right' or 'neither'"),
        ],
    )
    def test_what_is_no_interval(self, given: tuple[Any, ...], told: str) -> None:
        with pytest.raises(SpecError, match=told.replace("(", r"\(").replace(")", r"\)")):
            Interval(*given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"right": replace(RIGHT, name="o")}, "both sides are called 'o'"),
        ({"right": replace(RIGHT, name="time")}, "a column that every join has"),
        ({"left": replace(LEFT, name="key.1")}, "a column that every join has"),
        ({"right": replace(RIGHT, keys=())}, "1 keys and the right side 0"),
        ({"lateness": Duration.FOREVER}, "must be a duration from 0 up"),
        ({"lateness": Duration(-1)}, "must be a duration from 0 up"),
        ({"stamp": "both"}, "is no side"),
        ({"how": JoinType.LEFT, "stamp": "right"}, "may have no right row"),
        ({"how": JoinType.RIGHT, "stamp": "left"}, "may have no left row"),
        ({"how": JoinType.SEMI, "stamp": "right"}, "may have no right row"),
        ({"watermark": Several((("o", Explicit()), ("q", Explicit())))}, "not of p and o"),
        (
            {"watermark": Several((("p", Explicit()), ("o", BoundedDisorder(Duration(1), per_record=True))))},
            "follows every single record",
        ),
    ],
)
def test_what_is_no_join(given: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        replace(SPEC, **given)


class TestTheWatermarkHandedOn:
    def test_a_row_with_the_left_time_waits_for_its_match(self) -> None:
        assert SPEC.hands_on(100_000_000) == 95_000_000
        assert replace(SPEC, lateness=Duration.of("10 s")).hands_on(100_000_000) == 85_000_000
        assert replace(SPEC, match=interval("-9 s", "-5 s")).hands_on(100_000_000) == 100_000_000

    def test_one_with_the_right_time_waits_the_other_way_and_on_close_for_its_left_row_too(self) -> None:
        """A right row at 93 s and a left one at 95 s leave, on close, when the right watermark passes 100 s."""
        by_right = replace(SPEC, stamp="right")
        assert by_right.hands_on(100_000_000) == 98_000_000
        assert replace(by_right, mode=EmissionMode.ON_CLOSE).hands_on(100_000_000) == 93_000_000

    def test_the_ends_of_time_are_handed_on_as_they_are(self) -> None:
        assert [SPEC.hands_on(end) for end in (START_OF_TIME, END_OF_TIME)] == [START_OF_TIME, END_OF_TIME]
        assert SPEC.hands_on(START_OF_TIME + 1) == START_OF_TIME


def test_a_full_join_has_no_time() -> None:
    with pytest.raises(SpecError, match="nothing can follow it by time"):
        _ = replace(SPEC, how=JoinType.FULL, stamp=None).continuation
    assert SPEC.continuation.time == "ts"
    assert replace(SPEC, stamp="right").continuation.time == "at"
    assert replace(SPEC, stamp="right", right=replace(RIGHT, time="ts")).continuation.time == "ts_p"
