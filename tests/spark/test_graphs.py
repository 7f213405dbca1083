"""Pipelines of several stages in one streaming query, beside the embedded engine and the oracle.

Each graph runs as a query of three micro-batches and the end of its input: stages that share their keys in one shard,
the others with an exchange between them. Rows of the last stage, dead letters and accounts of every stage are those of
the other engines after each micro-batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from fanlight.testing.graph_player import play_chain
from fanlight.testing.oracle.graph import GraphOutcome

from .graph_shapes import COUNT, GRAPHS, GraphShape
from .scripted import asked, one_batch_a_file
from .staged import assert_same, by_law, embedded, specs_of, steps, streamed, told
from .test_shapes import AT_ONCE

pytestmark = pytest.mark.slow

STRIDE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 3
"""`make thorough` runs every graph; otherwise every third, to notice that something broke."""


@pytest.fixture(scope="module")
def ran(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[list[GraphOutcome]]]]:
    """Every graph on Spark: all of them are on their way, a few at a time."""
    folder = tmp_path_factory.mktemp("graphs")

    def run(graph: GraphShape) -> list[GraphOutcome]:
        return streamed(spark, graph, folder / graph.name)

    with one_batch_a_file(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        yield {graph.name: pool.submit(run, graph) for graph in asked(request, "graph")}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("graph", GRAPHS[::STRIDE], ids=lambda graph: graph.name)
def test_stages_on_spark_take_the_steps_of_the_law(
    ran: dict[str, Future[list[GraphOutcome]]], graph: GraphShape
) -> None:
    assert_same(ran[graph.name].result(), by_law(graph))


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_stages_in_this_process_take_them_too(graph: GraphShape) -> None:
    """As runs that follow their records, and as stages of one shard that are told how far time has come."""
    specs, law = specs_of(graph), by_law(graph)
    assert any(outcome[-1].rows for outcome in law)
    assert_same(embedded(graph), law)
    if not graph.inputs:
        assert_same(play_chain(told(specs), steps(graph), graph.schema, graph.conditions), law)


def test_there_are_forty_of_two_to_four_stages() -> None:
    specs = [specs_of(graph) for graph in GRAPHS]
    assert len(set(specs)) == COUNT
    assert {len(stages) for stages in specs} == {2, 3, 4}
    assert sum(bool(graph.inputs) for graph in GRAPHS) >= 10
    assert sum(any(graph.conditions) for graph in GRAPHS) >= 10
