"""What an engine keeps, for every kind of window: it survives being written down, adds up, and is gone at the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.testing.player import Player, play
from fanlight.testing.script import same
from fanlight.testing.strategies.kinds import Kind

from .laws import SCHEMA, assert_same, brief, every_kind

pytestmark = pytest.mark.slow


@every_kind
@brief
@given(data=st.data())
def test_writing_everything_down_and_reading_it_back_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    places = data.draw(st.sets(st.integers(0, len(steps) - 1)))
    assert_same(play(spec, steps, SCHEMA, restore_before=places), play(spec, steps, SCHEMA))


@every_kind
@brief
@given(data=st.data())
def test_nothing_remains_after_the_end(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    player = Player(spec, SCHEMA)
    for step in steps:
        player.step(step)
    assert set(player.store.spaces) <= {"index"}
    assert player.operator.windows().num_rows == 0
    player.operator.advance(clock=2**60)  # a timer that is left over would look for its pane
    assert player.operator.take().num_rows == 0


@every_kind
@brief
@given(data=st.data())
def test_every_record_is_accounted_for_after_every_step(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    player = Player(spec, SCHEMA)
    for step in steps:
        outcome = player.step(step)
        assert outcome.counts.adds_up
        assert outcome.counts.records_in == len(step.records)
        assert player.operator.accounting.adds_up


@every_kind
@brief
@given(data=st.data())
def test_the_same_log_gives_the_same_bytes(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    players = [Player(spec, SCHEMA) for _ in range(2)]
    for step in steps:
        first, second = (player.step(step) for player in players)
        assert same([f.values for f in first.firings], [f.values for f in second.firings])
        assert players[0].operator.snapshot() == players[1].operator.snapshot()
