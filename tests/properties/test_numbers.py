"""Sums that leave their type, in every kind of window: the embedded engine against the oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model import aggregates as agg
from fanlight.model.windows.session import Session
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.script import Record, Step
from fanlight.testing.strategies.kinds import Kind

from .laws import SCHEMA, assert_same, every_kind, halved

pytestmark = pytest.mark.slow

LARGE = 2**60
"""The values drawn are from -4 to 8: so many times this, few of them leave int64, and each is in it, but for one."""

TOTALS = (
    ("n", agg.count()),
    ("total", agg.sum("v")),
    ("mean", agg.avg("v")),
    ("spread", agg.variance("v", population=True)),
    ("both", agg.composite(total=agg.sum("v"), least=agg.min("v"))),
    ("among", agg.composite(total=agg.sum("v"), middle=agg.median("f"))),
)


@every_kind
@halved
@given(data=st.data())
def test_what_leaves_int64_concerns_its_pane_alone(kind: Kind, data: st.DataObject) -> None:
    spec, steps = data.draw(kind.pipelines())
    few = data.draw(st.sampled_from([TOTALS, TOTALS[:5]]))  # the last one keeps messages
    spec = replace(spec, aggregates=few)
    if not (isinstance(spec.window, Session) and spec.window.gap_from == "v"):
        steps = [enlarged(step) for step in steps]
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


def enlarged(step: Step) -> Step:
    return replace(step, records=tuple(large(record) for record in step.records))


def large(record: Record) -> Record:
    value = record["v"]
    return record if value is None else {**record, "v": min(value * LARGE, 2**63 - 1)}
