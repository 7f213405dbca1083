"""What a join keeps: only rows that may still find a match, in few chunks, however many bundles bring them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.properties.join_runs import SPACES, JoinRun, rows_of

from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.sides import JoinStep

MANY, SOME = 400, 100
FAR = 15
"""How far rows may be apart that match, in microseconds."""

every_join = [(how, emits) for how in JoinType for emits in EmissionMode]


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


def changing(second: int) -> JoinStep:
    """One order and its payment; of every second order the payment is taken back two steps later, of every third all.

    A time may be 5 behind, so that both can still be taken back.
    """
    lefts, rights = [], []
    for number, op in ((second, "+I"), (second - 2, "-D")):
        paid_back, cancelled = number % 2 == 0, number % 3 == 0
        if op == "+I" or (number >= 0 and cancelled):
            lefts.append({"ts": number, "k": number, "s": "a", "f": None, "v": number, "op": op})
        if op == "+I" or (number >= 0 and (paid_back or cancelled)):
            rights.append({"ts": number + 1, "k": number, "s": "b", "g": None, "w": number, "op": op})
    return JoinStep(tuple(lefts), tuple(rights))


@pytest.mark.parametrize("emits", [EmissionMode.ON_CLOSE, EmissionMode.RETRACTING], ids=lambda emits: emits.value)
@pytest.mark.parametrize("how", JoinType, ids=lambda how: how.value)
def test_what_is_kept_of_changes_does_not_grow_and_the_rows_are_right(how: JoinType, emits: EmissionMode) -> None:
    """Order n is left unless n is a multiple of 3; its payment unless n is one of 2 or 3."""
    said, spec = Changes("op", consistent=True), spec_of(how, emits)
    spec = replace(spec, left=replace(spec.left, changes=said), right=replace(spec.right, changes=said))
    run, most, outcomes = JoinRun(spec), 0, []
    for second in range(SOME):
        outcomes.append(run.step(changing(second)))
        if second % 25 == 0:
            run = run.restore()
        most = max(most, run.held)
    outcomes.append(run.step(JoinStep(end=True)))
    assert most < 16 * (2 * FAR + 5)
    assert run.held == 0
    # the last two orders and payments are taken back by nobody
    ordered = {n for n in range(SOME) if n % 3 or n >= SOME - 2}
    paid = {n for n in range(SOME) if (n % 2 and n % 3) or n >= SOME - 2}
    expected = {
        JoinType.INNER: len(ordered & paid),
        JoinType.LEFT: len(ordered),
        JoinType.RIGHT: len(paid),
        JoinType.FULL: len(ordered | paid),
        JoinType.SEMI: len(ordered & paid),
        JoinType.ANTI: len(ordered - paid),
    }
    assert len(rows_of(outcomes)) == expected[how]
    assert not [letter for outcome in outcomes for letter in outcome.dead_letters]
