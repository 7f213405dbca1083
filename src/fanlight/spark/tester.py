"""Run a shard's processor with a given watermark and clock: no session, no Java.

PySpark's `TwsTester` keeps state in memory; this module runs micro-batches on it, as Spark does:

    a new processor over the state ─► the rows of the shard, with watermark and clock
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import chain

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, Several, WatermarkStrategy
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.ingest.bundle import TimeReader, times_in
from fanlight.operators.ingest.follow import told_as, told_by_packer
from fanlight.operators.ingest.prepare import Gate, common_schema
from fanlight.operators.shard import Shard
from fanlight.operators.stage_chain import StagePlan
from fanlight.spark.bound_once import bound_once
from fanlight.spark.far_ahead import Marks, marked
from fanlight.spark.pack import SHARD, Packing, Sent, broadcast, pack_by_shard
from fanlight.spark.processor import ShardProcessor
from fanlight.spark.spreading import with_copies
from fanlight.spark.store import CHUNKS, KEYS, VALUES, SparkStore

ONLY = 0
"""The id of the only shard."""

_MILLISECOND = 1_000
_A_ROW = pa.record_batch({"end": [True]})


class TestedShard:
    """The real processor over state in memory: packed rows in, `OUTPUT` rows out."""

    def __init__(self, plan: StagePlan, inputs: Sequence[str] = ()) -> None:
        self._plan = plan
        bound = plan.bind()
        letters = DeadLetters(bound.schema, of_times=bound.of_times).schema
        self._processor = ShardProcessor([plan], letters, inputs)
        self._tester = TwsTester(copy(self._processor))
        self._clock: Timestamp = START_OF_TIME

    def shard(self) -> Shard:
        """The shard between two batches, for reading."""
        self._tester.handle.setGroupingKey(ONLY)
        chunks = self._tester.handle.getMapState(CHUNKS, KEYS, VALUES)
        plan = self._plan
        return Shard(plan.spec, SparkStore(chunks), bound=plan.bind(), followed=plan.followed)

    def _at(self, clock: Timestamp) -> Timestamp:
        """Move the clock, never back, as exactly as Spark's does; the clock now."""
        self._clock = max(self._clock, min(clock, LATEST) // _MILLISECOND * _MILLISECOND)
        return self._clock

    def _run(self, come: list[Row]) -> list[Row]:
        """Run a micro-batch on a new copy of the processor, as Spark does: only stored state survives."""
        processor = self._tester.processor = copy(self._processor)
        processor.init(self._tester.handle)
        leaving: list[Row] = self._tester.test(ONLY, come)
        return leaving


class ShardTester(TestedShard):
    """One shard on the real processor: `batch` by batch, rows in through the real packer, `OUTPUT` rows out.

    Times are microseconds. `preaggregates` says whether the packer knows how far the shard has come, as it does on the
    machine the last batch ran on; where it does not, it pre-aggregates nothing.
    """

    def __init__(self, spec: StreamSpec, schema: pa.Schema, *, preaggregates: bool = True) -> None:
        self.spec = spec
        self.schema = schema
        self._preaggregates = preaggregates
        self._times = TimeReader.of(spec)
        super().__init__(StagePlan(spec, bound_once(spec, schema)))
        packing = Packing(marks=None if spec.ahead is None else Marks(spec.time))
        self._pack = pack_by_shard(spec, schema, [ONLY], self._horizon, heartbeat=True, packing=packing)

    def batch(
        self, records: Sequence[pa.RecordBatch], *, watermark: Timestamp, clock: Timestamp, ends: bool = False
    ) -> list[Row]:
        """Run one micro-batch with this watermark and clock; `ends` says whether the input ends with it.

        The shard takes part in every batch: one without records is a heartbeat.
        """
        told = min(watermark, LATEST)  # it follows times of records, so it never comes to the end of time
        times = {"watermark": told, "clock": self._at(clock)}
        marked = [self._marked(batch) for batch in records]
        return self._run([Row(**{**row.asDict(), **times}) for row in self._sealed(marked, ends=ends)])

    def _marked(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The records, with a mark on those that Spark would find too far ahead of the clock."""
        limit = self._times.furthest(self._clock)
        if limit == END_OF_TIME:
            return records
        times, _ = times_in(records, self.spec.time, self.spec.unit)
        is_far = (times > limit) & (times <= LATEST)
        return marked(records, self.spec.time, pa.array(is_far)) if is_far.any() else records

    def _sealed(self, records: Sequence[pa.RecordBatch], *, ends: bool) -> Iterator[Row]:
        placed = (batch.append_column(SHARD, pa.array([0] * len(batch), pa.int32())) for batch in records)
        for rows in chain(self._pack(placed), _ending(ends=ends)):
            yield from (Row(**row) for row in rows.to_pylist())

    def _horizon(self) -> Timestamp | None:
        return self.shard().watermark if self._preaggregates else None


class InputsTester(TestedShard):
    """The same for a stage with several inputs: each is packed by a packer of its own, with its watermark.

    `columns` are those of each input, before what `intakes` say is done to its records.
    """

    def __init__(self, spec: StreamSpec, columns: Mapping[str, pa.Schema], intakes: Mapping[str, Intake]) -> None:
        gates = {name: Gate(intake, TimeReader.of(spec)) for name, intake in intakes.items()}
        schema = with_copies(spec, common_schema({name: gate.schema_of(columns[name]) for name, gate in gates.items()}))
        super().__init__(
            StagePlan(spec, bound_once(spec, schema), followed=told_as(spec.watermark)), inputs=tuple(intakes)
        )
        strategies: dict[str, WatermarkStrategy] = {}
        if isinstance(spec.watermark, Several):
            strategies |= dict(spec.watermark.inputs)
        self._packs = {
            name: pack_by_shard(
                spec,
                schema,
                [ONLY],
                _never,
                heartbeat=True,
                packing=Packing(place, None, intake, told_by_packer(strategies.get(name, Explicit()))),
            )
            for place, (name, intake) in enumerate(intakes.items())
        }

    def batch(
        self,
        records: Mapping[str, pa.RecordBatch],
        *,
        watermarks: Mapping[str, Timestamp],
        clock: Timestamp,
        ends: bool = False,
    ) -> list[Row]:
        """Run one micro-batch: the records of each input, and the watermarks that inputs say besides these."""
        now, come = self._at(clock), []
        for name, pack in self._packs.items():
            said = watermarks.get(name, START_OF_TIME)
            for packed in pack(iter([records[name]] if name in records else [])):
                rows = packed.to_pylist()
                come += [Row(**{**row, "watermark": max(row["watermark"], said), "clock": now}) for row in rows]
        for told in _ending(ends=ends):
            come += [Row(**row, clock=now) for row in told.to_pylist()]
        return self._run(come)


def _ending(*, ends: bool) -> Iterator[pa.RecordBatch]:
    """What tells the shard that the input ends, if it does."""
    return broadcast([ONLY], Sent.END)(iter([_A_ROW] if ends else []))


def _never() -> Timestamp | None:
    """How far a shard has come, where nothing is pre-aggregated."""
    return None
