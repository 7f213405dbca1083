"""A spec over a Spark DataFrame, streaming or not, as a DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from fanlight.errors import SpecError
from fanlight.model.kinds import spans_keys
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.triggers import AfterDelay, Every
from fanlight.model.watermarks import BoundedDisorder
from fanlight.model.windows import TimeDomain
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.fingerprint import fingerprint
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.stages import next_schema
from fanlight.operators.watermark import watermark_of
from fanlight.spark import horizon
from fanlight.spark.carrying import carried_schema, carrying
from fanlight.spark.columns import with_column
from fanlight.spark.envelope import ENVELOPE, FAR, SHARD, Sent, rows_of, seal, telling
from fanlight.spark.fit import require_fit, require_names
from fanlight.spark.leaving import ACCOUNT, COUNTS, FIRING, LEAVING, LEAVING_ARROW, LETTER, leaving_of
from fanlight.spark.processor import ShardProcessor, passed, unpacked
from fanlight.spark.progress import observed_as
from fanlight.spark.session import require_settings
from fanlight.spark.shards import even_ids, places_itself, with_hashed_places
from fanlight.spark.shipping import portable, portable_function, through
from fanlight.spark.store import CHUNKS, KEYS, VALUES
from fanlight.state.memory import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOLLOWED = "_fanlight_followed"


class SparkRun:
    """A windowed aggregation declared over a DataFrame; nothing runs before Spark is asked for rows."""

    plan: Plan

    def __init__(
        self, spec: WindowSpec, source: DataFrame, *, before: SparkRun | None = None, panes: bool | None = None
    ) -> None:
        """`panes` says whether rows tell of their panes; as it is, if a pane can fire more than once."""
        self.spec = spec
        self.source = source
        self.before = before
        """The stage whose results this one reads, if there is one; the source is then the first stage's."""
        self._panes = not spec.fires_once if panes is None else panes
        self.stage: int = 1 if before is None else before.stage + 1
        if before is None:
            schema = to_arrow_schema(source.schema, timezone="UTC")
            require_fit(spec, source, schema)
            if source.isStreaming:
                require_settings(source.sparkSession)
        else:
            if source.isStreaming and not before.plan.of_times:
                raise SpecError(
                    "rewindow: on a stream a later stage goes by the watermark of the first, and windows over "
                    "positions close by none. Use a batch DataFrame, or the embedded engine."
                )
            schema = next_schema(before.plan.result)
        require_names(spec, source.sparkSession)
        self.plan = Plan.bind(spec, schema)
        partitions = int(source.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        # where records are numbered as they arrive, one shard numbers them all
        self.ids = even_ids(1 if spans_keys(spec.window) or not spec.keys else partitions, partitions)

    def followed_by(self, spec: WindowSpec) -> SparkRun:
        """A stage over the results of this one, in the same query."""
        return SparkRun(spec, self.source, before=self)

    def explain(self) -> str:
        """Where the stage runs: how its records are exchanged, and over how many shards."""
        shards = "one shard" if len(self.ids) == 1 else f"{len(self.ids)} shards by key"
        kind = "a streaming query" if self.source.isStreaming else "one batch"
        return f"on Spark, in {kind}: one exchange to {shards}, state in RocksDB"

    def df(self) -> DataFrame:
        """The result rows."""
        return self._opened(FIRING, self.plan.result if self._panes else self.plan.rows)

    def dead_letters(self) -> DataFrame:
        """The records that could not be used; on a stream, a query of its own."""
        return self._opened(LETTER, self.letters)

    def accounting(self) -> DataFrame:
        """Where every record went, a row for each step of a shard; on a stream, a query of its own."""
        accounts = self.leaving().filter(functions.col("kind") == ACCOUNT)
        return accounts.select("stage", "batch", "shard", *COUNTS, "watermark")

    @property
    def letters(self) -> pa.Schema:
        """The columns of dead letters: of the first stage, because what it fires is never late for the next."""
        if self.before is not None:
            return self.before.letters
        return DeadLetters(self.plan.schema, of_times=self.plan.of_times).schema

    def leaving(self, signals: str | None = None) -> DataFrame:
        """All that leaves the shards, as chunks; the counts are in the progress of the query that runs it.

        A file that appears in the folder `signals` ends the input: every window closes and fires.
        """
        packed = self._packed(signals).groupBy("shard")
        if self.source.isStreaming:
            processor = ShardProcessor(
                self.spec,
                self.plan.schema,
                stage=self.stage,
                panes=self._panes,
                fingerprint=fingerprint(self.spec, self.plan.schema, self.ids),
            )
            portably = portable(processor, **{CHUNKS: (KEYS, VALUES)})
            leaving = packed.transformWithState(portably, LEAVING, "append", "none")
        else:
            whole = _whole(self.spec, self.plan.schema, self.stage, panes=self._panes)
            leaving = packed.applyInArrow(portable_function(whole), LEAVING)
        own = functions.col("stage") == self.stage
        counts = [
            functions.coalesce(functions.sum(functions.when(own, functions.col(count))), functions.lit(0)).alias(count)
            for count in COUNTS
        ]
        return leaving.observe(observed_as(self.stage), *counts)

    def _opened(self, kind: str, schema: pa.Schema) -> DataFrame:
        return through(self.leaving(), rows_of(kind, schema), from_arrow_schema(schema))

    def _packed(self, signals: str | None) -> DataFrame:
        """Chunks by shard; in a stream, with the clock of their batch."""
        known = horizon.found if self.source.isStreaming else _unmoved
        # the one bundle of a batch DataFrame acts on the watermark of all its records, where that can be seen
        heartbeat = self.source.isStreaming or not self.spec.fires_once
        sealed = seal(self.spec, self.plan.schema, self.ids, known, heartbeat=heartbeat)
        records = self._by_clock(self._records(signals))
        if not places_itself(self.plan.key_fields):
            records = with_hashed_places(records, self.spec.keys, len(self.ids), SHARD)
        packed = self._followed(through(records, sealed, ENVELOPE))
        if not self.source.isStreaming:
            return packed
        stream = self.source.sparkSession.readStream
        if signals is not None:
            packed = packed.union(through(stream.text(signals), telling(self.ids, Sent.END), ENVELOPE))
        if _needs_clock(self.spec):
            ticks = stream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
            packed = packed.union(through(ticks, telling(self.ids, Sent.HEARTBEAT), ENVELOPE))
        # in a stream, this is when its batch began, also if the batch is repeated
        return packed.withColumn("clock", functions.unix_micros(functions.current_timestamp()))

    def _by_clock(self, records: DataFrame) -> DataFrame:
        """The records, each with whether its time is too far ahead of the clock of its batch, in the first stage of a
        stream. The shard knows the clock too; but the envelope lets the watermark follow records before it hears.
        """
        ahead = self.spec.ahead
        if ahead is None or self.before is not None or not self.source.isStreaming:
            return records
        limit = functions.unix_micros(functions.current_timestamp()) + functions.lit(min(ahead.micros, LATEST))
        return with_column(records, FAR, [self.spec.time], lambda time: functions.unix_micros(time) > limit)

    def _records(self, signals: str | None) -> DataFrame:
        """What this stage reads."""
        if self.before is not None:
            carried = from_arrow_schema(carried_schema(self.plan.schema))
            return through(self.before.leaving(signals), carrying(self.plan.schema), carried)
        return self.source

    def _followed(self, packed: DataFrame) -> DataFrame:
        """Chunks that Spark's watermark has followed, in the first stage of a stream.

        The shards go by what the chunks tell them, a batch earlier than Spark would let them; Spark shows its own, and
        the greatest event time, in a query's progress, and nothing else needs it. What it followed is left behind, so
        that Spark holds no chunk to be late.
        """
        if self.before is not None or not self.source.isStreaming:
            return packed
        strategy, delay = self.spec.watermark, 0
        reached = functions.current_timestamp()
        if self.spec.window.domain is TimeDomain.EVENT and isinstance(strategy, BoundedDisorder):
            delay = strategy.delay.micros
            # where no record has come yet, the sum is far below all times
            latest = functions.col("watermark") + functions.lit(delay)
            reached = functions.timestamp_micros(functions.greatest(latest, functions.lit(EARLIEST)))
        followed = packed.withColumn(_FOLLOWED, reached)
        return followed.withWatermark(_FOLLOWED, f"{delay} microseconds").drop(_FOLLOWED)


def _unmoved() -> Timestamp:
    """Where the watermark stands for the one bundle of a batch DataFrame."""
    return START_OF_TIME


def _whole(
    spec: WindowSpec, schema: pa.Schema, stage: int, *, panes: bool
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """What runs a shard of a batch DataFrame: all records are one bundle, and then the input ends.

    These are two steps, as they are elsewhere; a pane that fires once says the same in one.
    """

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        shard = ShardOperator(Plan.bind(spec, schema), MemoryStore(), panes=panes)
        before = replace(shard.accounting)
        come = table.sort_by([("origin", "ascending"), ("sequence", "ascending")]).to_pylist()
        if all(row["kind"] == Sent.HEARTBEAT for row in come):
            return LEAVING_ARROW.empty_table()
        bundle, folded = unpacked(shard, come)
        places = watermark_of(spec, START_OF_TIME, bundle.times) if bundle and spec.in_arrival_order else None
        told = END_OF_TIME if spec.fires_once else max(row["watermark"] for row in come)
        firings = [*shard.step(bundle, told if places is None else places, folded=folded), *shard.end()]
        place = {"stage": stage, "batch": 0, "name": key[0].as_py()}
        leaving = leaving_of(shard, firings, before, **place)
        return pa.Table.from_pylist([*leaving, *passed(come)], schema=LEAVING_ARROW)

    return run


def _needs_clock(spec: WindowSpec) -> bool:
    """Whether shards must hear of every batch, because the clock alone can make a pane fire."""
    timed = any(
        isinstance(part, AfterDelay) or (isinstance(part, Every) and part.domain is TimeDomain.PROCESSING)
        for part in spec.trigger.walk()
    )
    return timed or spec.in_processing_time
