"""The state of one stage of a query, read from its checkpoint as DataFrames.

chunks by shard ─► MemoryStore, Shard ─► rows
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import TimestampLike
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.accounting import MOMENT, moments
from fanlight.operators.bind import bind
from fanlight.operators.ingest.follow import told_as
from fanlight.operators.shard import Shard
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
from fanlight.spark.checkpoint.manifest import Manifest
from fanlight.spark.output import COUNTS
from fanlight.spark.pack import SHARD
from fanlight.spark.shards import places_itself, places_of, with_hashed_places
from fanlight.spark.shipping import portable_function
from fanlight.state.codec import decode
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

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
        plan: Any,
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
        self.plan: Plan = plan
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
        followed = told_as(spec.watermark) if spec.goes_by_input else Explicit()

        def read_shard(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
            shard = Shard(spec, _store(table), bound=bind(spec, columns), followed=followed)
            return read(shard, key[0].as_py()).cast(schema)

        return chunks.groupBy("shard").applyInArrow(portable_function(read_shard), from_arrow_schema(schema))


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
