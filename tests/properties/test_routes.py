"""Every route a bundle can take through the engine gives what the law says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.routes import rerouted
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.model.semantics import Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.model.triggers import AtExpiry, AtWatermark
from fanlight.model.windows.kind import WindowKind
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.strategies.kinds import EVENT, KINDS
from fanlight.testing.strategies.specs import Pipeline, pipelines, windows

from .laws import SCHEMA, assert_same

pytestmark = pytest.mark.slow

at_the_end = st.sampled_from([AtWatermark(), AtExpiry(), AtWatermark(late=None)])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(pipelines(window=windows().filter(lambda kind: hasattr(kind, "every"))))
def test_bundles_over_stacks_are_bundles_written_out(pipeline: Pipeline) -> None:
    """Small bundles are written out; with the bound at zero the same pipelines go over the stacks."""
    spec, steps = pipeline
    with rerouted(written_out=-1):
        assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


def test_a_large_bundle_goes_over_the_stacks_by_itself() -> None:
    """4,000 keys in 60 slices of a 60-fold overlap: 240,000 cells in 60 windows each are too many to write out."""
    rng = np.random.default_rng(7)
    count = 400_000
    seconds = rng.integers(0, 600, count)
    table = pa.table({"ts": seconds, "k": rng.integers(0, 4_000, count), "v": rng.integers(-5, 5, count)})
    result = (
        fl.stream(table, time="ts", delay="0 s", unit="s", rows=count)
        .key_by("k")
        .window(fl.hopping("10 minutes", every="10 seconds"), lateness="1 hour")
        .agg(n=fl.count(), total=fl.sum("v"), top=fl.max("v"))
        .table()
    )
    whole = result.filter(pc.equal(pc.struct_field(result["window"], "start").cast(pa.int64()), 0))
    expected = table.group_by("k", use_threads=False).aggregate([("v", "count"), ("v", "sum"), ("v", "max")])
    expected = expected.select(["k", "v_count", "v_sum", "v_max"]).rename_columns(["k", "n", "total", "top"])
    assert whole.select(["k", "n", "total", "top"]).to_pydict() == expected.sort_by("k").to_pydict()


def alone(window: WindowKind) -> bool:
    """Whether windows of this kind share no slice."""
    return slicing_of(window, Semantics()).width == 1


@pytest.mark.parametrize("kind", ["plain", "calendar"])
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_slices_taken_one_by_one_are_slices_taken_together(kind: str, data: st.DataObject) -> None:
    """Small slices are grouped together; with the bound at two the same pipelines group most of them by themselves."""
    one = KINDS[kind]
    spec, steps = data.draw(one.pipelines(window=one.windows(EVENT).filter(alone), trigger=at_the_end))
    with rerouted(large_slice=2):
        assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


judged_by_record = st.sampled_from(
    [BoundedDisorder(Duration(0), per_record=True), BoundedDisorder(Duration(3), per_record=True)]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(pipelines(watermark=judged_by_record, trigger=at_the_end, window=windows([TimeDomain.EVENT])))
def test_what_expires_inside_a_bundle_leaves_before_the_record_that_expired_it(pipeline: Pipeline) -> None:
    """Slices cannot tell a record that came too late for one of its windows from one that did not."""
    spec, steps = pipeline
    assert_same(play(spec, steps, SCHEMA), oracle.run(spec, steps))
