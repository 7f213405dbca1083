"""`over` inside windows against its oracle: the same rows in the same order, whatever the kind of the windows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.testing.graph_player import play_chain
from fanlight.testing.oracle import windowed_over  # noqa: F401 -- registers its stage
from fanlight.testing.oracle.graph import run_graph
from fanlight.testing.strategies.kinds import KINDS
from fanlight.testing.strategies.windowed_overs import windowed_over_pipelines

from .laws import SCHEMA, brief
from .test_graphs import assert_same

pytestmark = pytest.mark.slow

WITH_ROW = SCHEMA.append(pa.field("row", pa.struct(list(SCHEMA))))


@pytest.mark.parametrize("kind", KINDS)
@brief
@given(st.data())
def test_the_engine_does_what_the_oracle_says_with_restarts_in_between(kind: str, data: st.DataObject) -> None:
    specs, steps = data.draw(windowed_over_pipelines(KINDS[kind]))
    restarts = data.draw(st.sets(st.integers(0, 8)))
    ours = play_chain(specs, steps, WITH_ROW, restore_before=restarts)
    assert_same(specs, ours, run_graph(specs, steps))
