"""Stories that pin the law of sliding windows. They reach over ten microseconds, both ends inside."""

from __future__ import annotations

from typing import Any

import pytest

from fanlight.model.aggregates import list as listed
from fanlight.model.reason import Reason
from fanlight.model.semantics import Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import after, at_watermark, repeat
from fanlight.model.windows.sliding import sliding
from fanlight.testing.oracle.window_aggregate import run
from fanlight.testing.script import Outcome, Step, Transcript


def spec(anchor: str = "trailing", **fields: Any) -> WindowSpec:
    common: dict[str, Any] = {"aggregates": (("s", listed("ts")),), "watermark": Explicit()}
    return WindowSpec(time="ts", window=sliding("10 us", anchor), **{**common, **fields})


def came(*times: int, **step: Any) -> Step:
    return Step(records=tuple({"ts": time} for time in times), **step)


def said(outcome: Outcome) -> list[str]:
    return [f"[{f.window.start}, {f.window.end}) {f.values['s']} {f.timing.name}" for f in outcome.firings]


def held(transcript: Transcript) -> dict[tuple[int, int], list[int]]:
    """What each window holds in the end."""
    return {(window.start, window.end): f.values["s"] for (_, window), f in transcript.last_firings().items()}


def reasons(transcript: Transcript) -> list[Reason]:
    return [reason for reason, _ in transcript.dead_letters]


@pytest.mark.parametrize(
    ("anchor", "windows"),
    [
        ("trailing", {(90, 101): [100], (95, 106): [100, 105, 105], (105, 116): [105, 105, 115]}),
        ("forward", {(100, 111): [100, 105, 105], (105, 116): [105, 105, 115], (115, 126): [115]}),
        (
            "both",
            {
                (90, 101): [100],
                (95, 106): [100, 105, 105],
                (101, 112): [105, 105],
                (105, 116): [105, 105, 115],
                (106, 117): [115],
            },
        ),
    ],
)
def test_there_is_a_window_for_each_distinct_set_of_records(
    anchor: str, windows: dict[tuple[int, int], list[int]]
) -> None:
    """The picture of the model: 100, 105 twice and 115. No order of arrival and no cut makes a difference."""
    assert held(run(spec(anchor), [came(115, 100, 105, 105), Step(end=True)])) == windows
    steps = [came(105), came(115), came(105), came(100), Step(end=True)]
    assert held(run(spec(anchor, trigger=at_watermark(early=after(1))), steps)) == windows


def test_the_tick_is_the_step_of_time() -> None:
    """With a tick of 5 the window after 100 starts at 105."""
    transcript = run(spec("both", tick=Duration(5)), [came(100, 105), Step(end=True)])
    assert held(transcript) == {(90, 105): [100], (95, 110): [100, 105], (105, 120): [105]}


def test_a_window_that_would_start_too_early_starts_there() -> None:
    """Kafka: 3 and 7 share [0, 11). What comes before zero is in no window."""
    transcript = run(spec(semantics=Semantics.named("kafka")), [came(3, 7, -1, 12), Step(end=True)])
    assert held(transcript) == {(0, 11): [3, 7], (2, 13): [3, 7, 12]}
    assert reasons(transcript) == [Reason.NO_WINDOW]


def test_a_record_too_late_for_its_own_window_still_counts_in_open_ones() -> None:
    """At watermark 110 the window that ends with 104 is long over, and so is [99, 110); [100, 111) is not."""
    transcript = run(spec(), [came(109, 110), Step(watermark=110), came(104), Step(watermark=111)])
    assert [said(outcome) for outcome in transcript.outcomes] == [
        [],
        ["[99, 110) [109] ON_TIME"],
        [],
        ["[100, 111) [104, 109, 110] ON_TIME"],
    ]
    assert reasons(transcript) == []


def test_a_record_is_expired_when_every_window_that_holds_it_is() -> None:
    """At 110 the window [94, 105) of 104 is over; [100, 111) of 110 holds it, if 110 is known or comes along."""
    assert reasons(run(spec(), [Step(watermark=110), came(104), came(110)])) == [Reason.EXPIRED]
    assert reasons(run(spec(), [Step(watermark=110), came(110), came(104)])) == []
    together = run(spec(), [Step(watermark=110), came(104, 110), Step(end=True)])
    assert (held(together), reasons(together)) == ({(100, 111): [104, 110]}, [])
    assert reasons(run(spec(lateness=Duration(6)), [Step(watermark=110), came(104)])) == []
    assert reasons(run(spec("forward"), [Step(watermark=114), came(104)])) == []  # its own window is [104, 115)


def test_windows_of_records_too_late_save_nobody() -> None:
    """At 106 both 100 and 104 come too late for their own windows, though [94, 105) would hold them both."""
    assert reasons(run(spec(), [Step(watermark=106), came(100, 104)])) == [Reason.EXPIRED] * 2


def test_a_window_that_comes_into_being_is_told_of_all_it_holds() -> None:
    """After 100 and 105, 108 makes [98, 109) with three records at once, and so does 102 [92, 103) with two."""
    transcript = run(spec(trigger=repeat(after(2))), [came(100), came(105), came(108), came(102)])
    assert [said(outcome) for outcome in transcript.outcomes] == [
        [],
        ["[95, 106) [100, 105] EARLY"],
        ["[98, 109) [100, 105, 108] EARLY"],
        ["[92, 103) [100, 102] EARLY"],
    ]


def test_a_window_after_a_record_is_there_once_a_record_is_in_it() -> None:
    """In either order 100 and 105 make [101, 112) of 105; a record at 112 makes none after 100."""
    every = at_watermark(early=after(1))
    for times in [(100, 105), (105, 100)]:
        transcript = run(spec("both", trigger=every), [came(time) for time in times])
        assert held(transcript)[101, 112] == [105]
    assert (101, 112) not in held(run(spec("both", trigger=every), [came(100), came(112)]))


def test_a_record_is_refused_where_every_window_that_holds_it_has_finished() -> None:
    """[90, 101) and [95, 106) have finished with their first record; 104 brings a window of its own, 100 none."""
    story = spec(trigger=after(1))
    transcript = run(story, [came(100), came(105), came(100), came(104), Step(end=True)])
    assert reasons(transcript) == [Reason.FINISHED]
    assert held(transcript) == {(90, 101): [100], (95, 106): [100, 105], (94, 105): [100, 104]}
    judged_together = run(story, [came(100), came(105), came(100, 107)])
    assert reasons(judged_together) == []
    assert held(judged_together)[97, 108] == [100, 100, 105, 107]
