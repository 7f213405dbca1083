"""Cogroup against its oracle: panes say nothing until the inputs they need are there, for every kind of window."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.cogroup import CogroupSpec
from fanlight.model.spec import WindowSpec
from fanlight.testing.oracle import cogroup
from fanlight.testing.player import play
from fanlight.testing.script import Record, Step
from fanlight.testing.strategies.kinds import Kind

from .laws import SCHEMA, assert_same, brief, every_kind

COLUMNS = pa.schema([*SCHEMA, ("here.x", pa.bool_()), ("here.y", pa.bool_())])
NEEDS: tuple[tuple[str, ...], ...] = (("x",), ("y",), ("x", "y"))

pytestmark = pytest.mark.slow


def of_inputs(record: Record) -> Record:
    """A record is of `x` or of `y`, or of neither: then it is of an input that no window needs."""
    value: Any = record["v"]
    whose = None if value is None else value % 3
    return {**record, "here.x": True if whose == 0 else None, "here.y": True if whose == 1 else None}


def cogrouped(spec: WindowSpec, needs: tuple[str, ...]) -> CogroupSpec:
    return CogroupSpec(**{one.name: getattr(spec, one.name) for one in fields(WindowSpec)}, needs=needs)


def with_inputs(steps: list[Step]) -> list[Step]:
    return [replace(step, records=tuple(map(of_inputs, step.records))) for step in steps]


@every_kind
@brief
@given(data=st.data(), needs=st.sampled_from(NEEDS), restarts=st.sets(st.integers(0, 7)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    kind: Kind, data: st.DataObject, needs: tuple[str, ...], restarts: set[int]
) -> None:
    spec, drawn = data.draw(kind.pipelines())
    steps, merged = with_inputs(drawn), cogrouped(spec, needs)
    assert_same(play(merged, steps, COLUMNS, restore_before=restarts), cogroup.run(merged, steps))
