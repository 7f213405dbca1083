"""Pipelines of several stages in one streaming query, beside the embedded engine and the oracle.

Each graph runs as a query of three micro-batches and the end of its input: stages that share their keys in one shard,
the others with an exchange between them. Rows of the last stage, dead letters and accounts of every stage are those of
the other engines after each micro-batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fanlight.model.reason import Reason
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.watermarks import Explicit, Several
from fanlight.spark.output import ACCOUNT, COUNTS, FIRING, LETTER
from fanlight.spark.run import SparkRun
from fanlight.spark.wire import opened
from fanlight.testing import Counts, Firing, Record, Step, same
from fanlight.testing.graph_player import in_micros, plain_rows, play_chain, play_runs
from fanlight.testing.oracle.graph import GraphOutcome, Row, StageOutcome, run_graph
from fanlight.testing.oracle.union import union_steps
from fanlight.testing.script import InputScript

from .graph_shapes import COUNT, GRAPHS, GraphShape
from .scripted import Feed, Left, ScriptedQuery, asked, one_batch_a_file, write_all
from .shapes import SCHEMA, bundles
from .test_shapes import AT_ONCE, CLOCKS, ROUNDING, spelled, stepped

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
    given = [replace(step, watermark=None) for step in steps()]
    assert_same(play_runs(specs, given, SCHEMA, graph.conditions, scripts_of(graph)), law)
    if not graph.inputs:
        assert_same(play_chain(told(specs), steps(), SCHEMA, graph.conditions), law)


def test_there_are_forty_of_two_to_four_stages() -> None:
    specs = [specs_of(graph) for graph in GRAPHS]
    assert len(set(specs)) == COUNT
    assert {len(stages) for stages in specs} == {2, 3, 4}
    assert sum(bool(graph.inputs) for graph in GRAPHS) >= 10
    assert sum(any(graph.conditions) for graph in GRAPHS) >= 10


def by_law(graph: GraphShape) -> list[GraphOutcome]:
    """What the oracle says."""
    specs, inputs = specs_of(graph), scripts_of(graph)
    strategy = specs[0].watermark
    given = union_steps(strategy, inputs) if isinstance(strategy, Several) else steps()
    return run_graph(specs if graph.inputs else told(specs), given, graph.conditions)


def sources_of(graph: GraphShape) -> list[list[pa.Table]]:
    """What comes in each micro-batch, input by input: records of even and of odd places."""
    count = max(1, len(graph.inputs))
    return [[table.take([*range(place, len(table), count)]) for table in bundles()] for place in range(count)]


def scripts_of(graph: GraphShape) -> dict[str, InputScript]:
    """The same for each of several inputs, in the words of a script."""
    clocks = tuple(step.clock for step in steps() if step.clock is not None)
    found = {}
    for name, tables in zip(graph.inputs, sources_of(graph), strict=False):
        found[name] = InputScript(tuple(tuple(in_micros(table).to_pylist()) for table in tables), clocks)
    return found


def specs_of(graph: GraphShape) -> tuple[StreamSpec, ...]:
    return tuple(stage.spec for stage in graph.over(*sources_of(graph)).stages)


def told(specs: tuple[StreamSpec, ...]) -> tuple[StreamSpec, ...]:
    """The stages, the first of which is told its watermark."""
    first: Any = specs[0]
    return (replace(first, watermark=Explicit()), *specs[1:])


def steps() -> list[Step]:
    """Three micro-batches, and the end; every time is in microseconds."""
    *batches, _beat, end = stepped()
    records = [tuple(in_micros(table).to_pylist()) for table in bundles()]
    return [*(replace(step, records=came) for step, came in zip(batches, records, strict=True)), end]


def streamed(spark: SparkSession, graph: GraphShape, folder: Path) -> list[GraphOutcome]:
    """What a streaming query gives, micro-batch by micro-batch; its rows have their panes."""
    feeds = [Feed(spark, folder / name, SCHEMA) for name in graph.inputs or ("in",)]
    declared = graph.over(*(feed.frame for feed in feeds))
    run = declared.on_spark("leaving")
    whole = SparkRun(declared.spec, run.inputs, panes=True)
    with ScriptedQuery(feeds[0], whole.leaving(str(feeds[0].signals)), folder) as query:
        left = []
        for tables, clock in zip(zip(*sources_of(graph), strict=True), CLOCKS, strict=False):
            come = partial(write_all, [*zip(feeds, tables, strict=True)])
            left.append(query.anew(come, clock) if graph.inputs else query.batch(tables[0], clock))
        left.append(query.end_anew(CLOCKS[-1]))
    return [outcome(specs_of(graph), whole, rows) for rows in left]


def outcome(specs: tuple[StreamSpec, ...], run: SparkRun, left: list[Left]) -> GraphOutcome:
    """What left the shards of all stages in one micro-batch."""
    chunks = {kind: [opened(bytes(row["payload"])) for row in left if row["kind"] == kind] for kind in (FIRING, LETTER)}
    rows = plain_rows(specs[-1], pa.Table.from_batches(chunks[FIRING], schema=run.bound.result))
    letters = [row for chunk in chunks[LETTER] for row in in_micros(pa.Table.from_batches([chunk])).to_pylist()]
    found = []
    for stage in range(1, len(specs) + 1):
        accounts = [row for row in left if row["kind"] == ACCOUNT and row["stage"] == stage]
        counts = Counts(*(sum(row[count] for row in accounts) for count in COUNTS))
        dead = tuple((Reason(row["reason"]), record_of(row)) for row in letters if stage_of(row) == stage)
        found.append(StageOutcome(rows if stage == len(specs) else (), dead, counts))
    return tuple(found)


def stage_of(letter: dict[str, Any]) -> int:
    return 1 if letter["detail"] is None else int(json.loads(letter["detail"])["stage"])


def record_of(letter: dict[str, Any]) -> Record:
    record: Record = letter["record"] or json.loads(letter["detail"])["record"]
    return record


def assert_same(ours: list[GraphOutcome], law: list[GraphOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        for stage, (found, by_law) in enumerate(zip(mine, right, strict=True), start=1):
            where = f"step {step}, stage {stage}"
            assert found.counts == by_law.counts, where
            assert found.counts.adds_up, where
            assert written(found) == written(by_law), where
        rows, expected = (sorted(one[-1].rows, key=place) for one in (mine, right))
        assert [*map(said, rows)] == [*map(said, expected)], f"step {step}"
        for row, other in zip(rows, expected, strict=True):
            assert same(values(row), values(other), tolerance=ROUNDING), f"step {step}: {row} != {other}"


def place(row: Row) -> str:
    """What to order rows by: shards have no order."""
    if isinstance(row, Firing):
        return repr((row.window, spelled(row), row.index, row.op.code != "-U"))
    return repr(sorted((name, str(value)) for name, value in row.items()))


def said(row: Row) -> Any:
    """What a row says of itself; one without a window says nothing."""
    if not isinstance(row, Firing):
        return None
    return row.key, row.window, row.op, row.timing, row.index, row.revision, row.is_last, row.time


def values(row: Row) -> dict[str, Any]:
    return row.values if isinstance(row, Firing) else dict(row)


def written(outcome: StageOutcome) -> list[str]:
    """Dead letters in an order of their own, without their times, which engines spell differently."""
    return sorted(
        f"{reason} {json.dumps({name: one for name, one in record.items() if name not in TIMES}, default=str)}"
        for reason, record in outcome.dead_letters
    )


TIMES = ("ts", "at", "window_start", "window_end", "window_time")
