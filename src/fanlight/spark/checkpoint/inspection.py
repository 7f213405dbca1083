"""Read a query's checkpoint as DataFrames: the windows and messages of its last committed batch.

    checkpoint ─ statestore reader ─► chunks by shard ─► what a stage keeps

Nothing is written, and the query may be running: only files of finished batches are read.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions

from fanlight.errors import InputError, StateError
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.spec import JoinSpec
from fanlight.model.spec import WindowSpec
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.stage_chain import room_prefix
from fanlight.operators.window.plan import Plan
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.inspected_stage import Inspection
from fanlight.spark.checkpoint.join_inspection import JoinInspection
from fanlight.spark.checkpoint.manifest import Manifest, Stage, read_manifest, require_looked_into
from fanlight.spark.session import spark_session
from fanlight.spark.store import CHUNKS

if TYPE_CHECKING:
    from fanlight.spark.run import SparkRun

__all__ = ["Inspection", "inspect"]


def inspect(
    checkpoint: str | os.PathLike[str],
    pipeline: SparkRun | None = None,
    *,
    stage: int | None = None,
    spark: SparkSession | None = None,
) -> Inspection:
    """Open the checkpoint of a query, running or stopped, for reading.

    The manifest that `write_to` writes describes the pipeline. Without a manifest, or if Python code is part of the
    pipeline, give the pipeline itself. `stage` is the number of the stage, from 1; by default the last.
    """
    folder = Folder.of(checkpoint)
    batch = _last_batch(folder)
    session = spark or SparkSession.getActiveSession() or _session()
    operators, manifest = _operators(session, folder), read_manifest(folder)
    stages = _stages(manifest, pipeline, len(operators))
    place = len(stages) if stage is None else stage
    if not 1 <= place <= len(stages):
        raise InputError(f"inspect: `stage` ({stage}) must be from 1 to {len(stages)}, the stages of this query.")
    spec, schema, ids = _pipeline(folder, manifest, pipeline, place)
    reader = session.read.format("statestore").option("stateVarName", CHUNKS).option("batchId", batch)
    known = stages[place - 1]
    state = reader.option("operatorId", operators[known.operator]).load(folder.text)
    chunks = _in_room(state.select("key.shard", "user_map_key.*", "user_map_value.payload"), known.room)
    said = (ids, batch, manifest)
    if isinstance(spec, SidedSpec):
        return JoinInspection(chunks, _join_plan(spec, schema), *said, by_key=known.by_key)
    return Inspection(chunks, Plan.bind(spec, schema), *said, by_key=known.by_key)


def _join_plan(spec: SidedSpec, schema: pa.Schema) -> JoinPlan | NWayPlan:
    if isinstance(spec, NWayJoinSpec):
        return NWayPlan.bind(spec, schema)
    assert isinstance(spec, JoinSpec)  # of two sides
    return JoinPlan.bind(spec, schema)


class _Place(NamedTuple):
    """Where the state of a stage is: in which operator of the query, and in which room of its shards."""

    operator: int
    room: int
    by_key: bool
    """Whether a key leads to its shard by Spark's hash, or by the packer's rule for integers."""


def _stages(manifest: Manifest | None, pipeline: SparkRun | None, operators: int) -> list[_Place]:
    """Where the state of each stage is. Stages that share their shards share an operator."""
    if manifest is not None:
        told = [(stage.shares, stage.placed_by_packer) for stage in manifest.stages]
    elif pipeline is not None:
        told = [(run.shares, run.placed_by_packer) for run in [*pipeline.befores, pipeline]]
    else:
        told = [(False, False)] * operators
    found: list[_Place] = []
    for shares, by_packer in told:
        before = found[-1] if shares else None
        operator = (found[-1].operator + 1 if found else 0) if before is None else before.operator
        found.append(_Place(operator, 1 if before is None else before.room + 1, not (shares or by_packer)))
    return found


def _in_room(chunks: DataFrame, room: int) -> DataFrame:
    """The chunks of one stage among those of the stages that share its shards."""
    space = functions.col("space")
    if room == 1:
        return chunks.where(~space.rlike(r"^\d+\."))
    prefix = room_prefix(room)
    return chunks.where(space.startswith(prefix)).withColumn("space", functions.substring(space, len(prefix) + 1, 1000))


def _pipeline(
    folder: Folder, manifest: Manifest | None, pipeline: SparkRun | None, stage: int
) -> tuple[WindowSpec | SidedSpec, pa.Schema, list[int]]:
    """The spec, the columns and the shards of a stage: as given, or as the manifest says."""
    if pipeline is not None:
        known: Stage | None = None if manifest is None else manifest.stages[stage - 1]
        run = next((one for one in pipeline.befores if one.stage == stage), pipeline)
        return require_looked_into(run.spec), run.bound.schema, run.ids if known is None else known.shards
    if manifest is None:
        raise StateError(
            f"inspect: the checkpoint {folder.text!r} has no manifest, because no write_to began it. "
            "Give the pipeline it belongs to, as in inspect(checkpoint, pipeline)."
        )
    known = manifest.stages[stage - 1]
    return known.looked_into(), known.schema(), known.shards


def _session() -> SparkSession:
    """A session for reading only: on this machine, without Spark's web pages and progress bars."""
    session = spark_session(spark_ui_enabled="false", spark_ui_showConsoleProgress="false")
    session.sparkContext.setLogLevel("ERROR")
    return session


def _last_batch(folder: Folder) -> int:
    if not folder.exists():
        raise StateError(f"inspect: there is no checkpoint at {folder.text!r}. Check the path.")
    batches = [int(name) for name in folder.names("commits") if name.isdigit()]
    if not batches:
        what = "no batch of its query has been committed yet" if folder.names("offsets") else "no query has run on it"
        raise StateError(f"inspect: {folder.text!r} holds no state: {what}. Try again when one is.")
    return max(batches)


def _operators(session: SparkSession, folder: Folder) -> list[int]:
    """Fanlight's stateful operators in the query, the first stage first."""
    try:
        frame = session.read.format("state-metadata").load(folder.text)
        found = frame.select("operatorId", "operatorProperties").collect()
        ours = [row[0] for row in found if CHUNKS in _states(row[1])]
    except (PySparkException, Py4JError, ValueError, KeyError) as problem:
        raise StateError(
            f"inspect: the files under {folder.text + '/state'!r} that say what is in the state are gone or damaged. "
            "Restore them from a copy of the checkpoint."
        ) from problem
    if not ours:
        raise StateError(
            f"inspect: the checkpoint {folder.text!r} belongs to a query without a Fanlight pipeline. "
            "Read its state with spark.read.format('statestore')."
        )
    return sorted(set(ours), reverse=True)  # Spark numbers them from the sink up


def _states(properties: str | None) -> list[str]:
    said = json.loads(properties or "{}").get("stateVariables", [])
    return [json.loads(one)["stateName"] if isinstance(one, str) else one["stateName"] for one in said]
