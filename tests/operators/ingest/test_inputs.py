"""Watermarks as they run: what each strategy says, how several become one, and what records are judged against."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.errors import EngineError, StateError
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import (
    BoundedDisorder,
    Combine,
    Explicit,
    FixedDistance,
    Several,
    WatermarkStrategy,
    several,
    stream_time,
)
from fanlight.operators.ingest.inputs import Watermarks


def disorder(delay: int, *, per_record: bool = False, every: int | None = None) -> BoundedDisorder:
    return BoundedDisorder(Duration(delay), per_record, None if every is None else Duration(every))


def judged(watermarks: Watermarks, times: list[int], before: int, source: str | None = None) -> list[int]:
    answer = watermarks.judging(source, np.array(times, np.int64), before)
    return [answer] * len(times) if isinstance(answer, int) else answer.tolist()


class TestOneInput:
    def test_before_anything_is_said_it_is_the_start_of_time(self) -> None:
        for strategy in (Explicit(), disorder(5), FixedDistance(Duration(5))):
            assert Watermarks(strategy).current == START_OF_TIME

    def test_malhar_implicit_watermark(self) -> None:
        """Apex: the greatest time less 100, at the end of each step; none before the first tuple."""
        watermarks = Watermarks(disorder(100))
        watermarks.observe(None, None, 0)
        assert watermarks.current == START_OF_TIME
        watermarks.observe(None, 100, 0)
        assert watermarks.current == 0
        watermarks.observe(None, 900, 0)
        assert watermarks.current == 800

    def test_bounded_disorder_follows_the_greatest_time_and_never_goes_back(self) -> None:
        watermarks = Watermarks(disorder(10))
        seen = []
        for greatest in (50, 20, None, 70):
            watermarks.observe(None, greatest, 0)
            seen.append(watermarks.current)
        assert seen == [40, 40, 40, 60]

    def test_a_delay_longer_than_time_stops_at_the_start_of_time(self) -> None:
        watermarks = Watermarks(disorder(2**63 - 2))
        watermarks.observe(None, -(10**16), 0)
        assert watermarks.current == START_OF_TIME

    def test_fixed_distance_follows_the_clock_alone(self) -> None:
        watermarks = Watermarks(FixedDistance(Duration(10)))
        watermarks.observe(None, 1_000_000, 100)
        assert watermarks.current == 90
        watermarks.tick(150)
        assert watermarks.current == 140
        watermarks.tick(120)
        assert watermarks.current == 140

    @pytest.mark.parametrize("strategy", [Explicit(), disorder(10), FixedDistance(Duration(10))])
    def test_every_strategy_takes_the_callers_word_and_none_goes_back(self, strategy: WatermarkStrategy) -> None:
        watermarks = Watermarks(strategy)
        watermarks.observe(None, 30, 30)
        watermarks.explicit(None, 500)
        assert watermarks.current == 500
        watermarks.explicit(None, 400)
        watermarks.observe(None, 100, 100)
        assert watermarks.current == 500

    def test_the_callers_word_may_be_the_end_of_time(self) -> None:
        watermarks = Watermarks(Explicit())
        watermarks.explicit(None, END_OF_TIME + 5)
        assert watermarks.current == END_OF_TIME

    def test_one_input_is_every_source(self) -> None:
        """Sources also name positions; a strategy with one input follows the greatest time of all."""
        watermarks = Watermarks(disorder(0))
        watermarks.observe("partition 0", 10, 0)
        watermarks.observe("partition 1", 30, 0)
        assert watermarks.current == 30


class TestEvery:
    def test_kafka_emits_at_most_once_an_interval(self) -> None:
        """
        clock      0    0    0    0    10 000    10 100
        time       0    5   10   15        20        40
        says       0    .    .    .        20         .
        """
        watermarks = Watermarks(stream_time(every=Duration(1_000)))
        told = []
        for time, clock in [(0, 0), (5, 0), (10, 0), (15, 0), (20, 10_000), (40, 10_100)]:
            watermarks.tick(clock)
            watermarks.observe(None, time, clock)
            told.append(watermarks.current)
        assert told == [0, 0, 0, 0, 20, 20]

    def test_the_next_slot_counts_from_the_bundle_that_took_the_last(self) -> None:
        watermarks = Watermarks(disorder(0, every=100))
        told = []
        for time, clock in [(1, 50), (2, 149), (3, 150), (4, 249), (5, 600), (6, 699), (7, 700)]:
            watermarks.observe(None, time, clock)
            told.append(watermarks.current)
        assert told == [1, 1, 3, 3, 5, 5, 7]

    def test_neither_a_tick_nor_an_empty_bundle_publishes_or_takes_a_slot(self) -> None:
        watermarks = Watermarks(disorder(0, every=100))
        watermarks.observe(None, 1, 0)
        watermarks.observe(None, 9, 10)
        watermarks.tick(200)
        watermarks.observe(None, None, 300)
        assert watermarks.current == 1
        watermarks.observe(None, 5, 310)
        assert watermarks.current == 9

    def test_the_callers_word_waits_for_no_slot(self) -> None:
        watermarks = Watermarks(disorder(0, every=100))
        watermarks.observe(None, 1, 0)
        watermarks.explicit(None, 50)
        assert watermarks.current == 50


SPARK_TWO_INPUTS: list[tuple[dict[str, int], int]] = [
    ({"L": 11}, 0), ({"R": 6}, 1), ({"R": 8}, 1), ({"L": 21}, 3), ({"R": 39}, 11), ({"L": 31}, 21), ({"L": 41}, 31),
    ({"L": 51}, 34), ({"L": 100, "R": 100}, 90), ({"L": 120, "R": 110}, 105), ({"L": 130, "R": 125}, 120),
    ({"L": 100, "R": 100}, 120), ({"L": 140, "R": 100}, 120), ({"L": 100, "R": 135}, 130), ({"L": 200, "R": 190}, 185),
]  # fmt: skip
"""The greatest time of each side in a batch, and the watermark after it; in seconds."""


class TestSeveral:
    def test_malhar_merge_watermark(self) -> None:
        """Apex: nothing until both sides have reported; then the lesser."""
        watermarks = Watermarks(several({"L": Explicit(), "R": Explicit()}))
        told = []
        for side, said in [("L", 1_000_000), ("R", 200_000), ("R", 2_100_000), ("L", 1_100_000), ("L", 1_100_000)]:
            watermarks.explicit(side, said)
            told.append(watermarks.current)
        assert told == [START_OF_TIME, 200_000, 1_000_000, 1_100_000, 1_100_000]

    def test_spark_watermark_two_inputs_min(self) -> None:
        """Spark: delays of 10 and 5, both sides at 0 before they speak."""
        watermarks = Watermarks(several({"L": disorder(10), "R": disorder(5)}, initial=0))
        for sides, expected in SPARK_TWO_INPUTS:
            for side, greatest in sides.items():
                watermarks.observe(side, greatest, 0)
            assert watermarks.current == expected

    @pytest.mark.parametrize(
        ("combine", "last", "expected"), [("max", "L", [15, 115, 140]), ("min", "R", [10, 110, 110])]
    )
    def test_spark_watermark_policy(self, combine: str, last: str, expected: list[int]) -> None:
        watermarks = Watermarks(several({"L": disorder(10), "R": disorder(15)}, combine=combine, initial=0))
        told = []
        for sides in ({"L": 20, "R": 30}, {"L": 120, "R": 130}, {last: 150}):
            for side, time in sides.items():
                watermarks.observe(side, time, 0)
            told.append(watermarks.current)
        assert told == expected

    def test_max_follows_the_first_to_speak(self) -> None:
        watermarks = Watermarks(several({"L": disorder(0), "R": disorder(0)}, combine="max"))
        assert watermarks.current == START_OF_TIME
        watermarks.observe("R", 7, 0)
        assert watermarks.current == 7

    def test_an_initial_value_is_there_from_the_start_and_nothing_falls_below_it(self) -> None:
        watermarks = Watermarks(several({"L": Explicit(), "R": Explicit()}, initial=100))
        assert watermarks.current == 100
        watermarks.explicit("L", 20)
        watermarks.explicit("R", 30)
        assert watermarks.current == 100

    def test_a_fixed_distance_among_others_follows_the_clock_of_every_step(self) -> None:
        watermarks = Watermarks(several({"L": disorder(0), "R": FixedDistance(Duration(10))}))
        watermarks.observe("L", 1_000, 50)
        assert watermarks.current == 40
        watermarks.observe(None, None, 70)
        assert watermarks.current == 60

    @pytest.mark.parametrize("source", ["M", None])
    def test_an_unknown_source_is_refused_with_the_names_there_are(self, source: str | None) -> None:
        watermarks = Watermarks(several({"L": Explicit(), "R": Explicit()}))
        with pytest.raises(EngineError, match="Use one of 'L', 'R'"):
            watermarks.observe(source, 1, 0)
        with pytest.raises(EngineError, match="Use one of 'L', 'R'"):
            watermarks.explicit(source, 1)
        with pytest.raises(EngineError, match="Use one of 'L', 'R'"):
            judged(watermarks, [1], 0, source)
        assert watermarks.state() == Watermarks(several({"L": Explicit(), "R": Explicit()})).state()


class TestIdle:
    """Idle after 50 of silence.

    clock    100   149   150
    L         60    80    90
    R         20                R spoke last at 100, so it is idle from 150 on
    """

    def both(self) -> Watermarks:
        watermarks = Watermarks(several({"L": disorder(0), "R": disorder(0)}, idle=Duration(50)))
        watermarks.observe("L", 60, 100)
        watermarks.observe("R", 20, 100)
        return watermarks

    def test_an_input_silent_for_that_long_stops_holding_the_others_back(self) -> None:
        watermarks = self.both()
        watermarks.observe("L", 80, 149)
        assert watermarks.current == 20
        watermarks.observe("L", 90, 150)
        assert watermarks.current == 90

    def test_it_counts_again_when_it_speaks_again_and_the_watermark_does_not_go_back(self) -> None:
        watermarks = self.both()
        watermarks.observe("L", 90, 150)
        assert watermarks.current == 90
        watermarks.observe("R", 40, 160)
        watermarks.observe("L", 200, 160)
        assert watermarks.current == 90
        watermarks.explicit("R", 95)
        assert watermarks.current == 95

    def test_ticks_measure_silence_and_empty_bundles_do_not_break_it(self) -> None:
        watermarks = self.both()
        watermarks.observe("L", 80, 140)
        watermarks.observe("R", None, 145)
        watermarks.tick(155)
        assert watermarks.current == 80

    def test_if_all_are_idle_the_greatest_counts(self) -> None:
        watermarks = self.both()
        assert watermarks.current == 20
        watermarks.tick(1_000)
        assert watermarks.current == 60

    def test_an_input_that_must_be_ready_is_not_idle_and_says_nothing_before(self) -> None:
        """It counts from 40 on, and is idle 50 after it has said that, as any other."""
        rule = replace(several({"L": disorder(0), "R": disorder(0)}, idle=Duration(50)), ready=(("R", 40),))
        watermarks = Watermarks(rule)
        watermarks.observe("L", 60, 100)
        watermarks.observe("R", 20, 100)
        watermarks.observe("L", 90, 200)
        assert (watermarks.current, watermarks.by_input()["R"]) == (START_OF_TIME, START_OF_TIME)
        watermarks.observe("R", 40, 210)
        assert (watermarks.current, watermarks.by_input()["R"]) == (40, 40)
        watermarks.observe("L", 100, 260)
        assert watermarks.current == 100

    def test_if_all_are_idle_that_never_spoke_the_watermark_stays(self) -> None:
        watermarks = Watermarks(several({"L": Explicit(), "R": Explicit()}, idle=Duration(50)))
        watermarks.tick(100)
        watermarks.tick(1_000)
        assert watermarks.current == START_OF_TIME

    def test_an_input_that_never_spoke_is_silent_since_the_first_clock(self) -> None:
        watermarks = Watermarks(several({"L": disorder(0), "R": Explicit()}, idle=Duration(50)))
        watermarks.observe("L", 5, 1_000)
        assert watermarks.current == START_OF_TIME
        watermarks.observe("L", 6, 1_050)
        assert watermarks.current == 6

    def test_inputs_that_wake_in_the_same_step_are_heard_together(self) -> None:
        """The order in which a step observes its inputs makes no difference."""
        for first, second in (("L", "R"), ("R", "L")):
            watermarks = self.both()
            watermarks.tick(1_000)
            times = {"L": 500, "R": 300}
            watermarks.observe(first, times[first], 1_001)
            watermarks.observe(second, times[second], 1_001)
            assert watermarks.current == 300

    def test_a_fixed_distance_is_never_idle(self) -> None:
        watermarks = Watermarks(several({"L": disorder(0), "R": FixedDistance(Duration(500))}, idle=Duration(50)))
        watermarks.observe("L", 10_000, 1_000)
        watermarks.tick(5_000)
        assert watermarks.current == 4_500


class TestJudging:
    def test_a_bundle_is_judged_by_the_watermark_before_it(self) -> None:
        watermarks = Watermarks(disorder(2))
        assert watermarks.judging(None, np.array([3, 9, 4, 12]), 5) == 5
        assert watermarks.per_record_delay is None

    def test_record_by_record_each_counts_itself(self) -> None:
        watermarks = Watermarks(disorder(2, per_record=True))
        assert judged(watermarks, [3, 9, 4, 12], 5) == [5, 7, 7, 10]
        assert judged(watermarks, [3, 1], START_OF_TIME) == [1, 1]
        assert judged(watermarks, [], 5) == []
        assert watermarks.per_record_delay == 2

    def test_a_delay_longer_than_time_does_not_overflow(self) -> None:
        watermarks = Watermarks(disorder(2**63 - 2, per_record=True))
        assert judged(watermarks, [-(10**16), 10**16], START_OF_TIME) == [START_OF_TIME, START_OF_TIME + 10**16 + 2]
        assert judged(watermarks, [10**16], 5) == [5]

    def test_the_times_are_left_as_they_were(self) -> None:
        times = np.array([3, 9, 4])
        Watermarks(stream_time()).judging(None, times, 0)
        assert times.tolist() == [3, 9, 4]

    def test_under_min_the_other_inputs_hold_it_back(self) -> None:
        watermarks = Watermarks(several({"L": stream_time(), "R": stream_time()}))
        assert judged(watermarks, [10, 20], START_OF_TIME, "L") == [START_OF_TIME] * 2
        watermarks.explicit("R", 15)
        assert judged(watermarks, [10, 20], START_OF_TIME, "L") == [10, 15]

    def test_under_max_they_do_not(self) -> None:
        watermarks = Watermarks(several({"L": stream_time(), "R": stream_time()}, combine="max"))
        assert judged(watermarks, [10, 20, 5], 12, "L") == [12, 20, 20]

    def test_each_input_is_judged_by_its_own_strategy(self) -> None:
        watermarks = Watermarks(several({"L": disorder(5, per_record=True), "R": disorder(0)}, combine="max"))
        assert judged(watermarks, [10, 20], 0, "L") == [5, 15]
        assert judged(watermarks, [10, 20], 0, "R") == [0, 0]


_TIMES = st.integers(-100, 100)
_BUNDLES = st.lists(st.tuples(st.sampled_from("LR"), st.lists(_TIMES, max_size=6)), max_size=8)
_RECORD_WISE = st.builds(disorder, st.integers(0, 20), per_record=st.just(True))


@given(_RECORD_WISE, _RECORD_WISE, st.sampled_from(Combine), _BUNDLES)
def test_record_by_record_is_what_bundles_of_one_record_would_say(
    left: BoundedDisorder, right: BoundedDisorder, combine: Combine, bundles: list[tuple[str, list[int]]]
) -> None:
    rule = Several((("L", left), ("R", right)), combine)
    whole, single = Watermarks(rule), Watermarks(rule)
    for clock, (source, times) in enumerate(bundles):
        expected = []
        answer = judged(whole, times, whole.current, source)
        whole.observe(source, max(times, default=None), clock)
        for time in times:
            single.observe(source, time, clock)
            expected.append(single.current)
        assert answer == expected
        assert whole.current == single.current


_STRATEGIES: st.SearchStrategy[Any] = st.one_of(
    st.just(Explicit()),
    st.builds(disorder, st.integers(0, 20), every=st.one_of(st.none(), st.integers(1, 30))),
    st.builds(FixedDistance, st.integers(0, 20).map(Duration)),
)
_RULES = st.builds(
    Several,
    st.tuples(_STRATEGIES, _STRATEGIES).map(lambda pair: tuple(zip("LR", pair, strict=True))),
    st.sampled_from(Combine),
    st.one_of(st.none(), st.integers(1, 30).map(Duration)),
    st.one_of(st.just(START_OF_TIME), _TIMES),
)
_WORDS = st.one_of(
    st.tuples(st.just("observe"), st.sampled_from("LR"), st.one_of(st.none(), _TIMES), st.integers(0, 100)),
    st.tuples(st.just("explicit"), st.sampled_from("LR"), _TIMES),
    st.tuples(st.just("tick"), st.integers(0, 100)),
)


@given(_RULES, st.lists(_WORDS, max_size=20), st.integers(0, 20))
def test_it_never_goes_back_and_storing_it_anywhere_changes_nothing(
    rule: Several, words: list[tuple[Any, ...]], cut: int
) -> None:
    straight, stored = Watermarks(rule), Watermarks(rule)
    before = START_OF_TIME
    for number, (word, *arguments) in enumerate(words):
        if number == cut:
            state = json.loads(json.dumps(stored.state(), sort_keys=True))
            stored = Watermarks(rule)
            stored.restore(state)
        getattr(straight, word)(*arguments)
        getattr(stored, word)(*arguments)
        assert stored.current == straight.current >= before
        before = straight.current
    assert stored.state() == straight.state()


class TestState:
    def test_a_state_is_a_copy(self) -> None:
        watermarks = Watermarks(disorder(0))
        state = watermarks.state()
        watermarks.observe(None, 50, 0)
        watermarks.restore(state)
        assert watermarks.current == START_OF_TIME
        watermarks.observe(None, 60, 0)
        watermarks.restore(state)
        assert watermarks.current == START_OF_TIME

    def test_the_inputs_of_another_strategy_are_refused(self) -> None:
        state = Watermarks(several({"L": Explicit(), "R": Explicit()})).state()
        with pytest.raises(StateError, match=r"'L', 'R'.*'L', 'M'.*Use the strategy it was stored with"):
            Watermarks(several({"L": Explicit(), "M": Explicit()})).restore(state)

    @pytest.mark.parametrize("state", [{}, {"inputs": 3}, {"inputs": {"": {"greatest": 1, "who": 2}}}])
    def test_what_is_no_state_is_refused(self, state: dict[str, Any]) -> None:
        with pytest.raises(StateError, match="cannot be read"):
            Watermarks(Explicit()).restore(state)
