"""The trigger table of the law, row by row, as the oracle steps it. Windows are ten microseconds long."""

from __future__ import annotations

from typing import Any

import pytest

from fanlight.model.aggregates import sum as sum_of
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.reason import Reason
from fanlight.model.semantics import Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import (
    Trigger,
    after,
    after_delay,
    all_of,
    any_of,
    at_expiry,
    at_watermark,
    every,
    in_order,
    on_signal,
    repeat,
    samza_policies,
    until,
)
from fanlight.model.windows.global_window import global_window
from fanlight.model.windows.tumbling import tumbling
from fanlight.testing.oracle.window_aggregate import run
from fanlight.testing.script import Step, Transcript


def spec(trigger: Trigger, **fields: Any) -> WindowSpec:
    common: dict[str, Any] = {"window": tumbling("10 us"), "watermark": Explicit()}
    return WindowSpec(time="ts", aggregates=(("s", sum_of("v")),), trigger=trigger, **{**common, **fields})


def came(*times: int | None, **step: Any) -> Step:
    """A bundle of records at these times, each worth 1."""
    return Step(records=tuple({"ts": time, "v": 1} for time in times), **step)


def sums(transcript: Transcript) -> list[list[Any]]:
    """For each step the sums that left it."""
    return [[firing.values["s"] for firing in outcome.firings] for outcome in transcript.outcomes]


def test_every_fires_at_multiples_of_the_clock() -> None:
    """Period 10: the record came at 4, so 10 is the first multiple; at 25 the multiple 20 has been passed."""
    steps = [came(1, clock=4), Step(clock=9), Step(clock=10), Step(clock=19), Step(clock=25)]
    trigger = at_watermark(early=every("10 us"))
    assert sums(run(spec(trigger), steps)) == [[], [], [1], [], [1]]
    # Beam does not say again what it has said.
    assert sums(run(spec(trigger, semantics=Semantics.named("beam")), steps)) == [[], [], [1], [], []]


def test_every_in_the_event_domain_counts_from_the_least_time() -> None:
    """Period 4: the least time is 6, in [4, 8); the watermark is past 8 at 8, then past 12 at 15."""
    story = spec(every("4 us", domain="event"), window=global_window())
    steps = [came(9, 6), Step(watermark=7), Step(watermark=8), Step(watermark=11), Step(watermark=15)]
    assert sums(run(story, steps)) == [[], [], [2], [], [2]]


@pytest.mark.parametrize(("strict", "fires"), [(False, [[], [2], []]), (True, [[], [], [2]])])
def test_a_delay_counts_from_the_first_record(strict: bool, fires: list[list[int]]) -> None:
    story = spec(repeat(after_delay("5 us")), semantics=Semantics(delay_is_strict=strict))
    assert sums(run(story, [came(1, 2, clock=3), Step(clock=8), Step(clock=9)])) == fires


def test_samza_runs_its_early_policy_once_and_then_waits_for_the_window() -> None:
    story = spec(samza_policies(early=after(2)), window=tumbling("10 us", domain="processing"))
    steps = [came(None, clock=1), came(None), came(None), came(None), Step(clock=10)]
    transcript = run(story, steps)
    assert sums(transcript) == [[], [2], [], [], [4]]
    assert [firing.timing for firing in transcript.firings] == [Timing.EARLY, Timing.ON_TIME]


def test_a_part_that_waits_its_turn_is_told_nothing() -> None:
    """The delay starts with the record at clock 7, not with the one at 1 that the first part used up."""
    story = spec(in_order(after(1), after_delay("5 us")))
    steps = [came(1, clock=1), Step(clock=6), came(2, clock=7), Step(clock=11), Step(clock=12)]
    assert sums(run(story, steps)) == [[1], [], [], [], [2]]


def test_the_late_part_starts_with_the_on_time_firing() -> None:
    """One record before the close is none for the late part, which wants two and then two again."""
    story = spec(at_watermark(late=after(2)), lateness=Duration(50))
    steps = [came(1), Step(watermark=10), came(2), came(3), came(4), came(5), came(6), Step(watermark=60)]
    assert sums(run(story, steps)) == [[], [1], [], [3], [], [5], [], [6]]


@pytest.mark.parametrize(
    ("trigger", "fires"),
    [
        # One record a step, the clock moves by one with each; discarding, so a sum is how many came since.
        (any_of(after(3), after_delay("1 us")), [0, 2, 0, 0, 0, 0]),
        (all_of(after(3), after_delay("1 us")), [0, 0, 3, 0, 0, 0]),
        (in_order(after(1), after(2), after(1)), [1, 0, 2, 1, 0, 0]),
        (in_order(after(1), repeat(after(2))), [1, 0, 2, 0, 2, 0]),
        (until(repeat(after(1)), after(3)), [1, 1, 1, 0, 0, 0]),
        (until(repeat(after(2)), after(3)), [0, 2, 1, 0, 0, 0]),
        (repeat(any_of(after(3), after_delay("1 us"))), [0, 2, 0, 2, 0, 2]),
        (repeat(in_order(after(1), after(2))), [1, 0, 2, 1, 0, 2]),
        (at_watermark(early=in_order(after(1), after(2))), [1, 0, 2, 1, 0, 2]),
        (at_expiry(), [0, 0, 0, 0, 0, 0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Trigger) else "",
)
def test_composites_follow_the_table(trigger: Trigger, fires: list[int]) -> None:
    story = spec(trigger, accumulation=Accumulation.DISCARDING)
    transcript = run(story, [came(1, clock=clock) for clock in range(6)])
    assert [sum(step) for step in sums(transcript)] == fires


def test_a_signal_reaches_every_pane_when_given_and_later_those_that_something_happens_to() -> None:
    """Given, it fires what is pending; it stays on for what comes; `finish` finishes the panes it fires."""
    story = spec(on_signal())
    steps = [came(1), Step(signal=True), came(2), came(3), came(4, signal=False), came(5, signal=True, finish=True)]
    transcript = run(story, [*steps, came(6)])
    assert sums(transcript) == [[], [1], [2], [3], [], [5], []]
    assert [reason for reason, _ in transcript.dead_letters] == [Reason.FINISHED]
