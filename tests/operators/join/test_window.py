"""What a join by window keeps: each row once, however many windows it is in, until the last of them is complete."""

from __future__ import annotations

import pytest
from tests.properties.join_runs import SPACES, JoinRun

import fanlight as fl
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.window import MODES, SameWindow, WindowJoinSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.sides import JoinStep

from .test_operator import step

MANY, SIZE = 150, 20
every_join = [(how, emits) for how in JoinType for emits in MODES]


def spec_of(how: JoinType, emits: EmissionMode) -> WindowJoinSpec:
    """Every record is in ten windows."""
    followed = BoundedDisorder(Duration(5))
    return WindowJoinSpec(
        Side("o", "ts", TimeUnit.MICROSECONDS, ("k",)),
        Side("p", "ts", TimeUnit.MICROSECONDS, ("k",)),
        SameWindow(fl.hopping(Duration(SIZE), Duration(2))),
        how,
        emits,
        watermark=Several((("p", followed), ("o", followed))),
    )


@pytest.mark.parametrize(("how", "emits"), every_join, ids=[f"{how.value}-{emits.value}" for how, emits in every_join])
def test_what_is_kept_grows_neither_with_the_stream_nor_with_the_windows_of_a_row(
    how: JoinType, emits: EmissionMode
) -> None:
    """A side keeps the rows of a window and of the delay, a few times over in chunks that go as a whole."""
    run, most, chunks = JoinRun(spec_of(how, emits)), 0, 0
    for second in range(MANY):
        run.step(step(second))
        most = max(most, run.held)
        chunks = max(chunks, sum(len(run.store.list(space)) for space in SPACES))
    assert most < 8 * (SIZE + 5)
    assert chunks < 40
    run.step(JoinStep(end=True))
    assert run.held == 0
