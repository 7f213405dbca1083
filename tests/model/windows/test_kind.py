"""What each kind of window says of itself: the engine asks for nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

import fanlight as fl
from fanlight.model.semantics import LateBy, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.same import Same

ALIGNED = {
    "tumbling": fl.tumbling("1 min"),
    "hopping": fl.hopping("10 min", every="3 min"),
    "global": fl.global_window(),
    "cumulating": fl.cumulating("1 h", step="15 min"),
    "calendar": fl.calendar("day", "Europe/Berlin"),
    "counting per stream": fl.counting(5, every=2, per="stream"),
    "same": Same(fl.counting(5, every=2, per="stream")),
}
UNALIGNED = {
    "session": fl.session("1 min"),
    "sliding": fl.sliding("1 min"),
    "custom": fl.custom(lambda times, batch: (times, times + 1)),
    "counting per key": fl.counting(5, every=2),
}
KINDS: dict[str, WindowKind] = {**ALIGNED, **UNALIGNED}
STRICT = Semantics(closes_after_end=True, expires_after_horizon=True, late_by=LateBy.RECORD)
INCLUSIVE = Semantics(session_end_is_inclusive=True)


def said(what: str) -> dict[str, object]:
    """What the kinds say that do not say what most do."""
    usual = getattr(WindowKind(), what)
    answers = {name: getattr(kind, what) for name, kind in KINDS.items()}
    return {name: answer for name, answer in answers.items() if answer != usual}


def spec(kind: WindowKind, semantics: Semantics = Semantics()) -> WindowSpec:
    return WindowSpec("ts", kind, (("n", fl.count()),), semantics=semantics)


def test_each_key_has_its_own_sessions_sliding_custom_and_counted_windows() -> None:
    assert said("is_aligned") == dict.fromkeys(UNALIGNED, False)


def test_where_all_keys_count_together_they_must_meet() -> None:
    """Also in a later stage, and where sessions or tumbling windows are cut by arrival."""
    assert said("spans_keys") == {"counting per stream": True, "same": True}
    assert fl.tuple_session(3).spans_keys
    assert fl.tumbling("5 us", domain="arrival").spans_keys


def test_windows_overlap_as_often_as_they_start_within_one() -> None:
    """A record is in 10 / 3 windows, rounded up; in four quarters of an hour; in 5 / 2 counted ones, rounded up."""
    assert said("overlap") == {"hopping": 4, "cumulating": 4, "counting per stream": 3, "counting per key": 3}


def test_the_columns_that_windows_are_made_of() -> None:
    assert said("columns") == {}
    assert fl.session(gap_from="gap", ends_on="over").columns == ("gap", "over")
    assert fl.counting(3, by="n").columns == ("n",)
    assert fl.counting(3, by="n").position == "n"


def test_only_the_ends_of_cumulating_windows_tell_them_apart() -> None:
    assert said("known_by") == {"cumulating": "end"}


def test_windows_of_a_later_stage_are_those_of_the_first() -> None:
    assert said("bounds_domain") == dict.fromkeys(
        ("counting per stream", "same", "counting per key"), fl.TimeDomain.ARRIVAL
    )
    assert Same(KINDS["tumbling"]).origin is KINDS["tumbling"]


@pytest.mark.parametrize("kind", UNALIGNED.values(), ids=UNALIGNED)
def test_there_is_no_later_stage_where_each_key_has_its_own(kind: WindowKind) -> None:
    with pytest.raises(fl.SpecError, match="each key has its own"):
        Same(kind)


def test_a_position_is_full_when_it_has_come_whatever_is_said_of_time() -> None:
    """Nor is one late by itself."""
    waits = {name for name, kind in KINDS.items() if spec(kind, STRICT).closes_strictly}
    assert waits == KINDS.keys() - {"counting per stream", "counting per key"}
    assert {name for name, kind in KINDS.items() if spec(kind, STRICT).expires_strictly} == waits
    assert {name for name, kind in KINDS.items() if spec(kind, STRICT).late_by is LateBy.RECORD} == waits


def test_only_sessions_have_an_end_that_may_be_inside() -> None:
    assert {name for name, kind in KINDS.items() if spec(kind, INCLUSIVE).closes_strictly} == {"session"}


def test_an_earliest_start_is_refused_where_it_means_nothing() -> None:
    """One that a preset of a peer has (0) is no choice of the user, and so it is not."""
    refused = set()
    for name, kind in KINDS.items():
        assert spec(kind, Semantics(earliest_start=0)).window is kind
        try:
            spec(kind, Semantics(earliest_start=7))
        except fl.SpecError:
            refused.add(name)
    assert refused == {"global", "session", "custom", "counting per stream", "counting per key"}


def test_what_a_spec_asks_is_checked_when_it_is_replaced_too() -> None:
    late = spec(fl.tumbling("1 min"))
    with pytest.raises(fl.SpecError, match="means nothing for processing-time windows"):
        replace(late, window=fl.tumbling("1 min", domain="processing"), lateness=fl.Duration.of("1 s"))
