"""Stories that pin the law. One window is ten microseconds long unless the story says otherwise."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fanlight.errors import SpecError
from fanlight.model.aggregates import Listed, count
from fanlight.model.aggregates import sum as sum_of
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.reason import Reason
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import LATEST
from fanlight.model.time.watermarks import (
    BoundedDisorder,
    Explicit,
    bounded_disorder,
    fixed_distance,
    several,
    stream_time,
)
from fanlight.model.triggers import after, at_expiry, at_watermark, every, never, repeat
from fanlight.model.windows.global_window import global_window
from fanlight.model.windows.hopping import hopping
from fanlight.model.windows.tumbling import tumbling
from fanlight.testing.oracle.window_aggregate import Oracle, run
from fanlight.testing.script import Outcome, Step, Transcript


def spec(**fields: Any) -> WindowSpec:
    common: dict[str, Any] = {
        "time": "ts",
        "window": tumbling("10 us"),
        "aggregates": (("s", sum_of("v")),),
        "watermark": Explicit(),
    }
    return WindowSpec(**{**common, **fields})


def came(*times: int | None, v: int = 1, **step: Any) -> Step:
    """A bundle of records at these times, each with the value `v`."""
    return Step(records=tuple({"ts": time, "v": v} for time in times), **step)


def said(outcome: Outcome) -> list[str]:
    """Each firing as `operation sum timing index/revision`, with `!` for the last one of its pane."""
    return [
        f"{f.op.code} {f.values['s']} {f.timing.name} {f.number}/{f.revision}{'!' if f.is_last else ''}"
        for f in outcome.firings
    ]


def sums(transcript: Transcript) -> list[list[Any]]:
    """For each step the sums that left it."""
    return [[firing.values["s"] for firing in outcome.firings] for outcome in transcript.outcomes]


def reasons(transcript: Transcript) -> list[Reason]:
    return [reason for reason, _ in transcript.dead_letters]


# ── one pane's life ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pane_fires_early_on_time_and_late_and_takes_back_what_it_said() -> None:
    """[0, 10) with lateness 5 lives until the watermark is 15."""
    story = spec(
        trigger=at_watermark(early=after(2), late=after(1)),
        accumulation=Accumulation.RETRACTING,
        lateness=Duration(5),
    )
    steps = [came(1), came(2), came(3), Step(watermark=10), came(4), Step(watermark=14), Step(watermark=15), came(5)]
    one, two, three, closed, late, waiting, expired, too_late = run(story, steps).outcomes
    assert said(one) == []
    assert said(two) == ["+I 2 EARLY 0/-1"]
    assert said(three) == []  # the early part counts from zero again
    assert said(closed) == ["-U 2 ON_TIME 1/0", "+U 3 ON_TIME 1/0"]
    assert said(late) == ["-U 3 LATE 2/1", "+U 4 LATE 2/1"]
    assert said(waiting) == []
    assert said(expired) == []  # nothing is pending, so nothing is left to say
    assert [reason for reason, _ in too_late.dead_letters] == [Reason.EXPIRED]


def test_one_jump_past_end_and_expiry_gives_a_single_firing() -> None:
    story = spec(trigger=at_watermark(early=after(3), late=after(1)), lateness=Duration(5))
    assert said(run(story, [came(1), Step(watermark=100)]).outcomes[1]) == ["+I 1 ON_TIME 0/0!"]


def test_discarding_says_what_came_since_and_accumulating_says_all() -> None:
    steps = [came(1, v=3), came(2, v=4), came(12), Step(end=True)]
    trigger = at_watermark(early=after(1))
    discarding = run(spec(trigger=trigger, accumulation=Accumulation.DISCARDING), steps)
    accumulating = run(spec(trigger=trigger), steps)
    assert [f.op.code for f in discarding.firings] == ["+I", "+I", "+I"]
    assert sums(discarding) == [[3], [4], [1], []]  # at the end nothing is pending, and there is no content
    assert sums(accumulating) == [[3], [7], [1], [7, 1]]  # by default the on-time firing leaves if it has content


def test_beam_fires_an_empty_pane_on_time() -> None:
    """The early firing took everything; Beam says so once more when the window closes, with nothing in it."""
    story = spec(
        trigger=at_watermark(early=after(2), late=None),
        accumulation=Accumulation.DISCARDING,
        semantics=Semantics.named("beam"),
        aggregates=(("s", sum_of("v")), ("n", count())),
    )
    early, closed = run(story, [came(1, 2), Step(watermark=10)]).outcomes
    assert said(early) == ["+I 2 EARLY 0/-1"]
    assert said(closed) == ["+I None ON_TIME 1/0!"]
    assert closed.firings[0].values["n"] == 0


def test_an_on_time_firing_that_stays_silent_makes_the_closing_one_late() -> None:
    """Under IF_NEW the on-time firing has nothing new and does not leave; what leaves at expiry is LATE, revision 0."""
    silent = Semantics(on_time=OnTime.IF_NEW, closing=Closing.ALWAYS, refires=False)
    story = spec(trigger=at_watermark(early=after(1)), lateness=Duration(5), semantics=silent)
    early, closed, expired = run(story, [came(1), Step(watermark=10), Step(watermark=15)]).outcomes
    assert (said(early), said(closed)) == (["+I 1 EARLY 0/-1"], [])
    assert said(expired) == ["+U 1 LATE 1/0!"]


def test_what_came_before_the_close_is_on_time_even_if_it_waits() -> None:
    """Two records are wanted and one came before the close: when the second comes, both leave as ON_TIME."""
    story = spec(trigger=repeat(after(2)), lateness=Duration(5))
    transcript = run(story, [came(1), Step(watermark=10), came(2), came(3), Step(watermark=15)])
    assert [said(outcome) for outcome in transcript.outcomes] == [
        [],
        [],
        ["+I 2 ON_TIME 0/0"],
        [],
        ["+U 3 LATE 1/1!"],  # the third record was pending when the window expired
    ]


@pytest.mark.parametrize(
    ("closing", "leaves"), [(Closing.NEVER, []), (Closing.IF_NEW, [1]), (Closing.ALWAYS, [1])], ids=str
)
def test_closing_decides_what_becomes_of_the_pending(closing: Closing, leaves: list[int]) -> None:
    story = spec(trigger=never(), semantics=Semantics(closing=closing))
    assert sums(run(story, [came(1), Step(watermark=10)])) == [[], leaves]


def test_the_end_closes_and_expires_everything_whatever_its_lateness() -> None:
    oracle = Oracle(spec(trigger=at_watermark(early=after(1)), lateness=Duration.FOREVER))
    oracle.step(came(1, 11))
    assert said(oracle.step(Step(end=True))) == ["+U 1 ON_TIME 1/0!", "+U 1 ON_TIME 1/0!"]
    assert oracle.panes == {}
    assert [reason for reason, _ in oracle.step(came(100)).dead_letters] == [Reason.EXPIRED]


# ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_finished_trigger_leaves_a_tombstone() -> None:
    """Two records finish the trigger. A bundle is judged as a whole, so its third record is still inside."""
    transcript = run(spec(trigger=after(2)), [came(1, 2, 3), came(4), Step(watermark=10), Step(end=True)])
    assert said(transcript.outcomes[0]) == ["+I 3 EARLY 0/-1!"]
    assert reasons(transcript) == [Reason.FINISHED]
    assert len(transcript.firings) == 1


def test_a_hopping_record_joins_the_windows_that_are_left() -> None:
    """A record at 7 is in [0, 10) and [5, 15). At watermark 12 the first has expired; at 15 both have."""
    story = spec(window=hopping("10 us", every="5 us"))
    transcript = run(story, [came(7), came(12, watermark=12), came(7), came(7, watermark=15), came(7)])
    assert sums(transcript) == [[], [1], [], [4], []]  # [5, 15) holds 7, 12, 7 and 7
    assert reasons(transcript) == [Reason.EXPIRED]
    assert transcript.counts.accepted == 4


def test_hopping_need_not_divide_and_may_have_gaps() -> None:
    """Size 7 every 5 from 1: 6 is in [1, 8) and [6, 13), 5 is in [1, 8) alone. With gaps, 4 is in no window."""
    transcript = run(spec(window=hopping("7 us", every="5 us", offset="1 us")), [came(6, 5), Step(end=True)])
    assert [(f.window.start, f.window.end, f.values["s"]) for f in transcript.firings] == [(1, 8, 2), (6, 13, 1)]
    assert reasons(run(spec(window=hopping("3 us", every="5 us", gaps=True)), [came(2, 3, 4, 5)])) == [
        Reason.NO_WINDOW,
        Reason.NO_WINDOW,
    ]


def test_no_window_starts_before_the_earliest_start() -> None:
    """Kafka: a record at 3 is in [0, 10) only, because [-5, 5) would start below zero."""
    transcript = run(
        spec(window=hopping("10 us", every="5 us"), semantics=Semantics.named("kafka")), [came(3, -1), Step(end=True)]
    )
    assert [f.window.start for f in transcript.firings] == [0]
    assert reasons(transcript) == [Reason.NO_WINDOW]


def test_records_are_judged_as_a_bundle_or_one_by_one() -> None:
    """25 makes the watermark 25. Judged as a bundle, 3 comes in time; judged one by one, it comes behind 25."""
    as_bundle = run(spec(watermark=bounded_disorder("0 us")), [came(25, 3)])
    one_by_one = run(spec(watermark=stream_time()), [came(25, 3)])
    assert (sums(as_bundle), reasons(as_bundle)) == ([[1]], [])
    assert (sums(one_by_one), reasons(one_by_one)) == ([[]], [Reason.EXPIRED])


def test_lateness_may_be_judged_by_the_record() -> None:
    """Malhar at watermark 18 with lateness 5: the record at 12 is dead, though its window [10, 20) is still open."""
    story = spec(lateness=Duration(5), semantics=Semantics.named("malhar"))
    assert reasons(run(story, [Step(watermark=18), came(12, 13)])) == [Reason.EXPIRED]


def test_in_is_accepted_and_dead_letters() -> None:
    story = spec(window=hopping("3 us", every="5 us", gaps=True), trigger=after(2))
    steps = [came(0, 1, None, LATEST + 1, 4), came(2, 10), Step(watermark=8), came(7, 12)]
    transcript = run(story, steps)
    assert reasons(transcript) == [
        Reason.NULL_TIME,
        Reason.TIME_OUT_OF_RANGE,
        Reason.NO_WINDOW,
        Reason.FINISHED,
        Reason.EXPIRED,
    ]
    assert (transcript.counts.records_in, transcript.counts.accepted, transcript.counts.dead_letters) == (9, 4, 5)
    assert all(outcome.counts.adds_up for outcome in transcript.outcomes)


def test_firings_are_ordered_by_end_start_and_key_with_null_last() -> None:
    records = tuple(
        {"ts": t, "v": 1, "k": k} for t, k in [(12, 2.0), (3, None), (3, math.nan), (3, 2.0), (3, math.nan)]
    )
    firings = run(spec(keys=("k",)), [Step(records=records), Step(end=True)]).firings
    assert [(f.window.end, str(f.key[0]), f.values["s"]) for f in firings] == [
        (10, "2.0", 1),
        (10, "nan", 2),  # NaN is one group
        (10, "None", 1),
        (20, "2.0", 1),
    ]


# ── clocks and watermarks ────────────────────────────────────────────────────────────────────────────────────────────


def test_processing_time_windows_ignore_the_time_column() -> None:
    story = spec(window=tumbling("10 us", domain="processing"))
    steps = [came(None, 99, clock=3), came(None, clock=9, watermark=50), Step(clock=10), came(None), Step(clock=20)]
    assert sums(run(story, steps)) == [[], [], [3], [], [1]]


def test_at_flinks_clock_the_instant_is_already_over() -> None:
    """At clock 9 the instant 9 is over, and with it [0, 10); a record that comes after that, at 9, is in [10, 20)."""
    story = spec(window=tumbling("10 us", domain="processing"), semantics=Semantics.named("flink"))
    transcript = run(story, [came(None, clock=3), Step(clock=9), came(None), Step(clock=18), Step(clock=19)])
    assert sums(transcript) == [[], [1], [], [], [1]]
    assert reasons(transcript) == []


def test_neither_clock_nor_watermark_goes_back() -> None:
    story = spec(trigger=at_watermark(early=every("10 us")), lateness=Duration(1))
    steps = [came(5, watermark=9, clock=12), Step(watermark=3, clock=2), came(4), Step(clock=20), Step(watermark=11)]
    assert sums(run(story, steps)) == [[], [], [], [2], [2]]


def test_a_watermark_is_published_at_most_once_in_a_while() -> None:
    """Every 100 of clock: 0 is published at once, 15 and 25 must wait for a bundle at clock 100 or later."""
    story = spec(watermark=BoundedDisorder(Duration(0), every=Duration(100)))
    steps = [came(0, clock=0), came(15), came(25, clock=99), Step(clock=100), came(16, clock=150), came(60, clock=249)]
    assert sums(run(story, steps)) == [[], [], [], [], [1, 2], []]


def test_a_fixed_distance_follows_the_clock() -> None:
    story = spec(watermark=fixed_distance("5 us"))
    assert sums(run(story, [came(3), Step(clock=14), Step(clock=15)])) == [[], [], [1]]


def test_several_inputs_are_out_of_scope() -> None:
    with pytest.raises(SpecError, match="needs several inputs"):
        run(spec(watermark=several({"left": Explicit(), "right": Explicit()})), [])


# ── what a firing says ───────────────────────────────────────────────────────────────────────────────────────────────


def test_updated_only_stays_silent_while_nothing_changes() -> None:
    """A record worth 0 changes no sum. In discarding mode the same value twice is said once, and counts as fired."""
    trigger = at_watermark(early=after(1))
    zero = [came(1, v=3), came(2, v=0), came(3, v=4)]
    assert sums(run(spec(trigger=trigger, updated_only=True), zero)) == [[3], [], [7]]
    same_again = [came(1, v=3), came(2, v=3), came(3, v=4)]
    discarding = run(spec(trigger=trigger, updated_only=True, accumulation=Accumulation.DISCARDING), same_again)
    assert sums(discarding) == [[3], [], [4]]
    assert [firing.number for firing in discarding.firings] == [0, 1]


def test_a_hold_looks_only_at_new_records_that_were_not_behind() -> None:
    """At watermark 5 the record at 2 is behind, so 7 is held. Later only a record behind comes: end - tick."""
    story = spec(
        trigger=repeat(after(1)), firing_time=FiringTime.EARLIEST, lateness=Duration(9), semantics=Semantics(holds=True)
    )
    transcript = run(story, [Step(watermark=5), came(2, 7, 8), came(3)])
    assert [firing.time for firing in transcript.firings] == [7, 9]
    plain = run(
        spec(trigger=repeat(after(1)), firing_time=FiringTime.EARLIEST, lateness=Duration(9)), [came(7), came(3)]
    )
    assert [firing.time for firing in plain.firings] == [7, 3]


@pytest.mark.parametrize(
    ("firing_time", "window", "expected"),
    [
        (FiringTime.END, tumbling("10 us"), 7),  # 10 less the tick of 3
        (FiringTime.EARLIEST, tumbling("10 us"), 2),
        (FiringTime.LATEST, tumbling("10 us"), 8),
        (FiringTime.END, global_window(), None),
        (FiringTime.LATEST, global_window(), 8),
    ],
)
def test_the_time_of_a_firing(firing_time: FiringTime, window: Any, expected: int | None) -> None:
    transcript = run(spec(firing_time=firing_time, window=window, tick=Duration(3)), [came(8, 2), Step(end=True)])
    assert [firing.time for firing in transcript.firings] == [expected]


def test_a_spec_that_fires_once_is_always_on_time() -> None:
    """The record comes after the close of [0, 10) and inside lateness; it leaves at expiry, once, and as ON_TIME."""
    story = spec(trigger=at_expiry(), lateness=Duration(5), aggregates=(("s", Listed("v")),))
    assert story.fires_once
    assert said(run(story, [Step(watermark=12), came(1), Step(watermark=15)]).outcomes[2]) == ["+I [1] ON_TIME 0/0!"]
