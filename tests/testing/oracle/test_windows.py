"""Stories that pin the law for the kinds of window that follow from the record alone, and for time as position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fanlight.model.aggregates import count
from fanlight.model.aggregates import list as listed
from fanlight.model.reason import Reason
from fanlight.model.semantics import Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import EARLIEST, LATEST, as_text, timestamp
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import after, at_watermark
from fanlight.model.windows.calendar import CalendarUnit, calendar
from fanlight.model.windows.counting import counting
from fanlight.model.windows.cumulating import cumulating
from fanlight.model.windows.custom import custom
from fanlight.model.windows.session import tuple_session
from fanlight.model.windows.tumbling import tumbling
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.calendar import unit_of
from fanlight.testing.oracle.window_aggregate import run
from fanlight.testing.script import Outcome, Step


def spec(window: Any, **fields: Any) -> WindowSpec:
    common: dict[str, Any] = {"aggregates": (("s", listed("v")), ("n", count())), "watermark": Explicit()}
    return WindowSpec(time="ts", window=window, **{**common, **fields})


def came(*values: int, **step: Any) -> Step:
    """A bundle of records, each at the time that is also its value."""
    return Step(records=tuple({"ts": value, "v": value, "k": "a"} for value in values), **step)


def keyed(keys: str, **step: Any) -> Step:
    """A bundle of records with these keys."""
    return Step(records=tuple({"ts": None, "v": place, "k": key} for place, key in enumerate(keys)), **step)


def said(outcome: Outcome) -> list[str]:
    """Each firing as `[start, end) values`."""
    return [f"[{f.window.start}, {f.window.end}) {f.values['s']}" for f in outcome.firings]


def counted(outcome: Outcome) -> list[tuple[Any, ...]]:
    """Each firing as key, start, end and how many records."""
    return [(*f.key, f.window.start, f.window.end, f.values["n"]) for f in outcome.firings]


# ── cumulating, calendar, custom ─────────────────────────────────────────────────────────────────────────────────────


def test_cumulating_windows_grow_until_they_are_full() -> None:
    """Size 6, step 2: 1 is in all three, 3 in the last two, 5 in the last; 7 starts the next round."""
    given, *later = run(
        spec(cumulating("6 us", "2 us")), [came(1, 3, 5, 7), Step(watermark=4), Step(end=True)]
    ).outcomes
    assert said(given) == []
    assert said(later[0]) == ["[0, 2) [1]", "[0, 4) [1, 3]"]
    assert said(later[1]) == ["[0, 6) [1, 3, 5]", "[6, 8) [7]", "[6, 10) [7]", "[6, 12) [7]"]


@pytest.mark.parametrize(
    ("unit", "zone", "moment", "start", "end"),
    [
        ("day", "UTC", "2026-03-29T12:00Z", "2026-03-29T00:00Z", "2026-03-30T00:00Z"),
        ("day", "Europe/Berlin", "2026-03-29T12:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),  # 23 hours
        ("day", "Europe/Berlin", "2026-10-25T12:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),  # 25 hours
        ("week", "Europe/Berlin", "2026-03-29T12:00Z", "2026-03-22T23:00Z", "2026-03-29T22:00Z"),  # from Monday
        ("month", "Europe/Berlin", "2026-03-29T12:00Z", "2026-02-28T23:00Z", "2026-03-31T22:00Z"),
        ("quarter", "UTC", "2026-03-29T12:00Z", "2026-01-01T00:00Z", "2026-04-01T00:00Z"),
        ("year", "Asia/Kolkata", "2025-12-31T18:30Z", "2025-12-31T18:30Z", "2026-12-31T18:30Z"),
        # Clocks are put forward over midnight: the day begins at one.
        ("day", "America/Sao_Paulo", "2018-11-04T12:00Z", "2018-11-04T03:00Z", "2018-11-05T02:00Z"),
        # The first hour comes twice: the day begins with the first of them.
        ("day", "America/Havana", "2025-11-02T12:00Z", "2025-11-02T04:00Z", "2025-11-03T05:00Z"),
        # A minute after midnight it is 23:01 of the day before: that hour is in the day that had begun.
        ("day", "America/St_Johns", "2006-10-29T03:00Z", "2006-10-29T02:30Z", "2006-10-30T03:30Z"),
        # The 30th of December was left out: the 31st follows the 29th.
        ("day", "Pacific/Apia", "2011-12-30T09:00Z", "2011-12-29T10:00Z", "2011-12-30T10:00Z"),
        ("day", "Pacific/Apia", "2011-12-30T10:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"),
    ],
)
def test_calendar_units_are_those_of_the_zone(unit: str, zone: str, moment: str, start: str, end: str) -> None:
    found = unit_of(CalendarUnit(unit), zone, timestamp(moment))
    assert (as_text(found.start), as_text(found.end)) == (as_text(timestamp(start)), as_text(timestamp(end)))


@pytest.mark.parametrize("unit", CalendarUnit)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("time", [EARLIEST, LATEST])
def test_the_calendar_reaches_to_both_ends_of_what_a_record_may_say(unit: CalendarUnit, zone: str, time: int) -> None:
    window = unit_of(unit, zone, time)
    assert window.start <= time < window.end


def test_calendar_windows_close_when_the_zone_says_so() -> None:
    story = spec(calendar("day", "Europe/Berlin"))
    noon, midnight = timestamp("2026-03-29T10:00Z"), timestamp("2026-03-29T22:00Z")
    steps = [came(noon), Step(watermark=midnight - 1), Step(watermark=midnight)]
    assert [len(outcome.firings) for outcome in run(story, steps).outcomes] == [0, 0, 1]


def test_custom_windows_are_what_the_function_names() -> None:
    """Even times get one window around them, odd ones get none; a window need not hold its record."""

    def around(times: Any, _batch: Any) -> tuple[Any, ...]:
        rows = np.flatnonzero(times % 2 == 0)
        return rows, times[rows] + 10, times[rows] + 14

    transcript = run(spec(custom(around)), [came(2, 3, 2), Step(watermark=15), came(2), Step(watermark=16), came(2)])
    assert [said(outcome) for outcome in transcript.outcomes] == [[], [], [], ["[12, 16) [2, 2, 2]"], []]
    assert [reason for reason, _ in transcript.dead_letters] == [Reason.NO_WINDOW, Reason.EXPIRED]


# ── positions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_counting_the_stream_windows_every_key_by_the_places_of_all() -> None:
    """Three by three over the whole stream: a is at 1, 3, 4, 6 and b at 2, 5, 7. The 7th waits for the end."""
    transcript = run(spec(counting(3, per="stream"), keys=("k",)), [keyed("aba"), keyed("abab"), Step(end=True)])
    assert [counted(outcome) for outcome in transcript.outcomes] == [
        [("a", 1, 4, 2), ("b", 1, 4, 1)],
        [("a", 4, 7, 2), ("b", 4, 7, 1)],
        [("b", 7, 10, 1)],
    ]
    assert transcript.dead_letters == []


def test_counting_a_key_windows_it_by_its_own_places() -> None:
    """Two by two: a has its second record in the first step; b waits until its own second."""
    transcript = run(spec(counting(2), keys=("k",)), [keyed("aba"), keyed("ab"), Step(end=True)])
    assert [counted(outcome) for outcome in transcript.outcomes] == [
        [("a", 1, 3, 2)],
        [("b", 1, 3, 2)],
        [("a", 3, 5, 1)],
    ]


def test_a_counting_window_that_would_start_below_one_holds_what_there_is() -> None:
    """Four wide, every two: after two records [-1, 3) is full, after four [1, 5), whatever the semantics."""
    for peer in ("fanlight", "kafka", "malhar"):
        story = spec(counting(4, every=2), semantics=Semantics.named(peer), trigger=at_watermark(late=None))
        transcript = run(story, [keyed("aa"), keyed("aa")])
        assert [counted(outcome) for outcome in transcript.outcomes] == [[(-1, 3, 2)], [(1, 5, 4)]]


def test_counting_by_a_column_closes_with_the_greatest_position() -> None:
    """4 is missing and comes too late: 5 has moved the stream past [1, 5). Positions are from one up."""
    story = spec(counting(4, per="stream", by="ts"))
    transcript = run(story, [came(1, 3, 2), came(5, 4), came(4, 0, -3)])
    assert [said(outcome) for outcome in transcript.outcomes] == [[], ["[1, 5) [1, 2, 3, 4]"], []]
    assert [reason for reason, _ in transcript.dead_letters] == [Reason.EXPIRED, *[Reason.TIME_OUT_OF_RANGE] * 2]
    assert [reason for reason, _ in run(story, [keyed("a")]).dead_letters] == [Reason.NULL_TIME]


def test_what_a_finished_counting_window_refuses_still_takes_its_place() -> None:
    """Windows of three finish after two; the third record is lost, the fourth is in the next window."""
    transcript = run(spec(counting(3), trigger=after(2)), [keyed("aa"), keyed("a"), keyed("aa")])
    assert [counted(outcome) for outcome in transcript.outcomes] == [[(1, 4, 2)], [], [(4, 7, 2)]]
    assert [reason for reason, _ in transcript.dead_letters] == [Reason.FINISHED]


def test_in_the_arrival_domain_time_is_the_place_in_the_stream() -> None:
    """Watermarks from outside are ignored, and times are not read."""
    story = spec(tumbling("3 us", domain="arrival"), trigger=at_watermark(early=after(2)))
    transcript = run(story, [keyed("a", watermark=100), keyed("a"), keyed("aa")])
    assert [[(f.window, f.values["n"]) for f in outcome.firings] for outcome in transcript.outcomes] == [
        [],
        [(Window(0, 3), 2)],
        [(Window(3, 6), 2)],
    ]
    assert [f.timing.name for f in transcript.firings] == ["ON_TIME", "EARLY"]


def test_a_tuple_session_ends_after_so_many_records_without_its_key() -> None:
    """Two without: a at 1 and 3 is [1, 6), over when the 5th has come; a at 6 starts anew."""
    transcript = run(spec(tuple_session(2), keys=("k",)), [keyed("aba"), keyed("bb"), keyed("a"), Step(end=True)])
    assert [counted(outcome) for outcome in transcript.outcomes] == [
        [],
        [("a", 1, 6, 2)],
        [],
        [("b", 2, 8, 3), ("a", 6, 9, 1)],
    ]
