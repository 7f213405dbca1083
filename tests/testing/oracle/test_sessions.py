"""Stories that pin the law of sessions. The gap is three microseconds unless the story says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from fanlight.errors import SpecError
from fanlight.model.aggregates import list as listed
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.reason import Reason
from fanlight.model.semantics import LateSessions, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit, stream_time
from fanlight.model.triggers import Trigger, after, after_delay, at_watermark, in_order, on_signal, repeat, until
from fanlight.model.windows.session import Session, session
from fanlight.testing.oracle.window_aggregate import Oracle, run
from fanlight.testing.script import Outcome, Step, Transcript

EARLY_AND_LATE = at_watermark(early=after(1), late=after(1))


def spec(window: Session | None = None, **fields: Any) -> WindowSpec:
    common: dict[str, Any] = {"aggregates": (("s", listed("ts")),), "watermark": Explicit()}
    return WindowSpec(time="ts", window=window or session("3 us"), **{**common, **fields})


def came(*times: int, **step: Any) -> Step:
    """A bundle of records at these times."""
    return Step(records=tuple({"ts": time} for time in times), **step)


def said(outcome: Outcome) -> list[str]:
    """Each firing as `operation [start, end) times timing index/revision`, with `!` for the last one of its pane."""
    return [
        f"{f.op.code} [{f.window.start}, {f.window.end}) {f.values['s']} {f.timing.name} "
        f"{f.number}/{f.revision}{'!' if f.is_last else ''}"
        for f in outcome.firings
    ]


def told(transcript: Transcript) -> list[list[str]]:
    return [said(outcome) for outcome in transcript.outcomes]


def standing(transcript: Transcript) -> list[tuple[int, int, list[int]]]:
    """The windows of the last firings with their times."""
    return [(f.window.start, f.window.end, f.values["s"]) for f in transcript.last_firings().values()]


def reasons(transcript: Transcript) -> list[Reason]:
    return [reason for reason, _ in transcript.dead_letters]


# ── which sessions there are ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("touching", "windows"), [(False, [(0, 5), (5, 8), (9, 12)]), (True, [(0, 8), (9, 12)])])
def test_intervals_that_overlap_are_one_session_and_with_touching_those_that_meet(
    touching: bool, windows: list[tuple[int, int]]
) -> None:
    transcript = run(spec(session("3 us", touching=touching)), [came(0, 9, 2, 5), Step(end=True)])
    assert [(f.window.start, f.window.end) for f in transcript.firings] == windows


def test_every_key_has_its_own_sessions() -> None:
    records = tuple({"ts": time, "k": key} for time, key in [(0, "a"), (1, "b"), (2, "a")])
    firings = run(spec(keys=("k",)), [Step(records=records), Step(end=True)]).firings
    assert [(f.key, f.window.start, f.window.end) for f in firings] == [(("b",), 1, 4), (("a",), 0, 5)]


def test_a_record_may_bring_its_own_gap() -> None:
    """A gap that is null, zero or negative makes no interval, so the record is in no window."""
    records = tuple({"ts": time, "g": gap} for time, gap in [(0, 9), (2, 1), (8, 2), (4, None), (5, 0), (6, -1)])
    transcript = run(spec(session(gap_from="g")), [Step(records=records), Step(end=True)])
    assert said(transcript.outcomes[1]) == ["+I [0, 10) [0, 2, 8] ON_TIME 0/0!"]
    assert reasons(transcript) == [Reason.NO_WINDOW] * 3


def test_the_end_of_a_session_may_belong_to_it() -> None:
    """Kafka: [0, 3) is open while the watermark is at 3, and expires past 3."""
    steps = [came(0), Step(watermark=3), Step(watermark=4)]
    assert [len(step) for step in told(run(spec(), steps))] == [0, 1, 0]
    assert [len(step) for step in told(run(spec(semantics=Semantics.named("kafka")), steps))] == [0, 0, 1]


# ── merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_that_grows_is_a_new_pane_and_takes_back_the_old_one() -> None:
    story = spec(accumulation=Accumulation.RETRACTING, trigger=EARLY_AND_LATE, lateness=Duration(10))
    steps = [came(0), came(1), came(0), came(6, 3), Step(watermark=9), came(8), Step(watermark=21)]
    assert told(run(story, steps)) == [
        ["+I [0, 3) [0] EARLY 0/-1"],
        ["-D [0, 3) [0] EARLY 1/-1!", "+I [0, 4) [0, 1] EARLY 0/-1"],
        ["-U [0, 4) [0, 1] EARLY 1/-1", "+U [0, 4) [0, 0, 1] EARLY 1/-1"],
        # 3 makes [0, 6); [6, 9) only meets it
        [
            "-D [0, 4) [0, 0, 1] EARLY 2/-1!",
            "+I [0, 6) [0, 0, 1, 3] EARLY 0/-1",
            "+I [6, 9) [6] EARLY 0/-1",
        ],
        [
            "-U [0, 6) [0, 0, 1, 3] ON_TIME 1/0",
            "+U [0, 6) [0, 0, 1, 3] ON_TIME 1/0",
            "-U [6, 9) [6] ON_TIME 1/0",
            "+U [6, 9) [6] ON_TIME 1/0",
        ],
        # the watermark is at 9 and [6, 11) is not closed: it is early again; what it takes back was closed
        ["-D [6, 9) [6] LATE 2/1!", "+I [6, 11) [6, 8] EARLY 0/-1"],
        ["-U [6, 11) [6, 8] ON_TIME 1/0!", "+U [6, 11) [6, 8] ON_TIME 1/0!"],
    ]


def test_a_late_record_bridges_two_sessions_that_were_on_time() -> None:
    """Both had their on-time firing and the merged window is closed: what comes is late."""
    story = spec(accumulation=Accumulation.RETRACTING, lateness=Duration(10))
    steps = [came(0, 4), Step(watermark=8), came(2), Step(watermark=17)]
    transcript = run(story, steps)
    assert standing(transcript) == [(0, 7, [0, 2, 4])]
    assert told(transcript) == [
        [],
        ["+I [0, 3) [0] ON_TIME 0/0", "+I [4, 7) [4] ON_TIME 0/0"],
        ["-D [0, 3) [0] LATE 1/1!", "-D [4, 7) [4] LATE 1/1!", "+I [0, 7) [0, 2, 4] LATE 0/0"],
        [],
    ]


def test_without_retraction_nothing_is_taken_back() -> None:
    steps = [came(0), came(1), came(2)]
    assert told(run(spec(trigger=EARLY_AND_LATE), steps)) == [
        ["+I [0, 3) [0] EARLY 0/-1"],
        ["+I [0, 4) [0, 1] EARLY 0/-1"],
        ["+I [0, 5) [0, 1, 2] EARLY 0/-1"],
    ]
    discarding = spec(trigger=EARLY_AND_LATE, accumulation=Accumulation.DISCARDING)
    assert told(run(discarding, steps)) == [
        ["+I [0, 3) [0] EARLY 0/-1"],
        ["+I [0, 4) [1] EARLY 0/-1"],
        ["+I [0, 5) [2] EARLY 0/-1"],
    ]


def test_what_is_pending_is_handed_on() -> None:
    """0 and 4 wait in two sessions; 2 makes them one that has three."""
    story = spec(trigger=repeat(after(3)), accumulation=Accumulation.DISCARDING)
    assert told(run(story, [came(0, 4), came(2), came(3)])) == [[], ["+I [0, 7) [0, 2, 4] EARLY 0/-1"], []]


def test_what_was_taken_back_says_when_its_records_were() -> None:
    story = spec(
        trigger=EARLY_AND_LATE,
        accumulation=Accumulation.RETRACTING,
        firing_time=FiringTime.LATEST,
        lateness=Duration(9),
    )
    assert [f.time for f in run(story, [came(0, 1), came(2)]).firings] == [1, 1, 2]


@pytest.mark.parametrize(
    ("trigger", "fires"),
    [
        # [0, 3) and [4, 7) are told of their records, a step apart; then 2 bridges them.
        (repeat(after(3)), [0, 0, 1]),  # counts add: 1 + 1, and one came
        (repeat(after(4)), [0, 0, 0]),
        (repeat(after_delay("2 us")), [0, 0, 1]),  # the earlier of both began to wait at clock 0
        (repeat(after_delay("3 us")), [0, 0, 0]),
        (in_order(after(1), after(2)), [1, 1, 0]),  # the first part had finished, and the second counts one
        (until(repeat(after(3)), on_signal()), [0, 0, 1]),
    ],
)
def test_the_state_of_triggers_merges(trigger: Trigger, fires: list[int]) -> None:
    steps = [came(0, clock=0), came(4, clock=1), came(2, clock=2)]
    assert [len(step) for step in told(run(spec(trigger=trigger), steps))] == fires


# ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_record_too_late_alone_is_saved_by_the_session_it_would_be_in() -> None:
    """At watermark 10 [4, 7) alone has expired; with the live session [6, 11) it is [4, 11)."""
    merged = run(spec(), [came(6, 8), Step(watermark=10), came(4), Step(watermark=11)])
    assert (told(merged)[3], reasons(merged)) == (["+I [4, 11) [4, 6, 8] ON_TIME 0/0!"], [])
    own = spec(semantics=Semantics(late_sessions=LateSessions.OWN))
    alone = run(own, [came(6, 8), Step(watermark=10), came(4), Step(watermark=11)])
    assert (told(alone)[3], reasons(alone)) == (["+I [6, 11) [6, 8] ON_TIME 0/0!"], [Reason.EXPIRED])


def test_records_of_a_bundle_are_judged_together() -> None:
    """3, 5 and 7 are one session up to 10, so at watermark 9 none of them is too late, whatever their order."""
    for times in [(3, 5, 7, 0), (7, 5, 0, 3)]:
        transcript = run(spec(), [Step(watermark=9), came(*times), Step(end=True)])
        assert (standing(transcript), reasons(transcript)) == ([(3, 10, [3, 5, 7])], [Reason.EXPIRED])
    one_by_one = run(spec(), [Step(watermark=9), came(3), came(5), came(7), Step(end=True)])
    assert (standing(one_by_one), reasons(one_by_one)) == ([(7, 10, [7])], [Reason.EXPIRED] * 2)


def test_each_record_is_judged_against_its_own_watermark() -> None:
    """Stream time: 20 comes first and [0, 3) has expired; coming before it, 0 is in time."""
    assert reasons(run(spec(watermark=stream_time()), [came(20, 0)])) == [Reason.EXPIRED]
    assert reasons(run(spec(watermark=stream_time()), [came(0, 20)])) == []


def test_a_finished_session_keeps_others_away() -> None:
    """After two records [0, 4) is a tombstone until it expires at 9; what does not meet it makes its own session."""
    story = spec(trigger=after(2), lateness=Duration(5))
    transcript = run(story, [came(0, 1), came(3), came(4), Step(watermark=9), came(6), Step(end=True)])
    assert reasons(transcript) == [Reason.FINISHED]
    assert standing(transcript) == [(0, 4, [0, 1]), (4, 9, [4, 6])]
    touching = run(spec(session("3 us", touching=True), trigger=after(2)), [came(0, 1), came(4), came(5)])
    assert reasons(touching) == [Reason.FINISHED]


def test_nothing_remains_of_an_expired_session() -> None:
    oracle = Oracle(spec())
    oracle.step(came(0))
    oracle.step(Step(watermark=3))
    assert oracle.panes == {}
    assert said(oracle.step(came(1, watermark=20))) == ["+I [1, 4) [1] ON_TIME 0/0!"]  # only [0, 3) had expired


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limit", "windows"),
    [
        ({}, [(0, 11)]),
        ({"max_count": 2}, [(0, 3), (4, 7), (8, 9)]),  # 2 and 2; both records at 8 are one too many and stay together
        ({"max_duration": "4 us"}, [(0, 3), (4, 7), (8, 11)]),  # 4 is four after 0, so it is the first of the next
        ({"max_duration": "5 us"}, [(0, 5), (6, 11)]),
        ({"ends_on": "last"}, [(0, 5), (6, 11)]),
        ({"ends_on": "last", "max_count": 2}, [(0, 3), (4, 5), (6, 9)]),
    ],
)
def test_limits_cut_a_session_first_to_last(limit: dict[str, Any], windows: list[tuple[int, int]]) -> None:
    """Records at 0, 2, 4, 6, 8 and 8, of which 4 is a last one. What is cut ends at its last time and a tick."""
    records = [{"ts": time, "last": time == 4 or None} for time in (0, 2, 4, 6, 8, 8)]
    for given in (records, records[::-1]):
        transcript = run(spec(session("3 us", **limit)), [Step(records=tuple(given)), Step(end=True)])
        assert [(f.window.start, f.window.end) for f in transcript.firings] == windows


def test_a_late_record_moves_every_cut_after_it() -> None:
    """By twos: 0 1 | 2 3. Then 1 comes again: 0 1 1 | 2 3 keeps its bounds. Then -1 comes: -1 0 | 1 1 | 2 3."""
    story = spec(
        session("3 us", max_count=2),
        trigger=EARLY_AND_LATE,
        accumulation=Accumulation.RETRACTING,
        lateness=Duration(50),
    )
    transcript = run(story, [came(0, 1, 2, 3), came(1), came(-1), Step(end=True)])
    one, two, three, _ = told(transcript)
    assert one == ["+I [0, 2) [0, 1] EARLY 0/-1", "+I [2, 4) [2, 3] EARLY 0/-1"]
    assert two == ["-U [0, 2) [0, 1] EARLY 1/-1", "+U [0, 2) [0, 1, 1] EARLY 1/-1"]
    assert three == [
        "-D [0, 2) [0, 1, 1] EARLY 2/-1!",
        "+I [-1, 1) [-1, 0] EARLY 0/-1",
        "+I [1, 2) [1, 1] EARLY 0/-1",  # cut apart from a former one, and told of what it holds
    ]


def test_sessions_that_a_moved_cut_puts_together_say_what_they_hold() -> None:
    """At most 4 long: 0 | 4 6 | 8. The record at 2 moves no cut; at -2: -2 0 | 4 6 stay, told of nothing."""
    story = spec(session("5 us", max_duration="4 us"), trigger=EARLY_AND_LATE, accumulation=Accumulation.RETRACTING)
    one, two, three = told(run(story, [came(0, 4, 6, 8), came(2), came(-2)]))
    assert [row.split(" EARLY")[0] for row in one] == ["+I [0, 1) [0]", "+I [4, 7) [4, 6]", "+I [8, 13) [8]"]
    assert [row.split(" EARLY")[0] for row in two] == ["-D [0, 1) [0]", "+I [0, 3) [0, 2]"]
    assert [row.split(" EARLY")[0] for row in three] == [
        "-D [0, 3) [0, 2]",
        "-D [4, 7) [4, 6]",
        "-D [8, 13) [8]",
        "+I [-2, 1) [-2, 0]",
        "+I [2, 5) [2, 4]",
        "+I [6, 13) [6, 8]",
    ]


def test_with_limits_the_session_before_cutting_is_judged() -> None:
    """At watermark 6 the cut session [0, 1) has expired, but with gap 7 the record at 0 is in [0, 13): it is late."""
    transcript = run(spec(session("7 us", max_count=1)), [came(6), Step(watermark=6), came(0), Step(end=True)])
    assert reasons(transcript) == []
    assert [(f.window.start, f.window.end) for f in transcript.firings] == [(0, 1), (6, 7)]


def test_what_has_no_owner_is_not_discarded() -> None:
    with pytest.raises(SpecError, match="discarding"):
        spec(session("3 us", max_count=2), trigger=EARLY_AND_LATE, accumulation=Accumulation.DISCARDING)
