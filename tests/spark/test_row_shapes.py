"""Every shape of rows on Spark, beside the embedded engine and the oracle: rows, letters and accounts of each step.

Each runs as a query of three micro-batches and the end of its input.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from fanlight.testing.oracle import fill, row_stages, top, windowed_over  # noqa: F401 -- they register their stages
from fanlight.testing.oracle.graph import GraphOutcome

from .row_shapes import ROW_SHAPES, RowShape
from .scripted import asked, one_batch_a_file
from .staged import assert_same, by_law, embedded, specs_of, streamed
from .test_shapes import AT_ONCE

pytestmark = pytest.mark.slow

STRIDE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 8
"""`make thorough` runs every shape; otherwise every eighth, to notice that something broke."""


@pytest.fixture(scope="module")
def ran(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[list[GraphOutcome]]]]:
    """Every shape on Spark: all of them are on their way, a few at a time."""
    folder = tmp_path_factory.mktemp("rows")

    def run(shape: RowShape) -> list[GraphOutcome]:
        return streamed(spark, shape, folder / shape.name)

    with one_batch_a_file(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        yield {shape.name: pool.submit(run, shape) for shape in asked(request, "shape")}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("shape", ROW_SHAPES[::STRIDE], ids=lambda shape: shape.name)
def test_rows_on_spark_are_those_of_the_law(ran: dict[str, Future[list[GraphOutcome]]], shape: RowShape) -> None:
    assert_same(ran[shape.name].result(), by_law(shape))


@pytest.mark.parametrize("shape", ROW_SHAPES, ids=lambda shape: shape.name)
def test_rows_in_this_process_are_those_of_the_law(shape: RowShape) -> None:
    law = by_law(shape)
    assert_same(embedded(shape), law)
    assert sum(len(outcome[-1].rows) for outcome in law) > 5
    assert any(stage.dead_letters for outcome in law for stage in outcome)


def test_there_are_more_than_forty_of_every_operator() -> None:
    assert len({specs_of(shape) for shape in ROW_SHAPES}) == len(ROW_SHAPES) > 40
    assert len(Counter(type(specs_of(shape)[-1]) for shape in ROW_SHAPES)) >= 8
