"""Results as a stream again: the watermark that is handed on, how late rows may be, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.continuation import Continuation
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import Closing, Semantics
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.windows.kind import WindowKind

W = 1_000
TEN = fl.tumbling("10 us")
HOUR = Duration(60)
"""A short one."""
STRICT = Semantics(closes_after_end=True, expires_after_horizon=True)
EXPIRES_LATER = Semantics(expires_after_horizon=True)


def spec(window: WindowKind = TEN, **fields: Any) -> WindowSpec:
    return WindowSpec("ts", window, (("n", fl.count()),), ("k",), **fields)


def over(retention: str | None = None) -> StreamSpec:
    """Rows with a frame that reaches 5 us ahead; with a retention they are kept up to date."""
    rows = fl.stream([], time="ts", unit="us").key_by("k").over(fl.range("9 us", following="5 us"))
    result = rows.add(n=fl.count())
    return (result if retention is None else result.retracting(retention)).spec


@pytest.mark.parametrize(
    ("stage", "less"),
    [
        pytest.param(spec(), 0, id="closes"),
        pytest.param(spec(lateness=HOUR), 0, id="corrects"),
        pytest.param(spec(trigger=fl.at_watermark(early=fl.after(1))), 0, id="fires-early"),
        pytest.param(spec(tick=Duration(1_000)), 999, id="tick"),
        pytest.param(spec(semantics=STRICT), 1, id="closes-after-end"),
        pytest.param(spec(fl.session("5 us"), semantics=Semantics.named("kafka")), 1, id="session-end-inclusive"),
        pytest.param(spec(trigger=fl.at_expiry(), lateness=HOUR), 60, id="at-expiry"),
        pytest.param(spec(trigger=fl.never(), lateness=HOUR), 60, id="never"),
        pytest.param(spec(trigger=fl.at_expiry(), lateness=HOUR, semantics=EXPIRES_LATER), 61, id="expires-after"),
        pytest.param(
            spec(trigger=fl.at_expiry(), lateness=HOUR, semantics=Semantics(closing=Closing.ALWAYS)), 60, id="always"
        ),
        pytest.param(spec(firing_time=FiringTime.EARLIEST), 10, id="earliest"),
        pytest.param(spec(fl.hopping("8 us", every="2 us"), firing_time=FiringTime.LATEST), 8, id="latest"),
        pytest.param(spec(fl.sliding("7 us"), firing_time=FiringTime.LATEST, tick=Duration(3)), 10, id="sliding"),
        pytest.param(SortSpec("ts"), 0, id="sort"),
        pytest.param(over(), 5, id="over"),
        pytest.param(over("60 us"), 0, id="over-kept-up-to-date"),
    ],
)
def test_the_watermark_handed_on(stage: StreamSpec, less: int) -> None:
    assert stage.hands_on(W) == W - less
    assert stage.hands_on(START_OF_TIME) == START_OF_TIME
    assert stage.hands_on(END_OF_TIME) == END_OF_TIME


def test_windows_that_never_expire_hand_on_nothing_if_they_fire_then() -> None:
    """At the end of time they are closed and have not fired: whatever is handed on would make them late."""
    forever = spec(trigger=fl.at_expiry(), lateness=Duration.FOREVER)
    assert forever.hands_on(W) == forever.hands_on(END_OF_TIME) == START_OF_TIME
    assert spec(lateness=Duration.FOREVER).hands_on(END_OF_TIME) == END_OF_TIME


def test_no_watermark_is_before_the_start_of_time() -> None:
    assert spec(trigger=fl.at_expiry(), lateness=HOUR).hands_on(START_OF_TIME + 1) == START_OF_TIME


@pytest.mark.parametrize(
    ("stage", "lateness"),
    [
        pytest.param(spec(), Duration(0), id="fires-once"),
        pytest.param(spec(trigger=fl.at_expiry(), lateness=HOUR), Duration(0), id="when-final"),
        pytest.param(spec(lateness=HOUR), HOUR, id="corrects"),
        pytest.param(spec(lateness=Duration.FOREVER), Duration.FOREVER, id="forever"),
        pytest.param(spec(lateness=HOUR, semantics=STRICT), HOUR, id="strictly"),
        pytest.param(spec(lateness=HOUR, semantics=EXPIRES_LATER), Duration(61), id="one-instant-more"),
    ],
)
def test_the_next_stage_is_late_by_what_this_one_corrects(stage: WindowSpec, lateness: Duration) -> None:
    assert stage.continuation.lateness == lateness


def test_firings_that_replace_others_are_changes_of_their_pane() -> None:
    for accumulation in (Accumulation.ACCUMULATING, Accumulation.RETRACTING):
        changes = spec(lateness=HOUR, accumulation=accumulation).continuation.changes
        assert changes is not None
        assert (changes.op, changes.unique) == ("op", ("k", "window_start", "window_end"))
    assert spec(lateness=HOUR, accumulation=Accumulation.DISCARDING).continuation.changes is None
    assert spec().continuation.changes is None


def test_what_the_next_stage_reads() -> None:
    assert spec(tick=Duration(3)).continuation == Continuation("window_time", None, tick=Duration(3))
    assert SortSpec("at", unit=TimeUnit.SECONDS).continuation == Continuation("at", TimeUnit.SECONDS)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        pytest.param(spec(fl.counting(3)), r"positions and no times.*rewindow\(\)", id="positions"),
        pytest.param(spec(fl.global_window()), r"never ends.*windows that end", id="global"),
        pytest.param(
            spec(fl.session("5 us"), firing_time=FiringTime.LATEST), r"latest record.*stamped\('end'\)", id="no-length"
        ),
        pytest.param(
            spec(fl.session("5 us"), lateness=HOUR), r"more than once.*retracting\(\), or fire once", id="come-and-go"
        ),
    ],
)
def test_results_without_a_time_cannot_be_followed(stage: WindowSpec, told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        _ = stage.continuation


@pytest.mark.parametrize("name", ["window_start", "window_end", "window_time"])
def test_a_column_called_like_those_that_firings_get_is_refused(name: str) -> None:
    with pytest.raises(fl.SpecError, match=rf"'{name}'.*Rename it"):
        _ = WindowSpec("ts", TEN, ((name, fl.count()),)).continuation
    with pytest.raises(fl.SpecError, match=rf"'{name}'.*Rename it"):
        _ = WindowSpec("ts", TEN, (("n", fl.count()),), (name,)).continuation


def test_op_is_refused_only_where_firings_get_one() -> None:
    assert WindowSpec("ts", TEN, (("op", fl.count()),)).continuation.time == "window_time"
    with pytest.raises(fl.SpecError, match=r"'op'.*Rename it"):
        _ = WindowSpec("ts", TEN, (("op", fl.count()),), lateness=HOUR).continuation


def test_a_correction_of_over_is_behind_by_the_retention_and_what_its_frame_reaches_ahead() -> None:
    found = over("60 us").continuation
    assert found.lateness == Duration(65)
    assert found.changes == Changes("op", consistent=True)
    assert over("forever").continuation.lateness.is_forever
    assert over().continuation == Continuation("ts", TimeUnit.MICROSECONDS)
