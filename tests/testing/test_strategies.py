"""What the drawn pipelines promise, checked on the oracle: the laws any engine must keep."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.model.windows import Window
from fanlight.testing import strategies
from fanlight.testing.oracle import Oracle, run
from fanlight.testing.script import Key, Record, same
from fanlight.testing.strategies import Pipeline

pytestmark = pytest.mark.slow

few = settings(max_examples=60, deadline=None)


@few
@given(strategies.pipelines())
def test_every_step_adds_up_and_nothing_remains(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    oracle = Oracle(spec)
    outcomes = [oracle.step(step) for step in steps]
    assert all(outcome.counts.adds_up for outcome in outcomes)
    assert oracle.panes == {}


@few
@given(strategies.pipelines())
def test_numbers_count_the_firings_that_left(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    seen: Counter[tuple[Key, Window]] = Counter()
    revisions: Counter[tuple[Key, Window]] = Counter()
    for firing in run(spec, steps).firings:
        pane = (firing.key, firing.window)
        early = firing.timing is Timing.EARLY
        assert (firing.index, firing.revision) == (seen[pane], -1 if early else revisions[pane])
        if firing.op is not Op.RETRACT:
            seen[pane] += 1
            revisions[pane] += not early


@few
@given(strategies.pipelines(accumulation=Accumulation.RETRACTING))
def test_a_retraction_takes_back_the_row_before_it(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    stands: dict[tuple[Key, Window], dict[str, object]] = {}
    for firing in run(spec, steps).firings:
        pane = (firing.key, firing.window)
        if firing.op is Op.RETRACT:
            assert same(stands.pop(pane), firing.values)
        else:
            assert pane not in stands
            stands[pane] = firing.values


@few
@given(st.data())
def test_the_last_firings_do_not_depend_on_arrival_or_bundles(data: st.DataObject) -> None:
    spec, steps = data.draw(strategies.calm_pipelines())
    one, other = run(spec, steps), run(spec, data.draw(strategies.rearranged(steps)))
    assert (one.dead_letters, other.dead_letters) == ([], [])
    assert dict.fromkeys(one.last_firings()) == dict.fromkeys(other.last_firings())
    assert all(same(firing.values, other.last_firings()[pane].values) for pane, firing in one.last_firings().items())


@few
@given(st.data(), strategies.records(most=12))
def test_a_cut_keeps_the_order_and_leaves_no_bundle_empty(data: st.DataObject, stream: tuple[Record, ...]) -> None:
    bundles = data.draw(strategies.cut(stream))
    assert all(bundles)
    assert [record for bundle in bundles for record in bundle] == list(stream)
