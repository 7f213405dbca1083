"""Panes that fire at the close and at every late update: slices are kept, and of panes only what was corrected."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl
from fanlight.model.spec import MOST_PANES, MOST_WINDOWS, WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.triggers import AtWatermark
from fanlight.operators.window.aligned.corrected import CorrectedPanes
from fanlight.operators.window.aligned.multi_firing import MultiFiringPanes

from .one_shard import TEN, Record, Shard, said

HOPPING = fl.hopping(Duration(20), every=Duration(10))
"""Window w is [10w, 10w + 20): a record of the slice s is in the windows s - 1 and s."""


class Patient(Shard):
    """A shard whose windows take records for another hundred after they close."""

    panes = CorrectedPanes

    def __init__(self, window: Any = TEN, **fields: Any) -> None:
        super().__init__(window, **{"lateness": Duration(100), **fields})

    def fired(self, records: list[Record], watermark: int, **more: Any) -> list[tuple[Any, ...]]:
        """Op, timing, index, is_last, key, window start, count and sum of each row that leaves."""
        rows = self.rows(records, watermark, **more)
        panes = [pane.values() for pane in rows["pane"].to_pylist()]
        told = [(op, timing, index, last) for op, timing, index, _, last, *_ in panes]
        assert all(pane["number"] == pane["revision"] for pane in rows["pane"].to_pylist())  # none of them is early
        return [(*how, *what) for how, what in zip(told, said(rows), strict=True)]

    @property
    def corrected(self) -> dict[int, int]:
        """Of how many panes of each window it is noted how often they fired."""
        return {address.part: len(self.store.get(address)) for address in self.store.list("panes")}


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_while_nothing_is_late_slices_are_all_that_is_kept() -> None:
    shard = Patient(HOPPING)
    first = [("+I", "ON_TIME", 0, False, "a", -10, 1, 1)]
    assert shard.fired([(3, "a", 1), (12, "a", 2), (14, "b", 4)], 10) == first
    assert shard.fired([(25, "b", 8)], 30) == [
        *[("+I", "ON_TIME", 0, False, "a", 0, 2, 3), ("+I", "ON_TIME", 0, False, "b", 0, 1, 4)],
        *[("+I", "ON_TIME", 0, False, "a", 10, 1, 2), ("+I", "ON_TIME", 0, False, "b", 10, 2, 12)],
    ]
    assert shard.kept == [0, 1, 2]
    assert shard.corrected == {}
    assert shard.fired([], 120) == [("+I", "ON_TIME", 0, False, "b", 20, 1, 8)]
    assert shard.kept == [1, 2]  # the windows up to 0, which ends at 20, have expired


def test_nothing_remains_when_every_window_has_expired() -> None:
    shard = Patient(HOPPING)
    shard.fired([(3, "a", 1)], 20)
    shard.fired([(4, "a", 2)], 50)
    assert shard.corrected == {-1: 1, 0: 1}
    assert shard.fired([], 110) == []
    assert shard.corrected == {0: 1}  # window -1 ends at 10 and expires at 110
    assert shard.fired([], 120) == []
    assert (shard.kept, shard.corrected, shard.operator.is_live) == ([], {}, False)


# ── what is corrected ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("restarts", [False, True])
def test_a_late_record_corrects_the_panes_it_belongs_to_and_no_other(restarts: bool) -> None:
    """The record of 15 is late for the windows 0 and 1, which hold keys a and b; only its own key's fire again."""
    shard = Patient(HOPPING)
    shard.fired([(3, "a", 1), (12, "a", 2), (14, "b", 4), (25, "b", 8)], 40)
    if restarts:
        shard.restart()
    first = [("+U", "LATE", 1, False, "a", 0, 3, 19), ("+U", "LATE", 1, False, "a", 10, 2, 18)]
    assert shard.fired([(15, "a", 16)], 40) == first
    assert shard.corrected == {0: 1, 1: 1}
    if restarts:
        shard.restart()
    again = [("+U", "LATE", 2, False, "a", 0, 4, 51), ("+U", "LATE", 1, False, "b", 0, 2, 68)]
    assert shard.fired([(3, "a", 32), (4, "b", 64)], 40)[2:] == again
    assert shard.corrected == {-1: 2, 0: 2, 1: 1}


def test_a_pane_that_is_corrected_again_is_noted_once() -> None:
    shard = Patient()
    shard.fired([(3, "a", 1)], 20)
    for time, index in ((4, 1), (5, 2), (6, 3)):
        assert shard.fired([(time, "a", 1)], 20) == [("+U", "LATE", index, False, "a", 0, index + 1, index + 1)]
    assert shard.corrected == {0: 1}


def test_a_late_record_leaves_alone_the_windows_that_have_expired() -> None:
    """At 115 the window -1 has expired, which ended at 10; window 0, which ended at 20, can still be corrected."""
    shard = Patient(HOPPING)
    shard.fired([(3, "a", 1)], 115)
    assert shard.fired([(4, "a", 2)], 115) == [("+U", "LATE", 1, False, "a", 0, 2, 3)]


