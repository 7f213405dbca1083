"""Queries go on from the checkpoints that the commit before wrote, and write what it would have written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.recorded import checkpoints
from tests.recorded.groups import GROUPS

pytestmark = pytest.mark.slow

RECORDED = GROUPS["checkpoints"]


@pytest.mark.parametrize("name", checkpoints.QUERIES)
def test_a_query_goes_on_from_the_checkpoint_that_was_written(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Three batches are in it and in the files beside it; two more come, and the end."""
    now = checkpoints.line(checkpoints.gone_on(spark, name, tmp_path))
    told = RECORDED.told(name, RECORDED.kept()[name], now)
    assert not told, told
