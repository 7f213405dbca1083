"""Run a spec over Spark DataFrames, streaming or batch; the result is a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import SpecError
from fanlight.kernels.plain_type import plain_type
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.bind import bind
from fanlight.operators.fingerprint import fingerprint
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.follow import follows_clock, judges_each, told_as, told_by_packer
from fanlight.operators.ingest.prepare import common_schema
from fanlight.operators.operator import BoundSpec
from fanlight.operators.stage_chain import StageChain, StagePlan
from fanlight.spark import last_watermark
from fanlight.spark.append_only import append_only
from fanlight.spark.bound_once import bound_once
from fanlight.spark.input import SparkInput
from fanlight.spark.output import ACCOUNT, COUNTS, FIRING, LETTER, OUTPUT, OUTPUT_ARROW, output_rows
from fanlight.spark.pack import PACKED, SHARD, Packing, Sent, broadcast, pack_by_shard, rows_of
from fanlight.spark.processor import ShardProcessor, at_the_end, passed, unpacked
from fanlight.spark.progress import WATERMARK, observed_as
from fanlight.spark.shards import even_ids, places_itself, with_hashed_places
from fanlight.spark.shipping import portable, portable_function, through
from fanlight.spark.spreading import with_copies
from fanlight.spark.store import CHUNKS, KEYS, VALUES
from fanlight.spark.supported import require_names
from fanlight.state.memory import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import Column


class SparkRun:
    """A stage declared over DataFrames or over stages before; nothing runs before Spark is asked for rows."""

    bound: BoundSpec

    def __init__(
        self, spec: StreamSpec, inputs: Sequence[SparkInput], *, panes: bool | None = None, first: int = 1
    ) -> None:
        """`panes` says whether rows have a `pane` column; by default they do if a pane can fire more than once.

        `first` is the number of the first stage.
        """
        self.spec = spec
        self._first = first
        self.inputs: tuple[SparkInput, ...] = ()
        self.stage: int = first
        """Which stage of the pipeline it is; those before it have smaller numbers."""
        for one in inputs:
            self.inputs += (one.numbered(self.stage),)
            self.stage = self.stage if self.inputs[-1].before is None else self.inputs[-1].before.stage + 1
        if len({one.is_streaming for one in inputs}) > 1:
            raise SpecError("union: one input is a stream and another is not. Read both in the same way.")
        self.source = self.inputs[0].source
        self.before = self.inputs[0].before if len(self.inputs) == 1 else None
        """The stage whose results this one reads, if it reads one."""
        self._panes = not spec.fires_once if panes is None else panes
        schema = with_copies(spec, common_schema({one.name: one.schema(spec) for one in self.inputs}))
        full = bind(spec, schema)
        require_names(full.result, self.source.sparkSession)
        self.bound = full if self._panes else bind(spec, schema, lean=True)
        partitions = int(self.source.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        self.shares: bool = self.before is not None and self._can_share(self.before)
        """Whether it runs in the shards of the stage before, so that nothing has to travel between the two."""
        self.ids: list[int] = (
            self.before.ids
            if self.before is not None and self.shares
            else even_ids(1 if spec.in_one_shard or judges_each(spec.watermark) else partitions, partitions)
        )

    @classmethod
    def over(
        cls, spec: StreamSpec, frame: DataFrame, intake: Intake | None = None, *, panes: bool | None = None
    ) -> SparkRun:
        """The stage that reads one DataFrame."""
        return cls(spec, [SparkInput(spec.watermark, frame, None, intake)], panes=panes)

    def followed_by(self, spec: StreamSpec, intake: Intake | None = None) -> SparkRun:
        """A stage over the results of this one, in the same query."""
        return SparkRun(spec, [self.as_input(spec, intake)])

    def as_input(self, spec: StreamSpec, intake: Intake | None, name: str = "") -> SparkInput:
        """The results of this stage as an input of another."""
        whole = Handover.of(self.spec, spec).reads_panes and not self._panes
        before = SparkRun(self.spec, self.inputs, panes=True) if whole else self
        return SparkInput(Explicit(), None, before, intake, name)

    def numbered(self, first: int) -> SparkRun:
        """The same stage, with the stages of its pipeline counted from `first`."""
        if first == self._first:
            return self
        return SparkRun(self.spec, self.inputs, panes=self._panes, first=first)

    @property
    def befores(self) -> list[SparkRun]:
        """All stages that this one reads, from the first on."""
        found: dict[int, SparkRun] = {}
        for one in self.inputs:
            if one.before is not None:
                found |= {run.stage: run for run in [*one.before.befores, one.before]}
        return [found[stage] for stage in sorted(found)]

    @property
    def plan(self) -> StagePlan:
        """The stage as its shards run it."""
        return StagePlan(
            self.spec,
            bound_once(self.spec, self.bound.schema, lean=not self._panes),
            self.stage,
            told_as(self.spec.watermark),
            self.inputs[0].handover(self.spec),
            fingerprint(self.spec, self.bound.schema, self.ids),
            self.inputs[0].intake if self.shares else None,
            follows=any(one.before is not None for one in self.inputs),
        )

    @property
    def chain(self) -> list[SparkRun]:
        """The stages that run in one shard with this one, and end with it."""
        return [*self.before.chain, self] if self.before is not None and self.shares else [self]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its inputs, if there are several."""
        return tuple(one.name for one in self.inputs) if len(self.inputs) > 1 else ()

    @property
    def exchange(self) -> str:
        """How its records travel, in words; empty, if they do not."""
        if self.shares:
            return ""
        if judges_each(self.spec.watermark):
            return "one exchange to one shard, where each record is judged in its turn"
        shards = "one shard" if len(self.ids) == 1 else f"{len(self.ids)} shards by {self._sharded_by}"
        return f"one exchange to {shards}"

    def explain(self) -> str:
        """Describe where the stage runs: how its records are exchanged, and over how many shards."""
        if self.shares:
            return "on Spark, in the shards of the stage before"
        kind = "a streaming query" if self.source.isStreaming else "one batch"
        return f"on Spark, in {kind}: {self.exchange}, state in RocksDB"

    @property
    def _sharded_by(self) -> str:
        if not self.spec.is_spread:
            return "key"
        return "key and time" if self.spec.keys else "time"

    def df(self) -> DataFrame:
        """The result rows."""
        return append_only(self._opened(FIRING, self.bound.result))

    def dead_letters(self) -> DataFrame:
        """The records that could not be used; on a stream, a query of its own."""
        return self._opened(LETTER, self.letters)

    def accounting(self) -> DataFrame:
        """The accounting, one row for each step of a shard; on a stream, a query of its own."""
        accounts = self.leaving().filter(functions.col("kind") == ACCOUNT)
        inputs = ["inputs"] if any(run.names for run in [*self.befores, self]) else []
        return accounts.select("stage", "batch", "shard", *COUNTS, "watermark", *inputs)

    @property
    def letters(self) -> pa.Schema:
        """The columns of dead letters: those of the first stage. Letters of a later one have their record as detail."""
        for before in self.befores:
            return before.letters
        return DeadLetters(self.bound.schema, of_times=self.bound.of_times).schema

    def leaving(self, signals: str | None = None) -> DataFrame:
        """The whole output of the shards, as chunks; the counts are in the progress of the query.

        A file that appears in the folder `signals` ends the input: every window closes and fires.
        """
        chain = self.chain
        packed = chain[0]._packed(signals).groupBy("shard")  # noqa: SLF001 -- the first of its own stages
        plans = [run.plan for run in chain]
        if self.source.isStreaming:
            portably = portable(ShardProcessor(plans, self.letters, chain[0].names), **{CHUNKS: (KEYS, VALUES)})
            leaving = packed.transformWithState(portably, OUTPUT, "append", "none")
        else:
            leaving = packed.applyInArrow(portable_function(_whole(plans, self.letters, chain[0].names)), OUTPUT)
        for run in chain:
            leaving = leaving.observe(observed_as(run.stage), *_observed(run.stage))
        return leaving

    def _opened(self, kind: str, schema: pa.Schema) -> DataFrame:
        return through(self.leaving(), rows_of(kind), from_arrow_schema(schema))

    def _packed(self, signals: str | None) -> DataFrame:
        """The records of all inputs as chunks by shard; in a stream, with the clock of their batch."""
        packed = reduce(DataFrame.union, [self._packed_input(place, signals) for place in range(len(self.inputs))])
        if not self.source.isStreaming:
            return packed
        stream = self.source.sparkSession.readStream
        if signals is not None:
            packed = packed.union(through(stream.text(signals), broadcast(self.ids, Sent.END), PACKED))
        if self.needs_clock:
            ticks = stream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
            packed = packed.union(through(ticks, broadcast(self.ids, Sent.HEARTBEAT), PACKED))
        # in a stream this is the start of the batch, also if the batch is repeated
        return packed.withColumn("clock", functions.unix_micros(functions.current_timestamp()))

    @property
    def needs_clock(self) -> bool:
        """Whether the clock alone can make rows leave, or move the watermark."""
        return self.spec.needs_clock or follows_clock(self.spec.watermark)

    def _packed_input(self, place: int, signals: str | None) -> DataFrame:
        """The records of one input as chunks by shard."""
        one = self.inputs[place]
        known = partial(last_watermark.found, self.stage) if self.source.isStreaming else _unmoved
        # the one bundle of a batch DataFrame acts on the watermark of all its records, if results show it
        heartbeat = self.source.isStreaming or not self.spec.fires_once
        packing = Packing(place, one.after, one.intake, told_by_packer(one.watermark), one.marks(self.spec))
        sealed = pack_by_shard(self.spec, self.bound.schema, self.ids, known, heartbeat=heartbeat, packing=packing)
        if self.placed_by_packer:
            packed = one.sealed(self.spec, signals, sealed)
        else:
            records = with_hashed_places(one.records(self.spec, signals), self.spec.keys, len(self.ids), SHARD)
            packed = through(records, sealed, PACKED)
        return one.followed(packed, by_event=self.spec.domain is TimeDomain.EVENT)

    @property
    def placed_by_packer(self) -> bool:
        """Whether the packer places keys: one integer column, or keys that something is done to before."""
        types = [plain_type(self.bound.schema.field(key).type) for key in self.spec.keys]
        return places_itself(types) or any(one.intake is not None for one in self.inputs)

    def _can_share(self, before: SparkRun) -> bool:
        """Whether the records of this stage are all in the shard that makes them: that of the stage before."""
        if len(before.ids) == 1:
            return True
        if before.spec.is_spread:
            return False
        keys = before.spec.keys
        return not self.spec.in_one_shard and set(keys) <= set(self.spec.keys) and self.inputs[0].keeps(keys)


