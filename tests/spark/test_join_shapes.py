"""Joins of many shapes on Spark, beside the embedded engine and the oracle.

Several joins run in one query: they read the same two streams, and what leaves says whose it is. After every
micro-batch rows, dead letters and counts are those of the law.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, functions

from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.kept_rows import kept_rows
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.run import SparkRun
from fanlight.spark.tester import InputsTester
from fanlight.spark.wire import opened
from fanlight.testing import Firing, Step
from fanlight.testing.graph_player import in_micros
from fanlight.testing.oracle.graph import Row, run_graph
from fanlight.testing.oracle.join.interval import IntervalJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome, JoinStep

from .join_shapes import COUNT, LEFT, RIGHT, SHAPES, JoinShape, bundles
from .scripted import Feed, ScriptedQuery, one_batch_a_file, write_all

pytestmark = pytest.mark.slow

STRIDE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 6
"""`make thorough` runs every shape; otherwise every sixth, beginning with another type each time."""
TOGETHER = 8
"""How many joins run in one query."""
CHOSEN = [shape for place in range(0, COUNT, STRIDE) for shape in SHAPES[place + place // STRIDE % STRIDE :][:1]]


class Outcome(NamedTuple):
    """What one micro-batch gave: rows and letters, in no order, and the records that came and were accepted."""

    rows: Counter[str]
    letters: Counter[str]
    received: int
    accepted: int


@pytest.fixture(scope="module")
def ran(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[JoinShape], list[Outcome]]]:
    """What a shape gave on Spark; the first that is asked for runs those of its query."""
    found: dict[str, list[Outcome]] = {}

    def outcomes(shape: JoinShape) -> list[Outcome]:
        if shape.name not in found:
            first = CHOSEN.index(shape) // TOGETHER * TOGETHER
            found.update(streamed(spark, CHOSEN[first : first + TOGETHER], tmp_path_factory.mktemp("joins")))
        return found[shape.name]

    with one_batch_a_file(spark):
        yield outcomes


@pytest.mark.parametrize("shape", CHOSEN, ids=lambda shape: shape.name)
def test_a_join_on_spark_takes_the_steps_of_the_law(
    ran: Callable[[JoinShape], list[Outcome]], shape: JoinShape
) -> None:
    for step, (ours, law) in enumerate(zip(ran(shape), by_law(shape), strict=True)):
        assert ours == law, f"step {step}"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_join_on_the_processor_takes_them_too(shape: JoinShape) -> None:
    """The real packers and the real processor, without a session; the join alone."""
    spec = shape.joined(bundles(LEFT)[0], bundles(RIGHT)[0]).spec
    shard = InputsTester(spec, {"p": RIGHT, "o": LEFT}, sided_intakes(spec))
    bound = shard.shard().bound
    assert bound is not None
    sides = [[one.combine_chunks().to_batches()[0] for one in bundles(schema)] for schema in (LEFT, RIGHT)]
    left = [shard.batch({"p": paid, "o": order}, watermarks={}, clock=0) for order, paid in zip(*sides, strict=True)]
    left.append(shard.batch({}, watermarks={}, clock=0, ends=True))
    ours = [outcome_on_spark(spec, bound.result, 1, [(row["kind"], row) for row in rows]) for rows in left]
    assert ours == [outcome_of(one, one.rows) for one in joined_by_law(shape)]
    assert not any(len(rows) for rows in kept_rows(shard.shard()).values())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_join_in_this_process_gives_the_same_rows(shape: JoinShape) -> None:
    sources = [
        pa.RecordBatchReader.from_batches(schema, [table.combine_chunks().to_batches()[0] for table in bundles(schema)])
        for schema in (LEFT, RIGHT)
    ]
    result = shape.over(*sources)
    law: Counter[str] = sum((one.rows for one in by_law(shape)), Counter())
    assert law
    assert counted(plain(result.spec, result.table())) == law


def test_there_are_more_than_forty_that_differ() -> None:
    sources = bundles(LEFT)[:1], bundles(RIGHT)[:1]
    specs = [shape.joined(*(pa.table(one[0]) for one in sources)).spec for shape in SHAPES]
    assert len(set(map(repr, specs))) == COUNT >= 40
    assert {shape.how for shape in CHOSEN} == {shape.how for shape in SHAPES}


def joined_by_law(shape: JoinShape) -> list[JoinOutcome]:
    """What the oracle says of the join, of each micro-batch and of the end."""
    batches = [[tuple(in_micros(table).to_pylist()) for table in bundles(schema)] for schema in (LEFT, RIGHT)]
    spec = shape.joined(bundles(LEFT)[0], bundles(RIGHT)[0]).spec
    assert isinstance(spec, IntervalJoinSpec)
    oracle = IntervalJoinOracle(spec, LEFT.names, RIGHT.names, shape.condition)
    steps = [JoinStep(left, right) for left, right in zip(*batches, strict=True)]
    return [oracle.step(step) for step in [*steps, JoinStep(end=True)]]


def by_law(shape: JoinShape) -> list[Outcome]:
    """What the oracles say of the whole pipeline."""
    told = joined_by_law(shape)
    pipeline = shape.over(bundles(LEFT)[0], bundles(RIGHT)[0])
    if shape.after is None:
        return [outcome_of(one, one.rows) for one in told]
    steps = [Step(records=one.rows, watermark=one.watermark) for one in told]
    *after, last, end = run_graph([pipeline.spec], [*steps, Step(end=True)])
    rows = [one[-1].rows for one in after] + [(*last[-1].rows, *end[-1].rows)]
    late = [one[-1].dead_letters for one in after] + [(*last[-1].dead_letters, *end[-1].dead_letters)]
    return [outcome_of(*one) for one in zip(told, rows, late, strict=True)]


def outcome_of(join: JoinOutcome, rows: tuple[Row, ...], late: tuple[Any, ...] = ()) -> Outcome:
    letters = Counter(reason.value for reason, _ in (*join.dead_letters, *late))
    both = join.left, join.right
    return Outcome(counted(rows), letters, sum(one.records_in for one in both), sum(one.accepted for one in both))


def counted(rows: Iterable[Row]) -> Counter[str]:
    """Rows without an order, as text; a firing is its window and what it says."""
    plain = (
        {**row.values, "window": {"start": row.window.start, "end": row.window.end}} if isinstance(row, Firing) else row
        for row in rows
    )
    return Counter(str(sorted((name, str(value)) for name, value in row.items())) for row in plain)


def plain(spec: StreamSpec, table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, with times as microseconds; of windows without their panes."""
    if isinstance(spec, WindowSpec):
        table = table.select(["window", *(name for name, _ in spec.aggregates)])
    return in_micros(table).to_pylist()  # type: ignore[no-any-return]


