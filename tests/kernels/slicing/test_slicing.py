"""Every way of cutting time into slices obeys the same laws, checked window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.kernels.slicing.periodic import Periodic
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, Slicing
from fanlight.kernels.slicing.unsliced import Unsliced
from fanlight.model.semantics import Semantics
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.same import Same
from fanlight.model.windows.tumbling import Tumbling

DAY = 86_400_000_000
small = st.integers(1, 12)
offsets = st.integers(-30, 30).map(Duration)
moments = st.integers(-200, 200)


@st.composite
def cumulating(draw: st.DrawFn) -> Cumulating:
    step = draw(small)
    return Cumulating(Duration(step * draw(st.integers(1, 6))), Duration(step), draw(offsets))


kinds = st.one_of(
    cumulating(),
    st.builds(Tumbling, small.map(Duration), offsets),
    st.builds(lambda a, b, o: Hopping(Duration(max(a, b)), Duration(min(a, b)), o), small, small, offsets),
    st.builds(lambda a, b: fl.counting(max(a, b), every=min(a, b), per="stream"), small, small),
)


def windows_by_hand(kind: WindowKind, earliest: int | None) -> set[tuple[int, int]]:
    """Every window that comes near the moments of these tests, written out from the law."""
    numbers = range(-300, 300)
    match kind:
        case Tumbling():
            found = {(k * kind.size.micros, (k + 1) * kind.size.micros) for k in numbers}
        case Hopping():
            found = {(k * kind.every.micros, k * kind.every.micros + kind.size.micros) for k in numbers}
        case Cumulating():
            size, step = kind.size.micros, kind.step.micros
            found = {(k * size, k * size + j * step) for k in numbers for j in range(1, size // step + 1)}
        case Counting():
            found = {(k * kind.every, k * kind.every + kind.size) for k in numbers}
        case _:
            raise AssertionError(kind)
    offset = 1 if isinstance(kind, Counting) else kind.offset.micros
    moved = {(start + offset, end + offset) for start, end in found}
    least = -DAY if earliest is None or isinstance(kind, Counting) else earliest  # positions are no times
    return {window for window in moved if window[0] >= least}


@given(kinds, st.lists(moments, min_size=1, max_size=8), st.none() | moments)
def test_a_record_is_in_every_window_around_it_and_in_no_other(
    kind: WindowKind, times: list[int], earliest: int | None
) -> None:
    slicing = slicing_of(kind, Semantics(earliest_start=earliest))
    rows, starts, ends = slicing.windows_of(np.array(times))
    found = list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))
    windows = windows_by_hand(kind, earliest)
    expected = [(row, *window) for row, time in enumerate(times) for window in windows if window[0] <= time < window[1]]
    assert sorted(found) == sorted(expected)


@given(kinds, moments, st.integers(-40, 40))
def test_a_window_is_made_of_the_slices_that_say_they_are_in_it(kind: WindowKind, time: int, shift: int) -> None:
    slicing = slicing_of(kind, Semantics())
    [slice_] = slicing.slices(np.array([time])).tolist()
    window = slice_ // (2 if getattr(slicing, "remainder", 0) else 1) + shift
    first, last = slicing.members(window)
    low, high = slicing.windows(np.array([slice_]))
    assert (first <= slice_ <= last) == (low[0] <= window <= high[0])


def bounds_of(slicing: Slicing, window: int) -> tuple[int, int]:
    starts, ends = slicing.bounds(np.array([window]))
    return int(starts[0]), int(ends[0])


zones = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Asia/Beirut"])
calendars = st.builds(fl.calendar, st.sampled_from(["day", "week", "month", "quarter", "year"]), zones)


@given(
    st.one_of(
        st.tuples(kinds, moments),
        st.tuples(calendars, st.integers(-80 * 365 * DAY, 80 * 365 * DAY) | st.integers(EARLIEST, LATEST)),
    )
)
def test_the_last_window_that_has_ended_ends_by_then_and_the_next_one_does_not(case: tuple[WindowKind, int]) -> None:
    kind, time = case
    slicing = slicing_of(kind, Semantics())
    [last] = slicing.last_ending_by(np.array([time])).tolist()
    assert bounds_of(slicing, last)[1] <= time < bounds_of(slicing, last + 1)[1]
    edge = bounds_of(slicing, last)[1]
    assert slicing.last_ending_by(np.array([edge]))[0] == last
    assert slicing.last_ending_by(np.array([edge - 1]))[0] < last
    assert slicing.last_ending_by(np.array([END_OF_TIME]))[0] == EVERY_WINDOW


@pytest.mark.parametrize(
    "kind",
    [fl.session("1 s"), fl.sliding("1 s"), fl.counting(3), fl.custom(lambda times, batch: (times, times + 1))],
    ids=lambda kind: type(kind).__name__,
)
def test_windows_that_each_key_has_for_itself_go_by_their_end(kind: WindowKind) -> None:
    assert isinstance(slicing_of(kind, Semantics()), Unsliced)


@dataclass(frozen=True)
class EveryTen(WindowKind):
    """A user's own kind: every ten microseconds a window of four."""

    def slicing(self, semantics: Semantics) -> Slicing:
        return Periodic.cut(4, 10, 0, semantics.earliest_start)


class TestKindsOfUsers:
    def test_one_brings_its_slicing(self) -> None:
        slicing = slicing_of(EveryTen(), Semantics(earliest_start=20))
        rows, starts, ends = slicing.windows_of(np.array([3, 23, 27]))
        assert (rows.tolist(), starts.tolist(), ends.tolist()) == ([1], [20], [24])  # 3 is too early, 27 is in a gap

    def test_one_that_brings_none_is_told_to(self) -> None:
        with pytest.raises(fl.SpecError, match=r"Bare does not say how it cuts time.*slicing\(semantics\)"):
            slicing_of(Bare(), Semantics())

    def test_its_windows_are_those_of_a_later_stage_too(self) -> None:
        assert slicing_of(Same(EveryTen()), Semantics()).slices(np.array([0, 10, 40])).tolist() == [0, 1, 4]


class Bare(WindowKind):
    """A kind that every key has, and that says no more."""


@given(kinds | calendars | st.just(EveryTen()), st.integers(-40, 40))
def test_a_result_of_a_window_is_in_that_window_again(kind: WindowKind, window: int) -> None:
    """A later stage finds a window by its start; by its end, if several start together."""
    start, end = bounds_of(slicing_of(kind, Semantics()), window)
    again = slicing_of(Same(kind), Semantics())
    slices = again.slices(np.array([start if kind.known_by == "start" else end]))
    assert slices.tolist() == [window]
    assert [side.tolist() for side in again.windows(slices)] == [[window], [window]]
    assert bounds_of(again, window) == (start, end)
