"""Samza's three policies, and the examples of its window operator's design (SAMZA-552), second by second."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl
from fanlight.model.triggers import InOrder, Never, Repeat, Trigger, Until

S = 1_000_000
NINE = 9 * 3600
"""Nine o'clock, in seconds."""
ORDERS = [
    # offset, value, time, and the wall clock when it comes
    (1, 0, NINE - 50, NINE),
    (2, 5, NINE + 1, NINE + 59),
    (3, 9, NINE - 30, NINE + 121),
]


def played(kind: fl.WindowKind, trigger: Trigger, *clocks: int) -> list[tuple[int, int, str]]:
    """What leaves when the orders come and the clock moves: (seconds after nine, max, timing)."""
    stream = fl.stream([], time="time", unit="s", watermark=fl.stream_time())
    windowed = stream.window(kind, lateness="0 s" if isinstance(kind, fl.Counting) else "1 hour")
    operator = windowed.trigger(trigger).agg(greatest=fl.max("value")).operator()
    came = {clock: {"time": time, "value": value} for _, value, time, clock in ORDERS}
    offsets = {clock: offset for offset, *_, clock in ORDERS}
    told: list[tuple[int, int, str]] = []
    for clock in sorted({*came, *clocks}):
        if clock in came:
            operator.add([came[clock]], offset=offsets[clock], clock=clock * S)
        else:
            operator.advance(clock=clock * S)
        told += [(clock - NINE, row["greatest"], row["pane"]["timing"]) for row in operator.take().to_pylist()]
    return told


MINUTES = [NINE + 60, NINE + 120, NINE + 180]


def test_the_tuple_window_of_the_design_is_told_early_and_when_it_is_full() -> None:
    """Windows of three messages, an update a minute: {m1, m2} has 5 at 9:01, and with m3 it has 9."""
    told = played(fl.counting(3), fl.samza_policies(early=fl.every("1 minute")), *MINUTES)
    assert told[0] == (60, 5, "EARLY")
    assert told[-1] == (121, 9, "ON_TIME")


class TestTheTimeWindowOfTheDesign:
    """Windows of a minute: m2 ends [8:59, 9:00), which has 0; m3 is late for it and makes it 9."""

    def told(self, *clocks: int, **policies: Any) -> list[tuple[int, int, str]]:
        return played(fl.tumbling("1 minute"), fl.samza_policies(**policies), *clocks)

    def test_late_messages_wait_ten_seconds_unless_said_otherwise(self) -> None:
        """m3 comes at 9:02:01."""
        assert self.told(NINE + 130) == [(59, 0, "ON_TIME")]
        assert self.told(NINE + 130, NINE + 131) == [(59, 0, "ON_TIME"), (131, 9, "LATE")]

    def test_they_leave_at_once_by_the_defaults_of_a_join(self) -> None:
        """Every message is told as it comes: m1 and m2 early, m3 late."""
        told = self.told(early=fl.repeat(fl.after(1)), late=fl.after(1))
        assert told == [(0, 0, "EARLY"), (59, 0, "ON_TIME"), (59, 5, "EARLY"), (121, 9, "LATE")]

    def test_or_by_a_count(self) -> None:
        assert self.told(*MINUTES, late=fl.after(2)) == [(59, 0, "ON_TIME")]

    def test_or_never(self) -> None:
        """Without a late policy m3 is a dead letter."""
        assert self.told(*MINUTES, late=None) == [(59, 0, "ON_TIME")]

    def test_the_current_window_is_told_early_every_minute(self) -> None:
        told = self.told(*MINUTES, NINE + 131, early=fl.every("1 minute"))
        assert [firing for firing in told if firing[2] != "EARLY"] == [(59, 0, "ON_TIME"), (131, 9, "LATE")]
        assert (60, 5, "EARLY") in told


def test_the_defaults_are_those_of_the_windowed_aggregator() -> None:
    assert fl.samza_policies() == fl.at_watermark(late=fl.after_delay("10 seconds"))


def test_early_runs_once_as_written_and_late_again_and_again() -> None:
    """One early look after two records, the close at 10, then every second late record."""
    trigger = fl.samza_policies(early=fl.after(2), late=fl.after(2))
    windowed = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("10 s"), lateness="1 min")
    operator = windowed.trigger(trigger).agg(n=fl.count()).operator()
    told = []
    for watermark in (1, 1, 1, 1, 10, 11, 12, 13, 14):
        operator.add([{"ts": 1}], watermark=watermark * S)
        told += operator.take().column("n").to_pylist()
    assert told == [2, 5, 7, 9]


@pytest.mark.parametrize(
    ("policies", "trigger"),
    [
        ({"late": None}, fl.at_watermark(late=None)),
        ({"full_size": fl.after(3), "late": None}, fl.after(3)),
        ({"full_size": fl.after(3), "late": fl.after(1)}, InOrder((fl.after(3), Repeat(fl.after(1))))),
        (
            {"early": fl.after(1), "full_size": fl.after(3), "late": None},
            Until(InOrder((fl.after(1), Never())), fl.after(3)),
        ),
    ],
)
def test_a_policy_that_is_left_out_leaves_no_trace(policies: dict[str, Any], trigger: Trigger) -> None:
    assert fl.samza_policies(**policies) == trigger


@pytest.mark.parametrize("name", ["early", "full_size", "late"])
def test_what_is_no_trigger_is_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: "10 seconds"}
    with pytest.raises(fl.SpecError, match=rf"`{name}` \('10 seconds'\) is no trigger\. Use one such as after\(100\)"):
        fl.samza_policies(**wrong)
