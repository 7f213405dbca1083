"""What a join keeps: only rows that may still find a match, in few chunks, however many bundles bring them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.properties.join_runs import SPACES, JoinRun

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import MODES, Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join import JoinStep

MANY = 400
FAR = 15
"""How far rows may be apart that match, in microseconds."""

every_join = [(how, emits) for how in JoinType for emits in MODES]


def spec_of(how: JoinType, emits: EmissionMode) -> IntervalJoinSpec:
    stamp: Any = {JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left")
    followed = BoundedDisorder(Duration(5))
    return IntervalJoinSpec(
        Side("o", "ts", TimeUnit.MICROSECONDS, ("k",)),
        Side("p", "ts", TimeUnit.MICROSECONDS, ("k",)),
        Interval(Duration(-FAR), Duration(FAR)),
        how,
        emits,
        stamp=stamp,
        watermark=Several((("p", followed), ("o", followed))),
    )


def step(second: int) -> JoinStep:
    """One order, and a payment of it unless its number is a multiple of three."""
    left = {"ts": second, "k": second, "s": "a", "f": None, "v": second}
    right = {"ts": second + 1, "k": second if second % 3 else -second - 1, "s": "b", "g": None, "w": second}
    return JoinStep((left,), (right,))


@pytest.mark.parametrize(("how", "emits"), every_join, ids=[f"{how.value}-{emits.value}" for how, emits in every_join])
def test_what_is_kept_does_not_grow_with_the_stream(how: JoinType, emits: EmissionMode) -> None:
    """A side keeps the rows of the interval and of the delay, a few times over in chunks that go as a whole."""
    run, most, chunks = JoinRun(spec_of(how, emits)), 0, 0
    for second in range(MANY):
        run.step(step(second))
        most = max(most, run.held)
        chunks = max(chunks, sum(len(run.store.list(space)) for space in SPACES))
    assert most < 8 * (2 * FAR + 5)
    assert chunks < 40
    run.step(JoinStep(end=True))
    assert run.held == 0


def test_a_join_goes_on_from_what_was_stored() -> None:
    spec = spec_of(JoinType.FULL, EmissionMode.EAGER)
    whole, cut = JoinRun(spec), JoinRun(spec)
    for second in range(60):
        if second % 7 == 0:
            cut = cut.restore()
        assert cut.step(step(second)) == whole.step(step(second))
    assert cut.step(JoinStep(end=True)) == whole.step(JoinStep(end=True))