def _unmoved() -> Timestamp:
    """The watermark before the one bundle of a batch DataFrame."""
    return START_OF_TIME


def _observed(stage: int) -> list[Column]:
    """The counts of a stage in a micro-batch and the watermark it acted on, as the query's progress shows them."""
    own = functions.col("stage") == stage
    counts = [
        functions.coalesce(functions.sum(functions.when(own, functions.col(count))), functions.lit(0)).alias(count)
        for count in COUNTS
    ]
    return [*counts, functions.max(functions.when(own, functions.col(WATERMARK))).alias(WATERMARK)]


def _whole(
    plans: list[StagePlan], letters: pa.Schema, inputs: tuple[str, ...]
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """The function that runs a shard of a batch DataFrame: all records are one bundle, then the input ends.

    These are two steps, as on other engines; for panes that fire once, one step gives the same rows.
    """

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        order = [(column, "ascending") for column in ("input", "origin", "sequence")]
        come = table.sort_by(order).to_pylist()
        if all(row["kind"] == Sent.HEARTBEAT for row in come):
            return OUTPUT_ARROW.empty_table()
        chain = StageChain(plans, MemoryStore())
        arrivals, preaggregated = unpacked(chain.first, come, inputs, None)
        if plans[0].spec.fires_once:
            arrivals = at_the_end(arrivals)
        rows = [*chain.step(arrivals, preaggregated=preaggregated), *chain.step(ends=True)]
        leaving = output_rows(chain, rows, letters, batch=0, name=key[0].as_py())
        return pa.Table.from_pylist([*leaving, *passed(come)], schema=OUTPUT_ARROW)

    return run
