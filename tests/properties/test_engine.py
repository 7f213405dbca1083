"""The laws of docs/semantics.md as properties: the embedded engine against the oracle, and against itself."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanlight.model.aggregates import count
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, Op
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME
from fanlight.model.triggers import After, AtWatermark
from fanlight.model.watermarks import Explicit
from fanlight.model.windows import Hopping
from fanlight.testing import oracle
from fanlight.testing.player import Player, play
from fanlight.testing.script import Step, same
from fanlight.testing.strategies import Pipeline, calm_pipelines, pipelines, rearranged

from .laws import ROUNDING, SCHEMA, assert_same

pytestmark = pytest.mark.slow

patient = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""A pipeline is a large thing to draw; that is no fault of a test."""


@patient
@given(pipelines())
def test_the_engine_does_what_the_oracle_says(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


@patient
@given(calm_pipelines(), st.data())
def test_no_arrival_order_and_no_cut_changes_a_last_firing(pipeline: Pipeline, data: st.DataObject) -> None:
    spec, steps = pipeline
    again = data.draw(rearranged(steps))
    ours = {pane: firing.values for pane, firing in play(spec, again, SCHEMA).last_firings().items()}
    law = {pane: firing.values for pane, firing in oracle.run(spec, steps).last_firings().items()}
    assert ours.keys() == law.keys()
    for pane, values in law.items():
        assert same(ours[pane], values, tolerance=ROUNDING), pane


@patient
@given(pipelines(accumulation=Accumulation.RETRACTING))
def test_retractions_net_out_to_the_last_firing(pipeline: Pipeline) -> None:
    """Each row is an insertion or takes one back; what is left of a pane is exactly its last firing."""
    spec, steps = pipeline
    transcript = play(spec, steps, SCHEMA)
    standing = defaultdict(list)
    for firing in transcript.firings:
        rows = standing[firing.key, firing.window]
        if firing.op is Op.RETRACT:
            assert rows, "a row is taken back that never left"
            assert same(rows.pop(), firing.values)
        else:
            rows.append(firing.values)
    for pane, firing in transcript.last_firings().items():
        assert len(standing[pane]) == 1
        assert same(standing[pane][0], firing.values)


@patient
@given(pipelines(), st.data())
def test_writing_everything_down_and_reading_it_back_changes_nothing(pipeline: Pipeline, data: st.DataObject) -> None:
    spec, steps = pipeline
    places = data.draw(st.sets(st.integers(0, len(steps) - 1)))
    assert_same(play(spec, steps, SCHEMA, restore_before=places), play(spec, steps, SCHEMA))


@patient
@given(pipelines())
def test_nothing_remains_after_the_end(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    player = Player(spec, SCHEMA)
    for step in steps:
        player.step(step)
    store = player.operator._store
    assert {space: store.list(space) for space in ("partials", "records", "panes", "retained")} == {
        "partials": [],
        "records": [],
        "panes": [],
        "retained": [],
    }
    assert player.operator.windows().num_rows == 0
    assert getattr(player.operator._shard._panes, "_timers", {}) == {}


@patient
@given(pipelines())
def test_every_record_is_accounted_for_after_every_step(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    player = Player(spec, SCHEMA)
    for step in steps:
        outcome = player.step(step)
        assert outcome.counts.adds_up
        assert outcome.counts.records_in == len(step.records)
        assert player.operator.accounting.adds_up


@patient
@given(pipelines())
def test_the_same_log_gives_the_same_bytes(pipeline: Pipeline) -> None:
    spec, steps = pipeline
    players = [Player(spec, SCHEMA) for _ in range(2)]
    for step in steps:
        first, second = (player.step(step) for player in players)
        assert same([f.values for f in first.firings], [f.values for f in second.firings])
        assert players[0].operator.snapshot() == players[1].operator.snapshot()


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
