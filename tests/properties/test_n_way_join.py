"""N-way joins against their oracle, and against joins of two."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.join.sides import JoinStep
from fanlight.testing.strategies.n_way_joins import MODES, NWayPipeline, n_way_pipelines

from .join_runs import embedded, told
from .laws import halved
from .n_way_runs import assert_same_n_way, n_way, n_way_by_law


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 6)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    mode: EmissionMode, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(n_way_pipelines(modes=[mode]))
    assert_same_n_way(n_way(pipeline.spec, pipeline.steps, restarts), n_way_by_law(pipeline))
