"""The law of emission, line by line: which firings leave, and what they say of themselves. A column is a pane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fanlight as fl
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.semantics import Closing, OnTime
from fanlight.model.spec import WindowSpec
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.operator import Signal
from fanlight.operators.window.firing.emission_rules import Emission, decide
from fanlight.operators.window.firing.trigger import Now

from .panes import panes

NEW = {"content": [1, 1, 0], "pending": [1, 0, 0]}
"""The first pane has something new, the second only what it has fired before, the third nothing at all."""


def decided(
    *,
    ready: bool = True,
    closed: bool = False,
    closes_now: bool = False,
    expired: bool = False,
    accumulation: Accumulation = Accumulation.ACCUMULATING,
    state: dict[str, Any] | None = None,
    **semantics: Any,
) -> Emission:
    """What becomes of the three panes of NEW, or others."""
    given = NEW if state is None else state
    count = len(next(iter(given.values())))
    trigger = fl.at_watermark(early=fl.after(1))
    spec = WindowSpec(
        "ts", fl.tumbling("10 us"), (("n", fl.count()),), trigger=trigger, accumulation=accumulation,
        semantics=fl.Semantics(**semantics),
    )  # fmt: skip
    every = [np.full(count, answer) for answer in (ready, closed, closes_now, expired)]
    is_ready, is_closed, is_closing, is_expired = every
    now = Now(is_closed, is_expired, 0, 0, Signal())
    return decide(spec, panes(count, **given), is_ready, is_expired, now, is_closing)


def leaves(**moment: Any) -> list[bool]:
    return decided(**moment).leaves.tolist()


class TestReadyEarlyOrLate:
    @pytest.mark.parametrize("closed", [False, True], ids=["early", "late"])
    def test_what_is_new_leaves(self, closed: bool) -> None:
        state = {**NEW, "revision": [1, 1, 1]}  # so that it is not on time
        assert leaves(closed=closed, refires=False, state=state) == [True, False, False]

    def test_where_it_refires_what_has_content_leaves_too(self) -> None:
        assert leaves(refires=True) == [True, True, False]

    def test_discarding_only_what_is_pending_is_content(self) -> None:
        assert leaves(refires=True, accumulation=Accumulation.DISCARDING) == [True, False, False]

    @pytest.mark.parametrize(
        ("closing", "found"), [(Closing.IF_NEW, [True, False, False]), (Closing.ALWAYS, [True, True, True])]
    )
    def test_the_last_one_leaves_also_where_closing_is_always(self, closing: Closing, found: list[bool]) -> None:
        state = {**NEW, "finished": [True, True, True]}
        assert leaves(refires=False, closing=closing, state=state) == found


class TestReadyOnTime:
    @pytest.mark.parametrize(
        ("on_time", "found"),
        [
            (OnTime.ALWAYS, [True, True, True]),
            (OnTime.IF_CONTENT, [True, True, False]),
            (OnTime.IF_NEW, [True, False, False]),
        ],
    )
    def test_what_leaves_at_the_close(self, on_time: OnTime, found: list[bool]) -> None:
        assert leaves(closed=True, closes_now=True, on_time=on_time) == found


class TestNotReady:
    def test_before_it_expires_nothing_fires(self) -> None:
        found = decided(ready=False, closed=True)
        assert not found.fires.any()
        assert not found.leaves.any()

    @pytest.mark.parametrize(
        ("closing", "on_time", "found"),
        [
            (Closing.NEVER, OnTime.ALWAYS, [False, False, False]),
            (Closing.IF_NEW, OnTime.IF_NEW, [True, False, False]),
            (Closing.IF_NEW, OnTime.ALWAYS, [True, True, True]),
            (Closing.ALWAYS, OnTime.IF_NEW, [True, True, True]),
        ],
    )
    def test_what_leaves_when_the_window_expires(self, closing: Closing, on_time: OnTime, found: list[bool]) -> None:
        """It closes in the same step, so a firing would be on time: where that leaves always, so does this."""
        moment = {"ready": False, "closed": True, "closes_now": True, "expired": True}
        assert leaves(**moment, closing=closing, on_time=on_time) == found

    def test_after_its_on_time_firing_only_what_is_new_leaves(self) -> None:
        state = {**NEW, "revision": [1, 1, 1]}
        moment = {"ready": False, "closed": True, "expired": True, "state": state}
        assert leaves(**moment, closing=Closing.IF_NEW, on_time=OnTime.ALWAYS) == [True, False, False]


class TestTiming:
    """ON_TIME: closed, nothing but early firings left before, and it closes now or records from before still wait."""

    @pytest.mark.parametrize(
        ("moment", "state", "timing"),
        [
            ({}, {}, Timing.EARLY),
            ({"closed": True, "closes_now": True}, {}, Timing.ON_TIME),
            ({"closed": True}, {}, Timing.LATE),
            ({"closed": True}, {"held": [True]}, Timing.ON_TIME),
            ({"closed": True}, {"held": [True], "pending": [0]}, Timing.LATE),
            ({"closed": True, "closes_now": True}, {"revision": [1]}, Timing.LATE),
            ({"closed": True}, {"held": [True], "revision": [1]}, Timing.LATE),
        ],
        ids=[
            "open",
            "closes now",
            "closed before",
            "held",
            "held, not pending",
            "closes again",
            "was on time",
        ],
    )
    def test_when_a_firing_is_what(self, moment: dict[str, bool], state: dict[str, Any], timing: Timing) -> None:
        found = decided(**moment, state={"pending": [1], **state})
        assert found.timing.tolist() == [timing]


def test_the_last_firing_is_that_of_an_expired_window_or_a_finished_trigger() -> None:
    state = {"pending": [1, 1], "finished": [False, True]}
    assert decided(state=state).is_last.tolist() == [False, True]
    assert decided(state=state, closed=True, expired=True).is_last.tolist() == [True, True]


def tens(times: Any, _: Any) -> Any:
    starts = times // 10 * 10
    return starts, starts + 10


@pytest.mark.parametrize("trigger", [fl.at_expiry(), fl.never()])
@pytest.mark.parametrize("kind", [fl.custom(tens), fl.tumbling("10 us")], ids=["custom", "tumbling"])
def test_a_pane_that_fires_once_is_on_time_also_where_it_expires_before_it_closes(kind: Any, trigger: Any) -> None:
    """With `closes_after_end` a window [0, 10) closes at 11; without lateness it has expired at 10, and fires then."""
    operator = fl.WindowOperator(
        fl.WindowSpec(
            time="ts",
            unit=TimeUnit.MICROSECONDS,
            window=kind,
            aggregates=(("n", fl.count()),),
            trigger=trigger,
            watermark=fl.Explicit(),
            semantics=fl.Semantics(closes_after_end=True),
        )
    )
    operator.add([{"ts": 3}], watermark=10)
    (row,) = operator.take().to_pylist()
    assert (row["n"], row["pane"]["timing"], row["pane"]["revision"]) == (1, "ON_TIME", 0)
