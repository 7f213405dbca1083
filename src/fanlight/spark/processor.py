"""One shard on Spark: chunks in, `ShardOperator.step`, what leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle, TimerValues

from fanlight.errors import StateError
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.fingerprint import Fingerprint, require_same
from fanlight.operators.folded import Folded
from fanlight.operators.folding import folding_of
from fanlight.operators.intake import with_times
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.operators.watermark import watermark_of
from fanlight.spark import horizon
from fanlight.spark.envelope import Sent
from fanlight.spark.leaving import LeavingRow, leaving_of
from fanlight.spark.store import CHUNKS, KEYS, VALUES, SparkStore
from fanlight.spark.transit import opened

_FINGERPRINT = "fingerprint"


class ShardProcessor(StatefulProcessor):
    """Runs a spec on every shard of a partition. Parameter names are PySpark's: it calls by keyword.

    Watermark and clock come with the chunks, and every batch with records brings some to every shard. So Spark is asked
    for neither, and keeps no timers: each would be a round trip.
    """

    def __init__(
        self,
        spec: WindowSpec,
        schema: pa.Schema,
        *,
        stage: int = 1,
        panes: bool = True,
        fingerprint: Fingerprint | None = None,
    ) -> None:
        self._spec = spec
        self._schema = schema
        self._stage = stage
        self._panes = panes
        self._fingerprint = fingerprint

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self.start(handle.getMapState(CHUNKS, KEYS, VALUES))

    def start(self, chunks: MapState) -> None:
        """Begin the work of a partition, with a state that is declared already."""
        self._plan = Plan.bind(self._spec, self._schema)
        self._chunks = chunks
        self._batch = horizon.batch_number()

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called once for each shard that chunks have come for."""
        come = sorted(rows, key=lambda row: (row["origin"], row["sequence"]))
        yield from self._step(key[0], come)

    def _step(self, name: int, come: list[Any]) -> Iterator[Row]:
        shard = ShardOperator(self._plan, SparkStore(self._chunks), panes=self._panes)
        notes = self._notes(shard)
        before = replace(shard.accounting)
        clock = max(row["clock"] for row in come)
        bundle, folded = unpacked(shard, come, clock)
        firings = shard.step(bundle, self._watermark(come, clock, bundle), clock, notes=notes, folded=folded)
        if any(row["kind"] == Sent.END for row in come):
            firings += shard.end()
        horizon.leave(shard.watermark)
        place = {"stage": self._stage, "batch": self._batch, "name": name}
        for row in leaving_of(shard, firings, before, **place):
            yield Row(**row)
        yield from (Row(**row) for row in passed(come))

    def _watermark(self, come: list[Any], clock: Timestamp, bundle: Bundle | None) -> Timestamp:
        """What the step acts on: what its chunks tell, or what the clock or the records' positions say."""
        own = watermark_of(self._spec, clock, None if bundle is None else bundle.times)
        return max(row["watermark"] for row in come) if own is None else own

    def _notes(self, shard: ShardOperator) -> dict[str, Any]:
        """What is kept with the state: whose it is. State of another pipeline is refused before it is changed."""
        if self._fingerprint is None:
            return shard.notes
        stored = shard.notes.get(_FINGERPRINT)
        if stored is not None and stored != self._fingerprint:
            require_same(stored, self._fingerprint, "The state of this query")
        return {**shard.notes, _FINGERPRINT: self._fingerprint}


def passed(come: list[Any]) -> Iterator[LeavingRow]:
    """What the stage before let leave besides its firings; it goes on as it is."""
    for row in come:
        if row["kind"] == Sent.PASSED:
            yield from opened(bytes(row["payload"])).to_pylist()


def unpacked(
    shard: ShardOperator, come: list[Any], clock: Timestamp = START_OF_TIME
) -> tuple[Bundle | None, Folded | None]:
    """What an envelope's rows bring, in their order, as one bundle: records as they are, and folded ones.

    In processing time the `clock` is the time of them all.
    """
    chunks: dict[str, list[pa.RecordBatch]] = {Sent.RECORDS: [], Sent.FOLDED: []}
    for row in come:
        if row["kind"] in chunks:
            chunks[row["kind"]].append(opened(bytes(row["payload"])))
    return _bundle(shard, chunks[Sent.RECORDS], clock), _folded(shard, chunks[Sent.FOLDED])


def _bundle(shard: ShardOperator, chunks: list[pa.RecordBatch], clock: Timestamp) -> Bundle | None:
    if not chunks:
        return None
    batch = pa.concat_batches(chunks)
    shard.accounting.received += len(batch)
    judged: Timestamp = shard.watermark
    batch, times = with_times(shard.plan, batch, shard.letters, shard.accounting, judged, clock, shard.arrived)
    return Bundle(batch, times, np.array([judged]))


def _folded(shard: ShardOperator, chunks: list[pa.RecordBatch]) -> Folded | None:
    if not chunks:
        return None
    folding = folding_of(shard.plan)
    assert folding is not None  # the envelope has the same plan
    folded = folding.read(chunks)
    dead = 0 if folded is None else folding.expired(folded, shard.watermark)
    if dead:
        horizon.forget()
        raise StateError(
            f"{dead} records came folded for windows that had expired: the envelope was told a watermark of another "
            "run of this query. Start the query again; nothing is lost."
        )
    shard.accounting.received += 0 if folded is None else folded.records
    return folded
