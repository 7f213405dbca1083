"""Joins as they are declared: what is refused, and what the watermark handed on is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec, interval, same_time
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.retention import retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several

LEFT, RIGHT = Side("o", "ts", keys=("id",)), Side("p", "at", keys=("id",))
CHANGED = replace(LEFT, changes=Changes("op", ("id",), consistent=True))
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
            ((Duration(-(LATEST - EARLIEST) - 1), Duration(0)), "is further than times can be apart"),
            ((Duration(5), Duration(4)), "nothing would ever match"),
            ((Duration(0), Duration(1), "neither"), "nothing would ever match"),
            ((Duration(0), Duration(1), "open"), "must be 'both', 'left', 'right' or 'neither'"),
        ],
    )
    def test_what_is_no_interval(self, given: tuple[Any, ...], told: str) -> None:
        with pytest.raises(SpecError, match=told.replace("(", r"\(").replace(")", r"\)")):
            Interval(*given)


class TestIntervalsWithoutAnEnd:
    def test_retention_takes_the_place_of_the_bound_that_is_missing(self) -> None:
        assert interval("2 s", "forever").within(retention("1 h")) == interval("2 s", "1 h")
        assert interval("-forever", "0 s").within(retention("1 h")) == interval("-1 h", "0 s")
        assert interval("-forever", "forever").within(retention("1 h")) == interval("-1 h", "1 h")

    def test_without_a_limit_rows_match_however_far_apart_they_are(self) -> None:
        match = interval("2 s", "forever", "left").within(retention())
        assert EARLIEST + match.most >= LATEST - 1
        assert str(match) == "right time from left time in [2 s, forever)"
        assert str(interval("-forever", "0 s").within(retention())) == "right time from left time in [-forever, 0 s]"

    @pytest.mark.parametrize(
        ("match", "kept", "told"),
        [
            (interval("0 s", "forever"), None, r"`upper` \(forever\) is no bound.*retention\('1 h'\)"),
            (interval("-forever", "0 s"), None, r"`lower` \(-forever\) is no bound"),
            (interval("0 s", "1 s"), retention("1 h"), "has both. Leave it out"),
            (interval("0 s", "forever"), retention("1 h", count=5), "kept by time"),
            (interval("2 h", "forever"), retention("1 h"), "nothing would ever match"),
        ],
    )
    def test_what_cannot_be_kept(self, match: Interval, kept: Any, told: str) -> None:
        with pytest.raises(SpecError, match=told):
            match.within(kept)


def test_a_peer_that_has_no_answers() -> None:
    with pytest.raises(SpecError, match="no preset is named 'storm'"):
        JoinSemantics.named("storm")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"match": interval("0 s", "forever")}, "is no bound"),
        ({"mode": EmissionMode.ON_CLOSE, "semantics": JoinSemantics.named("kafka")}, "Use eager"),
        ({"right": replace(RIGHT, name="o")}, "both sides are called 'o'"),
        ({"right": replace(RIGHT, name="time")}, "a column that every join has"),
        ({"left": replace(LEFT, name="key.1")}, "a column that every join has"),
        ({"right": replace(RIGHT, keys=())}, "1 keys and the right side 0"),
        ({"lateness": Duration.FOREVER}, "must be a duration from 0 up"),
        ({"lateness": Duration(-1)}, "must be a duration from 0 up"),
        ({"stamp": "both"}, "is no time of these rows"),
        ({"how": JoinType.SEMI, "stamp": "least"}, "has no right row"),
        ({"left": CHANGED}, "eager rows are never taken back"),
        ({"left": replace(CHANGED, changes=Changes("op")), "mode": EmissionMode.ON_CLOSE}, "Normalize them first"),
        ({"left": replace(CHANGED, keys=("op",)), "mode": EmissionMode.ON_CLOSE}, "the column of operations"),
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
