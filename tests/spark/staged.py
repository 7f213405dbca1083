"""Pipelines of several stages as queries of three micro-batches and the end of their input, step by step.

    shape ─┬─► streamed    on Spark
           ├─► embedded    in this process
           └─► by_law      by the oracle

Rows of the last stage, dead letters and accounts of every stage can be laid side by side after each micro-batch.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from fanlight.model.reason import Reason
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.watermarks import Explicit, Several
from fanlight.spark.output import ACCOUNT, COUNTS, FIRING, LETTER
from fanlight.spark.run import SparkRun
from fanlight.spark.wire import opened
from fanlight.testing import Counts, Firing, Record, Step, same
from fanlight.testing.graph_player import in_micros, plain_rows, play_runs
from fanlight.testing.oracle.graph import GraphOutcome, Prepared, Row, StageOutcome, run_graph
from fanlight.testing.oracle.union import union_steps
from fanlight.testing.script import InputScript

from .scripted import Feed, Left, ScriptedQuery, write_all
from .shapes import DELAY
from .test_shapes import CLOCKS, MILLISECOND, ROUNDING, spelled


class StagedShape(Protocol):
    """A pipeline of several stages, and the name a test calls it by."""

    @property
    def name(self) -> str:
        """What a test calls it by."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs; none, if it has only one."""

    @property
    def conditions(self) -> tuple[Prepared | None, ...]:
        """What is done to the records of each stage first."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of its records."""

    @property
    def bundles(self) -> list[pa.Table]:
        """What comes in each micro-batch."""

    def over(self, *sources: Any) -> Any:
        """The pipeline over a source, or over one for each of its inputs."""


def by_law(shape: StagedShape) -> list[GraphOutcome]:
    """What the oracle says."""
    specs, inputs = specs_of(shape), scripts_of(shape)
    strategy = specs[0].watermark
    given = union_steps(strategy, inputs) if isinstance(strategy, Several) else steps(shape)
    return run_graph(specs if shape.inputs else told(specs), given, shape.conditions)


def sources_of(shape: StagedShape) -> list[list[pa.Table]]:
    """What comes in each micro-batch, input by input: records of even and of odd places."""
    count = max(1, len(shape.inputs))
    return [[table.take([*range(place, len(table), count)]) for table in shape.bundles] for place in range(count)]


def scripts_of(shape: StagedShape) -> dict[str, InputScript]:
    """The same for each of several inputs, in the words of a script."""
    clocks = tuple(step.clock for step in steps(shape) if step.clock is not None)
    found = {}
    for name, tables in zip(shape.inputs, sources_of(shape), strict=False):
        found[name] = InputScript(tuple(tuple(in_micros(table).to_pylist()) for table in tables), clocks)
    return found


def specs_of(shape: StagedShape) -> tuple[StreamSpec, ...]:
    return tuple(stage.spec for stage in shape.over(*sources_of(shape)).stages)


def told(specs: tuple[StreamSpec, ...]) -> tuple[StreamSpec, ...]:
    """The stages, the first of which is told its watermark."""
    first: Any = specs[0]
    return (replace(first, watermark=Explicit()), *specs[1:])


def steps(shape: StagedShape) -> list[Step]:
    """Three micro-batches, and the end: each acts on the watermark of all records up to and with its own.

    Every time is in microseconds.
    """
    found: list[Step] = []
    latest = 0
    for table, clock in zip(shape.bundles, CLOCKS, strict=False):
        records = tuple(in_micros(table).to_pylist())
        latest = max(latest, *(record["ts"] for record in records if record["ts"] is not None))
        found.append(Step(records=records, watermark=latest - DELAY, clock=clock * MILLISECOND))
    return [*found, Step(end=True)]


def embedded(shape: StagedShape) -> list[GraphOutcome]:
    """What the runs of this process give, which follow their records."""
    given = [replace(step, watermark=None) for step in steps(shape)]
    return play_runs(specs_of(shape), given, shape.schema, shape.conditions, scripts_of(shape))


def streamed(spark: SparkSession, shape: StagedShape, folder: Path) -> list[GraphOutcome]:
    """What a streaming query gives, micro-batch by micro-batch; its rows have their panes."""
    feeds = [Feed(spark, folder / name, shape.schema) for name in shape.inputs or ("in",)]
    declared = shape.over(*(feed.frame for feed in feeds))
    run = declared.on_spark("leaving")
    whole = SparkRun(declared.spec, run.inputs, panes=True)
    with ScriptedQuery(feeds[0], whole.leaving(str(feeds[0].signals)), folder) as query:
        left = []
        for tables, clock in zip(zip(*sources_of(shape), strict=True), CLOCKS, strict=False):
            come = partial(write_all, [*zip(feeds, tables, strict=True)])
            left.append(query.anew(come, clock) if shape.inputs else query.batch(tables[0], clock))
        left.append(query.end_anew(CLOCKS[-1]))
    return [outcome(specs_of(shape), whole, rows) for rows in left]


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
    return 1 if letter["detail"] is None else int(json.loads(letter["detail"]).get("stage", 1))


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
        return repr((row.window, spelled(row), row.number, row.op.code != "-U"))
    return repr(sorted((name, str(value)) for name, value in row.items()))


def said(row: Row) -> Any:
    """What a row says of itself; one without a window says nothing."""
    if not isinstance(row, Firing):
        return None
    return row.key, row.window, row.op, row.timing, row.number, row.revision, row.is_last, row.time


def values(row: Row) -> dict[str, Any]:
    return row.values if isinstance(row, Firing) else dict(row)


def written(outcome: StageOutcome) -> list[str]:
    """Dead letters in an order of their own, without their times, which engines spell differently."""
    return sorted(
        f"{reason} {json.dumps({name: one for name, one in record.items() if name not in TIMES}, default=str)}"
        for reason, record in outcome.dead_letters
    )


TIMES = ("ts", "at", "window_start", "window_end", "window_time")
