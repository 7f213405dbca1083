"""Joins by window as they are declared: what is refused, and what the watermark handed on is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.window import WindowJoinSpec, same_window
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME

LEFT, RIGHT = Side("o", "ts", keys=("id",)), Side("p", "at", keys=("id",))
SESSIONS = same_window(fl.session("5 s"))
COUNTED = {"match": same_window(fl.counting(3)), "retention": fl.retention("1 h")}
SPEC = WindowJoinSpec(LEFT, RIGHT, same_window(fl.tumbling("10 s")))


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("10 s", "is no kind of window"),
        (fl.global_window(), "never ends, so every row would be kept for ever"),
        (fl.sliding("5 s"), "each key has its own Sliding windows"),
        (fl.tumbling("5 s", domain="processing"), "go by processing"),
        (fl.counting(3, per="stream"), "counts its own records of a key"),
        (fl.counting(3, by="n"), "counts its own records of a key"),
        (fl.counting(3, every=2), r"Use same_window\(counting\(3\)\)"),
        (fl.session(gap_from="v"), "Give the gap alone"),
        (fl.session("5 s", max_count=3), "Give the gap alone"),
    ],
)
def test_windows_that_two_sides_cannot_share(window: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        same_window(window)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"right": replace(RIGHT, name="o")}, "both sides are called 'o'"),
        ({"right": replace(RIGHT, keys=())}, "1 keys and the right side 0"),
        ({"lateness": Duration.FOREVER}, "must be a duration from 0 up"),
        ({"mode": EmissionMode.RETRACTING}, "not kept up to date"),
        ({"match": SESSIONS, "left": replace(LEFT, keys=()), "right": replace(RIGHT, keys=())}, "sides have no keys"),
        ({"match": SESSIONS, "mode": EmissionMode.EAGER}, "known when it is over"),
        ({"match": same_window(fl.counting(3))}, "would wait for ever for the other"),
        ({"retention": fl.retention("1 h")}, "the windows of this join end by their times"),
        ({**COUNTED, "retention": fl.retention(count=3)}, "by time, not by count"),
        ({**COUNTED, "lateness": Duration(1)}, "means nothing for windows that count"),
    ],
)
def test_what_is_no_join(given: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        replace(SPEC, **given)


def test_a_window_that_is_not_complete_ends_after_the_watermark_handed_on() -> None:
    assert SPEC.hands_on(100) == 100
    assert replace(SPEC, lateness=Duration(30)).hands_on(100) == 70
    assert [SPEC.hands_on(end) for end in (START_OF_TIME, END_OF_TIME)] == [START_OF_TIME, END_OF_TIME]
    assert replace(SPEC, lateness=Duration(30)).hands_on(START_OF_TIME + 1) == START_OF_TIME


def test_every_type_has_a_time() -> None:
    assert {replace(SPEC, how=how).continuation.time for how in JoinType} == {"window_time"}


def test_nothing_follows_windows_that_count() -> None:
    with pytest.raises(SpecError, match="has numbers and no time"):
        _ = replace(SPEC, **COUNTED).continuation


@pytest.mark.parametrize("given", [{}, COUNTED])
def test_it_is_written_down(given: dict[str, Any]) -> None:
    spec = replace(SPEC, **given)
    assert from_document(to_document(spec)) == spec