def streamed(spark: SparkSession, shapes: list[JoinShape], folder: Path) -> dict[str, list[Outcome]]:
    """What one query of these joins gives, micro-batch by micro-batch."""
    feeds = [Feed(spark, folder / name, schema) for name, schema in (("o", LEFT), ("p", RIGHT))]
    runs: dict[str, SparkRun] = {}
    first = 1
    for shape in shapes:
        run = shape.over(*(feed.frame for feed in feeds)).on_spark("leaving")
        runs[shape.name] = run.numbered(first)
        first = runs[shape.name].stage + 1
    frames = [marked(run.leaving(str(feeds[0].signals)), name) for name, run in runs.items()]
    with ScriptedQuery(feeds[0], reduce(DataFrame.union, frames), folder) as query:
        left = []
        for clock, tables in enumerate(zip(bundles(LEFT), bundles(RIGHT), strict=True), start=1):
            come = partial(write_all, [*zip(feeds, tables, strict=True)])
            left.append(query.anew(come, clock * 1_000))
        left.append(query.end_anew(20_000))
    found = {}
    for name, run in runs.items():
        join, mark = run.stage if run.before is None else run.before.stage, f"{name}|"
        own = [[(row["kind"].removeprefix(mark), row) for row in rows if row["kind"].startswith(mark)] for rows in left]
        found[name] = [outcome_on_spark(run.spec, run.bound.result, join, rows) for rows in own]
    return found


def marked(leaving: DataFrame, name: str) -> DataFrame:
    """What leaves, with whose it is."""
    return leaving.withColumn("kind", functions.concat(functions.lit(f"{name}|"), "kind"))


def outcome_on_spark(spec: StreamSpec, result: pa.Schema, join: int, left: list[tuple[str, Any]]) -> Outcome:
    """What left the shards in one micro-batch, by its kind; `join` is the number of the stage of the join."""
    chunks = {
        kind: [opened(bytes(row["payload"])) for found, row in left if found == kind] for kind in (FIRING, LETTER)
    }
    rows = plain(spec, pa.Table.from_batches(chunks[FIRING], schema=result))
    reasons = [reason for chunk in chunks[LETTER] for reason in chunk.column("reason").to_pylist()]
    joins = [row for kind, row in left if kind == ACCOUNT and row["stage"] == join]
    received, accepted = (sum(row[count] for row in joins) for count in ("received", "accepted"))
    return Outcome(counted(rows), Counter(reasons), received, accepted)
