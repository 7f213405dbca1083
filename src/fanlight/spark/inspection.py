"""What a query's checkpoint holds, as DataFrames: the windows and messages of its last committed batch.

    checkpoint ─ statestore reader ─► chunks by shard ─► MemoryStore, ShardOperator ─► rows

Nothing is written, and the query may be running: what is read are the files of batches that are done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import InputError, StateError
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import TimestampLike
from fanlight.operators.accounting import moments
from fanlight.operators.plan import MOMENT, Plan
from fanlight.operators.reading import (
    Question,
    messages_schema,
    messages_table,
    needed,
    no_messages,
    windows_schema,
    windows_table,
)
from fanlight.operators.shard import ShardOperator
from fanlight.spark.envelope import SHARD
from fanlight.spark.folder import Folder
from fanlight.spark.leaving import COUNTS
from fanlight.spark.manifest import Manifest, Stage, read_manifest
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

Read = Callable[[ShardOperator, int], pa.Table]
"""What is read off one shard, which has this id."""


class Inspection:
    """The state of one stage of a query, as of one batch."""

    def __init__(self, chunks: DataFrame, plan: Plan, ids: list[int], batch: int, manifest: Manifest | None) -> None:
        self._chunks = chunks
        self._ids = ids
        self.plan = plan
        self.batch = batch
        """The batch it is the state of: the last one committed when it was asked for."""
        self.manifest = manifest
        """What the checkpoint says about itself; None if no `write_to` began it."""

    @property
    def spec(self) -> WindowSpec:
        """The pipeline's declaration."""
        return self.plan.spec

    def windows(
        self, keys: Any = None, start: TimestampLike | None = None, end: TimestampLike | None = None
    ) -> DataFrame:
        """The windows that overlap `[start, end)`, with what they hold: live ones, and those retention keeps.

        `keys` is one key or a list of keys; a key of several columns is a tuple.
        """
        question = Question.of(self.plan, start, end, keys)
        chunks = self._of(question, messages=False)
        return self._read(chunks, windows_schema(self.plan), lambda shard, _: windows_table(shard, question))

    def messages(
        self, keys: Any = None, start: TimestampLike | None = None, end: TimestampLike | None = None
    ) -> DataFrame:
        """The stored records with `start <= time < end`."""
        if not self.plan.keeps_messages:
            raise no_messages()
        question = Question.of(self.plan, start, end, keys)
        chunks = self._of(question, messages=True)
        return self._read(chunks, messages_schema(self.plan), lambda shard, _: messages_table(shard, question))

    def accounting(self) -> DataFrame:
        """Where every record of each shard went, from the first batch on, and the times it acted on last."""
        chunks = self._chunks.where(functions.col("space") == "index")
        return self._read(chunks, _ACCOUNTS, _account)

    def _of(self, question: Question, *, messages: bool) -> DataFrame:
        """The chunks that can matter to a question."""
        space, slice_ = functions.col("space"), functions.col("slice")
        chunks = self._chunks
        for part in needed(self.plan, question, messages=messages):
            chunks = chunks.where((space != part.space) | slice_.between(part.first, part.last))
        if question.keys is not None:
            chunks = chunks.where(functions.col("shard").isin(self._shards(question.keys)))
        return chunks

    def _shards(self, keys: tuple[tuple[Any, ...], ...]) -> list[int]:
        """The shards that these keys belong to."""
        fields = self.plan.key_fields
        if places_itself(fields):
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
            shard = ShardOperator(Plan.bind(spec, columns), _store(table))
            return read(shard, key[0].as_py()).cast(schema)

        return chunks.groupBy("shard").applyInArrow(portable_function(read_shard), from_arrow_schema(schema))


def inspect(
    checkpoint: str | os.PathLike[str],
    pipeline: SparkRun | None = None,
    *,
    stage: int | None = None,
    spark: SparkSession | None = None,
) -> Inspection:
    """Look into the checkpoint of a query, running or stopped.

    What the pipeline was is in the manifest that `write_to` leaves. Where there is none, or Python code is part of the
    pipeline, give the pipeline itself. `stage` is which one of several, counted from 1; the last if it is not given.
    """
    folder = Folder.of(checkpoint)
    batch = _last_batch(folder)
    session = spark or SparkSession.getActiveSession() or _session()
    operators = _operators(session, folder)
    place = len(operators) if stage is None else stage
    if not 1 <= place <= len(operators):
        raise InputError(f"inspect: `stage` ({stage}) must be from 1 to {len(operators)}, the stages of this query.")
    manifest = read_manifest(folder)
    spec, schema, ids = _pipeline(folder, manifest, pipeline, place)
    reader = session.read.format("statestore").option("stateVarName", CHUNKS).option("batchId", batch)
    state = reader.option("operatorId", operators[place - 1]).load(folder.text)
    chunks = state.select("key.shard", "user_map_key.*", "user_map_value.payload")
    return Inspection(chunks, Plan.bind(spec, schema), ids, batch, manifest)


def _pipeline(
    folder: Folder, manifest: Manifest | None, pipeline: SparkRun | None, stage: int
) -> tuple[WindowSpec, pa.Schema, list[int]]:
    """The spec, the columns and the shards of a stage: as given, or as the manifest says."""
    if pipeline is not None:
        known: Stage | None = None if manifest is None else manifest.stages[stage - 1]
        run = pipeline
        while run.before is not None and run.stage > stage:
            run = run.before
        return run.spec, run.plan.schema, run.ids if known is None else known.shards
    if manifest is None:
        raise StateError(
            f"inspect: the checkpoint {folder.text!r} has no manifest, because no write_to began it. "
            "Give the pipeline it belongs to, as in inspect(checkpoint, pipeline)."
        )
    known = manifest.stages[stage - 1]
    return known.window_spec(), known.schema(), known.shards


def _session() -> SparkSession:
    """One for looking only: on this machine, without Spark's own pages and progress bars."""
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
    """The stateful operators of the query that are ours, the first stage first."""
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


def _account(shard: ShardOperator, name: int) -> pa.Table:
    counts = shard.accounting.as_dict()
    times = [moments(pa.array([getattr(shard, time)]).to_numpy()) for time in _TIMES]
    return pa.table(
        [pa.array([name], pa.int32()), *(pa.array([counts[count]]) for count in COUNTS), *times], schema=_ACCOUNTS
    )
