"""Read a query's checkpoint as DataFrames: the windows and messages of its last committed batch.

    checkpoint ─ statestore reader ─► chunks by shard ─► MemoryStore, Shard ─► rows

Nothing is written, and the query may be running: only files of finished batches are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import InputError, StateError
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import TimestampLike
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.accounting import MOMENT, moments
from fanlight.operators.bind import bind
from fanlight.operators.shard import Shard
from fanlight.operators.stage_chain import room_prefix
from fanlight.operators.window.aggregate import WindowAggregate
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.query_state import (
    StateQuery,
    messages_schema,
    needed,
    no_messages,
    require_offsets,
    windows_schema,
)
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.manifest import Manifest, Stage, read_manifest, require_windows
from fanlight.spark.output import COUNTS
from fanlight.spark.pack import SHARD
from fanlight.spark.session import spark_session
from fanlight.spark.shards import places_itself, places_of, with_hashed_places
from fanlight.spark.shipping import portable_function
from fanlight.spark.store import CHUNKS
from fanlight.state.codec import decode
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

if TYPE_CHECKING:
    from fanlight.spark.run import SparkRun

_TIMES = ("watermark", "clock")
_ACCOUNTS = pa.schema(
    [
        pa.field("shard", pa.int32()),
        *(pa.field(count, pa.int64()) for count in COUNTS),
        *(pa.field(time, MOMENT) for time in _TIMES),
    ]
)

Read = Callable[[Shard, int], pa.Table]
"""Reads a table from one shard, which has this id."""


class Inspection:
    """The state of one stage of a query, as of one batch."""

    def __init__(
        self,
        chunks: DataFrame,
        plan: Plan,
        ids: list[int],
        batch: int,
        manifest: Manifest | None,
        *,
        by_key: bool = True,
    ) -> None:
        """`by_key` says whether a key leads to its shard; otherwise all are looked through."""
        self._chunks = chunks
        self._by_key = by_key
        self._ids = ids
        self.plan = plan
        self.batch = batch
        """The batch of this state: the last committed batch when the checkpoint was opened."""
        self.manifest = manifest
        """The manifest of the checkpoint; None if it was not started by `write_to`."""

    @property
    def spec(self) -> WindowSpec:
        """The pipeline's declaration."""
        return self.plan.spec

    def windows(
        self, keys: Any = None, start: TimestampLike | None = None, end: TimestampLike | None = None
    ) -> DataFrame:
        """The windows that overlap `[start, end)`, with their content: live and retained ones.

        `keys` is one key or a list of keys; a key of several columns is a tuple.
        """
        question = StateQuery.of(self.plan, start, end, keys)
        chunks = self.chunks_of(question, messages=False)
        return self._read(
            chunks,
            windows_schema(self.plan),
            lambda shard, _: _aggregate(shard).query_windows(question, shard.watermark),
        )

    def messages(
        self,
        keys: Any = None,
        start: TimestampLike | None = None,
        end: TimestampLike | None = None,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> DataFrame:
        """The stored records with `start <= time < end`, and `start_offset <= offset < end_offset`."""
        if not self.plan.keeps_messages:
            raise no_messages()
        question = StateQuery.of(self.plan, start, end, keys).by_offset(start_offset, end_offset)
        if start_offset is not None or end_offset is not None:
            require_offsets(self.plan)
        chunks = self.chunks_of(question, messages=True)
        return self._read(
            chunks, messages_schema(self.plan), lambda shard, _: _aggregate(shard).query_messages(question)
        )

    def accounting(self) -> DataFrame:
        """The accounting of each shard since the first batch, and the watermark and clock it acted on last."""
        chunks = self._chunks.where(functions.col("space") == "index")
        return self._read(chunks, _ACCOUNTS, _account)

    def chunks_of(self, question: StateQuery, *, messages: bool) -> DataFrame:
        """The chunks that can matter to a query."""
        space, slice_ = functions.col("space"), functions.col("slice")
        chunks = self._chunks
        for part in needed(self.plan, question, messages=messages):
            chunks = chunks.where((space != part.space) | slice_.between(part.first, part.last))
        if question.keys is not None and self._looks_up():
            chunks = chunks.where(functions.col("shard").isin(self._shards(question.keys)))
        return chunks

    def _looks_up(self) -> bool:
        """Whether the shard of a key can be known."""
        return self._by_key or places_itself([field.type for field in self.plan.key_fields])

    def _shards(self, keys: tuple[tuple[Any, ...], ...]) -> list[int]:
        """The shards that these keys belong to."""
        fields = self.plan.key_fields
        if places_itself([field.type for field in fields]):
            columns = [
                pa.array(column, field.type) for column, field in zip(zip(*keys, strict=True), fields, strict=True)
            ]
            return [self._ids[place] for place in set(places_of(columns, len(keys), len(self._ids)).tolist())]
        frame = self._chunks.sparkSession.createDataFrame(list(keys), from_arrow_schema(pa.schema(fields)))
        places = with_hashed_places(frame, self.spec.keys, len(self._ids), SHARD).select(SHARD).distinct()
        return [self._ids[row[0]] for row in places.collect()]

    def _read(self, chunks: DataFrame, schema: pa.Schema, read: Read) -> DataFrame:
        spec, columns = self.spec, self.plan.schema

        def read_shard(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
            shard = Shard(spec, _store(table), bound=bind(spec, columns), followed=Explicit())
            return read(shard, key[0].as_py()).cast(schema)

        return chunks.groupBy("shard").applyInArrow(portable_function(read_shard), from_arrow_schema(schema))


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
    return Inspection(chunks, Plan.bind(spec, schema), ids, batch, manifest, by_key=known.by_key)


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
) -> tuple[WindowSpec, pa.Schema, list[int]]:
    """The spec, the columns and the shards of a stage: as given, or as the manifest says."""
    if pipeline is not None:
        known: Stage | None = None if manifest is None else manifest.stages[stage - 1]
        run = next((one for one in pipeline.befores if one.stage == stage), pipeline)
        return require_windows(run.spec), run.bound.schema, run.ids if known is None else known.shards
    if manifest is None:
        raise StateError(
            f"inspect: the checkpoint {folder.text!r} has no manifest, because no write_to began it. "
            "Give the pipeline it belongs to, as in inspect(checkpoint, pipeline)."
        )
    known = manifest.stages[stage - 1]
    return known.window_spec(), known.schema(), known.shards


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


def _store(table: pa.Table) -> MemoryStore:
    """The chunks of one shard as a store."""
    store = MemoryStore()
    names = zip(*(table.column(name).to_pylist() for name in ("space", "slice", "sequence")), strict=True)
    for address, payload in zip(names, table.column("payload"), strict=True):
        store.put(Address(*address), decode(payload.as_py()))
    store.commit()
    return store


def _aggregate(shard: Shard) -> WindowAggregate:
    operator = shard.require_operator()
    assert isinstance(operator, WindowAggregate)  # its spec is a windowed aggregate
    return operator


def _account(shard: Shard, name: int) -> pa.Table:
    counts = shard.accounting.as_dict()
    times = [moments(pa.array([getattr(shard, time)]).to_numpy()) for time in _TIMES]
    return pa.table(
        [pa.array([name], pa.int32()), *(pa.array([counts[count]]) for count in COUNTS), *times], schema=_ACCOUNTS
    )