def test_a_key_that_comes_late_to_its_window_is_new_there() -> None:
    shard = Patient()
    shard.fired([(3, "a", 1)], 20)
    assert shard.fired([(4, "b", 2)], 20) == [("+I", "LATE", 0, False, "b", 0, 1, 2)]
    assert shard.fired([(5, "b", 4)], 20) == [("+U", "LATE", 1, False, "b", 0, 2, 6)]
    assert shard.fired([(15, None, 8)], 20) == [("+I", "LATE", 0, False, None, 10, 1, 8)]


def test_corrections_stand_before_the_windows_that_close_in_the_same_step() -> None:
    shard = Patient()
    shard.fired([(3, "b", 1)], 10)
    assert shard.fired([(25, "a", 2), (4, "b", 4), (12, "c", 8), (5, "a", 16)], 30) == [
        *[("+I", "LATE", 0, False, "a", 0, 1, 16), ("+U", "LATE", 1, False, "b", 0, 2, 5)],
        *[("+I", "ON_TIME", 0, False, "c", 10, 1, 8), ("+I", "ON_TIME", 0, False, "a", 20, 1, 2)],
    ]


def test_the_last_correction_says_that_it_is_the_last() -> None:
    """At 110 window 0 expires: what corrects it in that step is its last word, and what comes after is dead."""
    shard = Patient()
    shard.fired([(3, "a", 1)], 109)
    assert shard.fired([(4, "a", 2)], 110) == [("+U", "LATE", 1, True, "a", 0, 2, 3)]
    assert shard.fired([(5, "a", 4)], 110) == []
    assert shard.operator.accounting.dead_letters == 1


def test_a_window_that_closes_and_expires_at_once_fires_once() -> None:
    shard = Patient()
    assert shard.fired([(3, "a", 1)], 500) == [("+I", "ON_TIME", 0, True, "a", 0, 1, 1)]
    assert shard.kept == []


def test_only_the_slices_of_corrected_windows_are_read() -> None:
    """A late record of 15 corrects the windows 0 and 1, made of the slices 0, 1 and 2 of the eight that are kept."""
    shard = Patient(HOPPING)
    shard.fired([(time, "a", 1) for time in range(3, 80, 10)], 90)
    shard.fired([(15, "a", 1)], 90)
    assert sorted(shard.store.read) == [0, 1, 2]


def test_aggregates_that_need_the_messages_are_computed_from_them_again() -> None:
    shard = Patient(HOPPING, aggregates=(("n", fl.count()), ("total", fl.sum("v")), ("all", fl.list("v"))))
    shard.rows([(3, "a", 1), (12, "a", 2)], 30)
    assert shard.rows([(14, "a", 4)], 30)["all"].to_pylist() == [[1, 2, 4], [2, 4]]


# ── who is kept otherwise ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "fields",
    [
        {"trigger": AtWatermark(early=fl.after(1))},
        {"trigger": AtWatermark(late=fl.after(2))},
        {"trigger": AtWatermark(late=None)},
        {"accumulation": fl.Accumulation.RETRACTING},
        {"accumulation": fl.Accumulation.DISCARDING},
        {"updated_only": True},
        {"watermark": fl.stream_time()},
        {"watermark": fl.stream_time(every="1 s"), "trigger": fl.at_expiry()},
        {"watermark": fl.several({"x": fl.stream_time(), "y": fl.Explicit()})},
        {"semantics": fl.Semantics(closing=fl.Closing.ALWAYS)},
        {"semantics": fl.Semantics(holds=True), "firing_time": fl.FiringTime.LATEST},
    ],
    ids=str,
)
def test_a_pane_that_slices_do_not_tell_all_of_has_a_state_of_its_own(fields: dict[str, Any]) -> None:
    class Kept(Patient):
        panes = MultiFiringPanes

    Kept(HOPPING, **fields)


def test_windows_that_overlap_without_measure_are_refused_with_the_number() -> None:
    def spec(every: str, **fields: Any) -> WindowSpec:
        return WindowSpec("ts", fl.hopping("1 hour", every=every), (("n", fl.count()),), **fields)

    early = {"trigger": AtWatermark(early=fl.after(1))}
    assert spec("1 ms")
    assert spec("1 s", **early)
    with pytest.raises(fl.SpecError, match=f"in 3,600,000,000 windows that overlap, and the most is {MOST_WINDOWS:,}"):
        spec("1 us")
    with pytest.raises(fl.SpecError, match=f"in 3,600,000 windows .* {MOST_PANES:,}.* fire at the watermark only"):
        spec("1 ms", **early)
    with pytest.raises(fl.SpecError, match="in 3,600,000,000 windows"):
        WindowSpec("ts", fl.cumulating("1 hour", step="1 us"), (("n", fl.count()),))


@pytest.mark.parametrize("lateness", [0, 100])
def test_the_work_for_one_record_grows_with_what_leaves_and_no_faster(lateness: int) -> None:
    """A record in 40,000 windows: they leave as 40,000 rows, merged in one go."""
    kind = Patient if lateness else Shard
    shard = kind(fl.hopping(Duration(400_000), every=Duration(10)), lateness=Duration(lateness))
    assert said(shard.rows([(399_995, "a", 7)], 10**7)) == [("a", start, 1, 7) for start in range(0, 400_000, 10)]
    assert len(shard.store.read) <= 2
