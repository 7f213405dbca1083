"""The two ways a bundle is merged into panes give the same panes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings

import fanlight as fl
from fanlight.operators import deltas
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.strategies import Pipeline, pipelines, windows

from .laws import SCHEMA, assert_same


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pipelines(window=windows().filter(lambda kind: hasattr(kind, "every"))))
def test_bundles_over_stacks_are_bundles_written_out(monkeypatch: pytest.MonkeyPatch, pipeline: Pipeline) -> None:
    """Small bundles are written out; with the bound at zero the same pipelines go over the stacks."""
    spec, steps = pipeline
    monkeypatch.setattr(deltas, "_FEW", -1)
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


def test_a_large_bundle_goes_over_the_stacks_by_itself() -> None:
    """4,000 keys in 60 slices of a 60-fold overlap: 240,000 cells in 60 windows each are too many to write out."""
    rng = np.random.default_rng(7)
    count = 400_000
    seconds = rng.integers(0, 600, count)
    table = pa.table({"ts": seconds, "k": rng.integers(0, 4_000, count), "v": rng.integers(-5, 5, count)})
    result = (
        fl.stream(table, time="ts", unit="s")
        .key_by("k")
        .window(fl.hopping("10 minutes", every="10 seconds"), lateness="1 hour")
        .agg(n=fl.count(), total=fl.sum("v"), top=fl.max("v"))
        .table()
    )
    whole = result.filter(pc.equal(pc.struct_field(result["window"], "start").cast(pa.int64()), 0))
    expected = table.group_by("k", use_threads=False).aggregate([("v", "count"), ("v", "sum"), ("v", "max")])
    expected = expected.select(["k", "v_count", "v_sum", "v_max"]).rename_columns(["k", "n", "total", "top"])
    assert whole.select(["k", "n", "total", "top"]).to_pydict() == expected.sort_by("k").to_pydict()
