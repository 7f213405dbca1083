"""Functions of whole tables against the oracle: every kind of window hands over the same rows in the same order."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.aggregates import batch, composite
from fanlight.model.semantics import Semantics
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.strategies.kinds import Kind

from .laws import SCHEMA, assert_same, brief, every_kind


def told(table: pa.Table) -> str:
    """All that a table says, and in which order."""
    return repr(table.to_pylist())


AGGREGATES = (
    ("two", batch(told, pa.string(), "k", "v")),
    ("one", batch(told, pa.string(), "f")),
    ("part", composite(all=batch(told, pa.string(), "b", "ts"), n=fl.count("v"))),
    ("n", fl.count()),
)


@brief
@every_kind
@given(data=st.data())
def test_a_function_sees_the_rows_that_the_oracle_says_with_restarts_in_between(
    kind: Kind, data: st.DataObject
) -> None:
    """Late records too: windows fire once, when they expire."""
    spec, script = data.draw(kind.pipelines(aggregates=AGGREGATES, trigger=fl.at_expiry(), semantics=Semantics()))
    restarts = data.draw(st.sets(st.integers(1, 8), max_size=2))
    assert_same(play(spec, script, SCHEMA, restore_before=restarts), oracle.run(spec, script))
