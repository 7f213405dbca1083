"""What the drawn pipelines promise, checked on the oracle: the laws any engine must keep."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.window_aggregate import Oracle, run
from fanlight.testing.script import Key, Record, Step, same
from fanlight.testing.strategies.kinds import KINDS, Kind
from fanlight.testing.strategies.scripts import cut, rearranged, records, recut

pytestmark = pytest.mark.slow

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
order_free = {name: kind for name, kind in KINDS.items() if kind.order_free}
cut_free = {name: kind for name, kind in KINDS.items() if kind.cut_free and not kind.order_free}


@every_kind
@few
@given(data=st.data())
def test_every_step_adds_up_and_nothing_remains(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    oracle = Oracle(spec)
    outcomes = [oracle.step(step) for step in steps]
    assert all(outcome.counts.adds_up for outcome in outcomes)
    assert oracle.panes == {}


@every_kind
@few
@given(data=st.data())
def test_numbers_count_the_firings_that_left(kind: Kind, data: st.DataObject) -> None:
    """Within a pane: one that was taken back, or has fired for the last time, may come again and starts anew.

    The latter is rare: a late record is accepted with a session that has not expired, and a limit cuts it off again.
    """
    spec, steps = data.draw(kind.pipelines(accumulation=Accumulation.RETRACTING))
    seen: Counter[tuple[Key, Window]] = Counter()
    revisions: Counter[tuple[Key, Window]] = Counter()
    for firing in run(spec, steps).firings:
        pane = (firing.key, firing.window)
        early = firing.timing is Timing.EARLY
        assert (firing.number, firing.revision) == (seen[pane], -1 if early else revisions[pane])
        if firing.op is Op.DELETE:
            assert firing.number > 0
            del seen[pane], revisions[pane]
        elif firing.op is not Op.RETRACT:
            seen[pane] += 1
            revisions[pane] += not early
            if firing.is_last:
                del seen[pane], revisions[pane]


@every_kind
@few
@given(data=st.data())
def test_a_retraction_takes_back_the_row_before_it(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines(accumulation=Accumulation.RETRACTING))
    stands: dict[tuple[Key, Window], dict[str, object]] = {}
    for outcome in run(spec, steps).outcomes:
        ops = [firing.op for firing in outcome.firings]
        assert Op.DELETE not in ops[ops.count(Op.DELETE) :], "what is taken back for good stands first"
        for firing in outcome.firings:
            pane = (firing.key, firing.window)
            if firing.op in (Op.RETRACT, Op.DELETE):
                assert same(stands.pop(pane), firing.values)
            else:
                assert pane not in stands
                stands[pane] = firing.values


@pytest.mark.parametrize("kind", order_free.values(), ids=order_free)
@few
@given(data=st.data())
def test_the_last_firings_do_not_depend_on_arrival_or_bundles(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.calm_pipelines())
    assert_same_end(spec, steps, data.draw(rearranged(steps)))


@pytest.mark.parametrize("kind", cut_free.values(), ids=cut_free)
@few
@given(data=st.data())
def test_the_last_firings_do_not_depend_on_bundles(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.calm_pipelines())
    assert_same_end(spec, steps, data.draw(recut(steps)))


def assert_same_end(spec: WindowSpec, steps: list[Step], again: list[Step]) -> None:
    one, other = run(spec, steps), run(spec, again)
    for transcript in (one, other):
        assert {reason for reason, _ in transcript.dead_letters} <= {Reason.NO_WINDOW}
    assert dict.fromkeys(one.last_firings()) == dict.fromkeys(other.last_firings())
    assert all(same(firing.values, other.last_firings()[pane].values) for pane, firing in one.last_firings().items())


@few
@given(st.data(), records(most=12))
def test_a_cut_keeps_the_order_and_leaves_no_bundle_empty(data: st.DataObject, stream: tuple[Record, ...]) -> None:
    bundles = data.draw(cut(stream))
    assert all(bundles)
    assert [record for bundle in bundles for record in bundle] == list(stream)
