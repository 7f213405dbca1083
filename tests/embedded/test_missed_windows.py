"""The windows that records missed, counted beside the balance: expired when the record came, or their pane finished."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fanlight as fl
from fanlight.operators.accounting import Accounting

S = 1_000_000

HOPPING = fl.hopping("30 s", every="10 s")
"""A record at 25 s is in the windows that end at 30, 40 and 50 s."""


def operator(kind: Any, *, lateness: str = "0 s", trigger: Any = None, rules: Any = "fanlight") -> fl.WindowOperator:
    """An operator that is told its watermark."""
    stream = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")
    windowed = stream.window(kind, lateness=lateness).semantics(rules)
    if trigger is not None:
        windowed = windowed.trigger(trigger)
    return windowed.agg(n=fl.count()).operator()


def put(running: fl.WindowOperator, *times: int | None, key: str = "a", **columns: int) -> Accounting:
    """What one bundle of records at these times adds to the books, which balance."""
    before = running.accounting.as_dict()
    running.add([{"ts": time, "k": key, **columns} for time in times])
    after = running.accounting
    assert after.adds_up
    return Accounting(**{name: count - before[name] for name, count in after.as_dict().items()})


@pytest.mark.parametrize("trigger", [None, fl.repeat(fl.after(1))], ids=["fires once", "fires often"])
def test_a_record_misses_those_of_its_windows_that_have_expired(trigger: Any) -> None:
    running = operator(HOPPING, trigger=trigger)
    assert put(running, 1, 25, 35) == Accounting(3, 3)
    running.advance(watermark=35 * S)  # the windows that end at 10, 20 and 30 s have expired
    assert put(running, 34) == Accounting(1, 1), "behind the watermark, and in time for all its windows"
    assert put(running, 25, 25) == Accounting(2, 2, missed_windows=2), "accepted for two of three windows, each"
    assert put(running, 5) == Accounting(1, 0, 0, 1, missed_windows=3), "a dead letter misses all three"
    running.end()
    assert put(running, 99) == Accounting(1, 0, 0, 1, missed_windows=3)


def test_lateness_lets_fewer_be_missed() -> None:
    running = operator(HOPPING, lateness="10 s")
    put(running, 1)
    running.advance(watermark=35 * S)  # end + lateness: only those that end at 10 and 20 s have expired
    assert put(running, 25) == Accounting(1, 1)
    assert put(running, 15) == Accounting(1, 1, missed_windows=1)


def test_a_pane_that_has_finished_is_missed_too() -> None:
    """Each pane fires with its first record, and finishes. One key's panes say nothing about another's."""
    running = operator(HOPPING, trigger=fl.after(1))
    assert put(running, 25, 25) == Accounting(2, 2), "finished is what held before the step"
    assert put(running, 35, 35) == Accounting(2, 2, missed_windows=4), "two of the three panes of each have finished"
    assert put(running, 25) == Accounting(1, 0, 0, 1, missed_windows=3)
    assert put(running, 25, key="b") == Accounting(1, 1)
    running.advance(watermark=30 * S)
    assert put(running, 25) == Accounting(1, 0, 0, 1, missed_windows=3), "one has expired, two have finished"


def test_what_no_window_covers_misses_none() -> None:
    running = operator(fl.tumbling("10 s"))
    put(running, 1)
    running.advance(watermark=35 * S)
    assert put(running, None) == Accounting(1, 0, 0, 1)
    running = operator(HOPPING, rules=fl.Semantics(earliest_start=20 * S))
    put(running, 61)
    running.advance(watermark=55 * S)
    assert put(running, 5) == Accounting(1, 0, 0, 1), "no window starts so early"
    assert put(running, 25) == Accounting(1, 0, 0, 1, missed_windows=1), "only the one that starts at 20 s is there"


def test_a_record_of_a_session_has_one_window() -> None:
    running = operator(fl.session("10 s"))
    put(running, 1)
    running.advance(watermark=35 * S)
    assert put(running, 5, 6) == Accounting(2, 0, 0, 2, missed_windows=2)
    running = operator(fl.session("10 s"), trigger=fl.after(1))
    put(running, 1)
    assert put(running, 5) == Accounting(1, 0, 0, 1, missed_windows=1), "the session it meets has finished"


@pytest.mark.parametrize("trigger", [None, fl.repeat(fl.after(1))], ids=["fires once", "fires often"])
def test_of_sliding_windows_a_record_misses_its_own(trigger: Any) -> None:
    """Trailing, 10 s: the record at 22 s is in time for the window of the one at 30 s, and too late for its own."""
    running = operator(fl.sliding("10 s"), trigger=trigger)
    put(running, 30)
    running.advance(watermark=25 * S)
    assert put(running, 22) == Accounting(1, 1, missed_windows=1)
    assert put(running, 26) == Accounting(1, 1)
    assert put(running, 5) == Accounting(1, 0, 0, 1, missed_windows=1)


def test_a_sliding_window_that_has_finished_is_missed() -> None:
    """At 30 s the pane finishes with its first record. One more at 30 s finds it so, and one at 31 s has its own."""
    running = operator(fl.sliding("10 s"), trigger=fl.after(1))
    put(running, 30)
    assert put(running, 30, 31) == Accounting(2, 2, missed_windows=1), "in the window of the other, not in its own"
    assert put(running, 30) == Accounting(1, 0, 0, 1, missed_windows=1)


def test_windows_over_positions_and_those_of_a_function() -> None:
    running = operator(fl.counting(4, every=2, by="n"))
    assert put(running, 0, n=9) == Accounting(1, 1)
    assert put(running, 0, n=8) == Accounting(1, 1, missed_windows=1), "one of its two windows ends before 10"
    assert put(running, 0, n=3) == Accounting(1, 0, 0, 1, missed_windows=2)

    def both(times: Any, _: Any) -> Any:
        """The ten seconds around a record, and the minute."""
        sizes = np.repeat([10 * S, 60 * S], len(times))
        starts = np.tile(times, 2) // sizes * sizes
        return np.tile(np.arange(len(times)), 2), starts, starts + sizes

    running = operator(fl.custom(both))
    put(running, 1)
    running.advance(watermark=35 * S)
    assert put(running, 25) == Accounting(1, 1, missed_windows=1)
