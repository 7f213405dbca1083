"""The laws of docs/semantics.md as properties of every kind of window: the embedded engine against the oracle."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.aggregates import count
from fanlight.model.firing import Accumulation, Op
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import After, AtWatermark
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.window import Window
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.script import Key, Step, same
from fanlight.testing.strategies.kinds import KINDS, Kind
from fanlight.testing.strategies.scripts import rearranged, recut
from fanlight.testing.strategies.specs import durations

from .laws import SCHEMA, assert_same, assert_same_end, brief, every_kind, halved, patient

pytestmark = pytest.mark.slow

ORDER_FREE = {name: kind for name, kind in KINDS.items() if kind.order_free}
CUT_FREE = {name: kind for name, kind in KINDS.items() if kind.cut_free and not kind.order_free}


@every_kind
@patient
@given(data=st.data())
def test_the_engine_does_what_the_oracle_says(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


@pytest.mark.parametrize("kind", ORDER_FREE.values(), ids=ORDER_FREE)
@halved
@given(data=st.data())
def test_no_arrival_order_and_no_cut_changes_what_is_left_standing(kind: Kind, data: st.DataObject) -> None:
    """It is what all the records make as one bundle: the windows of a batch."""
    spec, steps = data.draw(kind.calm_pipelines())
    assert_same_end(play(spec, data.draw(rearranged(steps)), SCHEMA), oracle.run(spec, in_one_bundle(steps)))


@pytest.mark.parametrize("kind", CUT_FREE.values(), ids=CUT_FREE)
@halved
@given(data=st.data())
def test_no_cut_changes_what_is_left_standing(kind: Kind, data: st.DataObject) -> None:
    """Where the place of a record is its time, order matters and bundles do not."""
    spec, steps = data.draw(kind.calm_pipelines())
    assert_same_end(play(spec, data.draw(recut(steps)), SCHEMA), oracle.run(spec, in_one_bundle(steps)))


def in_one_bundle(steps: list[Step]) -> list[Step]:
    return [Step(records=tuple(record for step in steps for record in step.records)), Step(end=True)]


@every_kind
@brief
@given(data=st.data())
def test_retractions_net_out_to_the_last_firing(kind: Kind, data: st.DataObject) -> None:
    """Each row is an insertion or takes one back; what is left of a pane is exactly its last firing, or nothing."""
    spec, steps = data.draw(kind.pipelines(accumulation=Accumulation.RETRACTING))
    transcript = play(spec, steps, SCHEMA)
    standing: defaultdict[tuple[Key, Window], list[dict[str, Any]]] = defaultdict(list)
    for firing in transcript.firings:
        rows = standing[firing.key, firing.window]
        if firing.op in (Op.RETRACT, Op.DELETE):
            assert rows, "a row is taken back that never left"
            assert same(rows.pop(), firing.values)
        else:
            rows.append(firing.values)
    last = transcript.last_firings()
    assert {pane for pane, rows in standing.items() if rows} == last.keys()
    for pane, firing in last.items():
        assert len(standing[pane]) == 1
        assert same(standing[pane][0], firing.values)


def test_at_the_end_of_time_nothing_is_due_that_waits_for_nothing() -> None:
    """A watermark at the end of time reaches every timer; a pane without one is left alone: only `a` got a record."""
    spec = WindowSpec(
        time="ts",
        window=Hopping(Duration(2), Duration(2)),
        aggregates=(("n", count()),),
        keys=("k",),
        trigger=AtWatermark(late=AtWatermark(late=After(1))),
        lateness=Duration.FOREVER,
        watermark=Explicit(),
    )
    steps = [
        Step(records=({"ts": 0, "k": "a"}, {"ts": 0, "k": "b"}), watermark=END_OF_TIME),
        Step(records=({"ts": 0, "k": "a"},)),
        Step(end=True),
    ]
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


@pytest.mark.parametrize("kind", [KINDS[name] for name in ("plain", "session", "sliding_both", "counting_by")])
@patient
@given(data=st.data())
def test_times_too_far_ahead_are_dead_letters_and_move_nothing(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines(ahead=durations(0, 12)))
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))
