"""One shard on Spark: it unpacks chunks, takes a step of its stages and returns the output rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle, TimerValues

from fanlight.errors import StateError
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.preaggregator import ROWS, PreAggregated
from fanlight.operators.shard import Shard
from fanlight.operators.stage_chain import StageChain, StagePlan
from fanlight.spark import in_doubt, last_watermark
from fanlight.spark.output import OutputRow, output_rows
from fanlight.spark.pack import Sent
from fanlight.spark.store import CHUNKS, KEYS, VALUES, SparkStore
from fanlight.spark.wire import opened


class ShardProcessor(StatefulProcessor):
    """Runs the stages that share their keys on every shard of a partition. Parameter names are PySpark's.

    Watermark and clock come with the chunks, and every batch with records brings chunks to every shard. So Spark is
    asked for neither, and keeps no timers: each call would be a round trip.
    """

    def __init__(self, stages: Sequence[StagePlan], letters: pa.Schema, inputs: Sequence[str] = ()) -> None:
        """`letters` are the columns of dead letters, those of the first stage of the pipeline.

        `inputs` are the names of the inputs, if there are several.
        """
        self._stages = tuple(stages)
        self._letters = letters
        self._inputs = tuple(inputs)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self.start(handle.getMapState(CHUNKS, KEYS, VALUES))

    def start(self, chunks: MapState) -> None:
        """Start the work of a partition, with a state that is already declared."""
        self._chunks = chunks
        self._batch = last_watermark.batch_number()

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called once for each shard that has chunks."""
        come = sorted(rows, key=lambda row: (row["input"], row["origin"], row["sequence"]))
        yield from self._step(key[0], come)

    def _step(self, name: int, come: list[Any]) -> Iterator[Row]:
        chain = StageChain(self._stages, SparkStore(self._chunks))
        arrivals, preaggregated = unpacked(chain.first, come, self._inputs, max(row["clock"] for row in come))
        ends = any(row["kind"] == Sent.END for row in come)
        if ends and self._stages[0].follows:  # the stage before has ended too, and hands on its last rows
            rows = chain.step(at_the_end(arrivals), preaggregated=preaggregated, ends=True)
        else:
            rows = chain.step(arrivals, preaggregated=preaggregated)
            rows += chain.step(ends=True) if ends else []
        last_watermark.leave(chain.first.watermark, self._stages[0].number)
        for row in output_rows(chain, rows, self._letters, batch=self._batch, name=name):
            yield Row(**row)
        yield from (Row(**row) for row in passed(come))


def at_the_end(arrivals: list[Arrival]) -> list[Arrival]:
    """What inputs bring that have ended: nothing will come any more."""
    return [one._replace(said=replace(one.said, watermark=END_OF_TIME)) for one in arrivals]


def passed(come: list[Any]) -> Iterator[OutputRow]:
    """The output of the stage before besides its firings; it is passed on unchanged."""
    for row in come:
        if row["kind"] == Sent.PASSED:
            yield from opened(bytes(row["payload"])).to_pylist()


def unpacked(
    shard: Shard, come: list[Any], inputs: Sequence[str], clock: Timestamp | None
) -> tuple[list[Arrival], PreAggregated | None]:
    """Packed rows, in their order: what each input brings, and the records of all that are pre-aggregated."""
    preaggregated: list[pa.RecordBatch] = []
    arrivals: list[Arrival] = []
    for place in range(max(len(inputs), 1)):
        own = [row for row in come if row["input"] == place]
        chunks: dict[str, list[pa.RecordBatch]] = {Sent.RECORDS: [], Sent.PREAGGREGATED: []}
        for row in own:
            if row["kind"] in chunks:
                chunks[row["kind"]].append(opened(bytes(row["payload"])))
        records, aggregated = chunks[Sent.RECORDS], chunks[Sent.PREAGGREGATED]
        preaggregated += aggregated
        told = max((row["watermark"] for row in own), default=START_OF_TIME)
        doubtful = [bytes(row["payload"]) for row in own if row["kind"] == Sent.IN_DOUBT]
        if doubtful and clock is not None:
            told = max(told, in_doubt.settled(doubtful, TimeReader.of(shard.spec).furthest(clock)))
        said = Said(inputs[place] if inputs else None, None if told == START_OF_TIME else told, clock)
        filtered = sum(int.from_bytes(row["payload"]) for row in own if row["kind"] == Sent.FILTERED)
        counted = sum(pc.sum(chunk.column(ROWS)).as_py() for chunk in aggregated)
        came = CheckedBatch(pa.concat_batches(records)) if records else None
        if came is None and (aggregated or filtered):
            assert shard.bound is not None  # it is bound when it is made
            came = CheckedBatch(pa.RecordBatch.from_pylist([], schema=shard.bound.schema))
        arrivals.append(Arrival(came, said, None, filtered, counted))
    return arrivals, _read(shard, preaggregated) if preaggregated else None


def _read(shard: Shard, chunks: list[pa.RecordBatch]) -> PreAggregated | None:
    preaggregator = None if shard.bound is None else shard.bound.preaggregator
    assert preaggregator is not None  # the packer had the same plan
    preaggregated = preaggregator.read(chunks)
    dead = 0 if preaggregated is None else preaggregator.expired(preaggregated, shard.watermark)
    if dead:
        last_watermark.forget()
        raise StateError(
            f"{dead} records were pre-aggregated for windows that had expired: the packer used a watermark of "
            "another run of this query. Start the query again; nothing is lost."
        )
    return preaggregated
