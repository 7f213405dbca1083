"""Windows that follow the clock: Spark streaming, the embedded engine and the oracle take the same steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fanlight.model.time.watermarks import Explicit
from fanlight.testing import oracle
from fanlight.testing.player import play

from .scripted import one_batch_a_file
from .shapes import BY_CLOCK, SCHEMA, Shape
from .test_shapes import assert_same, merged, stepped, streamed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shape", BY_CLOCK, ids=lambda shape: shape.name)
def test_every_engine_takes_the_same_steps(spark: SparkSession, tmp_path: Path, shape: Shape) -> None:
    """The clock of a micro-batch is the time of its records, and closes their windows."""
    spec, steps = replace(shape.spec, watermark=Explicit()), [replace(step, watermark=None) for step in stepped()]
    law = merged(oracle.run(spec, steps))
    assert law.firings
    with one_batch_a_file(spark):
        assert_same(streamed(spark, shape.spec, tmp_path), law)
    assert_same(merged(play(spec, steps, SCHEMA)), law)
