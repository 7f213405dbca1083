"""The peers' own cases as real streaming queries: one micro-batch a step, their expected rows as they stand.

A micro-batch acts on the watermark of those before it, and Spark makes it from the greatest time seen, less a delay. So
the delay is as long as the case's greatest time, which keeps the records from moving it, and where a step is to act on
W, the micro-batch before brings a *marker* at W + delay. Markers have a lane of their own: a key no record has.

    step                 records 3, 7          watermark 10          records 12
    file                 3, 7, marker 10 + d   –                     12
    watermark acted on   –                     10                    10
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import LATEST
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.operators.accounting import MOMENT, DeadLetters
from fanlight.operators.operator import BoundSpec
from fanlight.operators.window.plan import Plan
from fanlight.spark.output import FIRING, LETTER
from fanlight.spark.run import SparkRun
from fanlight.spark.wire import opened, packed
from fanlight.testing.vectors import Vector, load
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.declare import TIME, declare
from fanlight.testing.vectors.drive_spark import MicroBatch, MicroBatches
from fanlight.testing.vectors.expect import differences
from fanlight.testing.vectors.play import play_vector

from .scripted import Feed, Left, ScriptedQuery, asked, one_batch_a_file

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parent.parent / "vectors"

NAMES = (
    # fixed windows: the end, lateness, dead letters, the time of a firing
    "beam_rf_fixed_eow_and_gc_together_nonempty",
    "beam_tr_fixed_drop_late_data_after_allowed_lateness",
    "beam_tr_timestamp_combiner_earliest",
    "beam_tr_known_late_data_watermark",
    "beam_tr_known_late_data_no_watermark_hold_possible",
    "beam_py_fixed_watermark_g2",
    "flink_tumbling_event_time",
    "flink_side_output_tumbling",
    "spark_append",
    "spark_append_metrics",
    # hopping windows, firing at every update and once when they expire
    "flink_side_output_sliding",
    "flink_tvf_hop_5s_10s",
    "kafka_hop_expired_on_update",
    "kafka_hop_expired_on_close",
    "kafka_emit_final_interval0",
    "kafka_emit_final_restart",
    # the global window
    "beam_rf_global_drain_count",
    # triggers: counts, early and late, any, until, in order, on the clock
    "beam_rf_no_empty_final_if_non_empty",
    "beam_rf_empty_final_always",
    "beam_rf_final_and_on_time",
    "beam_rf_proc_time_after_expiry",
    "beam_rf_empty_on_time_from_or_finally",
    "beam_py_any_count2_g2",
    "beam_py_fixed_early3_late2",
    "beam_py_after_count_streaming",
    "malhar_early_every_1s_accumulating",
    "seed_samza_time_max",
    # discarding
    "beam_rf_pane_info_discarding",
    "beam_tr_discarding_early_fixed",
    "beam_tr_garbage_collection",
    "flink_lateness_purging",
    "malhar_keyed_early_discarding",
    # retracting, and only what changed
    "malhar_refire_all_retracting",
    "malhar_only_updated_accumulating",
    "malhar_only_updated_retracting",
    "malhar_keyed_early_retracting",
)

LANE = "lane"
RECORD, MARKER = "record", "marker"
AT_ONCE = 3
"""Queries that run side by side: two cores have something to do while one of them waits."""
MILLISECOND = 1_000


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[list[str]]]]:
    """What differs in each case: all of them are on their way, a few at a time."""
    cases = {vector.name: vector for file in VECTORS.glob("*.yaml") for vector in load(file)}
    folder = tmp_path_factory.mktemp("vectors")
    with one_batch_a_file(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(compared, spark, cases[name], folder / name) for name in asked(request, "name")}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_streaming_query_gives_what_the_peer_says(played: dict[str, Future[list[str]]], name: str) -> None:
    assert not played[name].result()


def compared(spark: SparkSession, vector: Vector, folder: Path) -> list[str]:
    """Play a case on a query, and lay what came out beside what it expects."""
    spec = declare(vector)
    columns = Columns.of(vector, spec)
    asked = Script(spec, columns.schema)
    play_vector(vector, spec, columns, asked, states=())
    given = Translation(spec, columns.schema, asked.batches).run(spark, folder, asked.restarts)
    return differences(vector, play_vector(vector, spec, columns, Script(spec, columns.schema, given), states=()))


class Script(MicroBatches):
    """Notes the micro-batches that a case asks for; told what they gave, it hands that out."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema, given: Iterable[list[tuple[str, bytes]]] = ()) -> None:
        super().__init__(spec, schema)
        self.batches: list[MicroBatch] = []
        self.restarts: list[int] = []
        self._given = iter(given)

    def run(self, batch: MicroBatch) -> list[tuple[str, bytes]]:
        self.batches.append(batch)
        return next(self._given, [])

    def checkpoint_restore(self) -> None:
        self.restarts.append(len(self.batches))

    def state(self) -> pa.Table:
        raise AssertionError("a query's live windows are not looked at here")


class Translation:
    """A case as a query runs it: times as timestamps, lanes, markers, a delay; and what leaves it, read back."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema, batches: list[MicroBatch]) -> None:
        self._batches = batches
        self._plan = Plan.bind(spec, schema)
        times = [batch.records.column(TIME) for batch in batches if batch.records is not None]
        self._delay = max(1, *(pc.max(column).as_py() for column in times)) * MILLISECOND
        self.spec = replace(spec, keys=(*spec.keys, LANE), watermark=BoundedDisorder(Duration(self._delay)))
        self.schema = pa.schema([*schema, pa.field(LANE, pa.string())])
        self.schema = self.schema.set(self.schema.get_field_index(TIME), pa.field(TIME, MOMENT))

    def run(self, spark: SparkSession, folder: Path, restarts: list[int]) -> list[list[tuple[str, bytes]]]:
        """What leaves each micro-batch."""
        feed = Feed(spark, folder, self.schema)
        run = SparkRun.over(self.spec, feed.frame, panes=True)
        given = []
        with ScriptedQuery(feed, run.leaving(str(feed.signals)), folder) as query:
            for place, batch in enumerate(self._batches):
                if place in restarts:
                    query.restart()
                file = None if batch.ends else self._file(batch)
                given.append(self._read(query.batch(file, batch.clock // MILLISECOND), run.bound))
        return given

    def _file(self, batch: MicroBatch) -> pa.Table:
        """A bundle, and a marker for the watermark that it acts on."""
        rows = [] if batch.records is None else [self._with_lane(batch.records)]
        if batch.watermark > 0:
            reached = min(batch.watermark, LATEST - self._delay)
            marker = pa.table({TIME: pa.array([reached + self._delay]).cast(MOMENT), LANE: [MARKER]})
            rows.append(marker)
        return pa.concat_tables([self.schema.empty_table(), *rows], promote_options="default").select(self.schema.names)

    def _with_lane(self, records: pa.RecordBatch) -> pa.Table:
        times = pc.multiply(records.column(TIME), MILLISECOND).cast(MOMENT)
        place = records.schema.get_field_index(TIME)
        table = pa.Table.from_batches([records]).set_column(place, TIME, times)
        return table.append_column(LANE, pa.repeat(RECORD, len(records)))

    def _read(self, left: list[Left], bound: BoundSpec) -> list[tuple[str, bytes]]:
        """What left, without markers and lanes and in the columns of the case; of several shards in the law's order."""
        chunks = {kind: [opened(row["payload"]) for row in left if row["kind"] == kind] for kind in (FIRING, LETTER)}
        return [
            *((FIRING, packed(batch)) for batch in self._firings(chunks[FIRING], bound)),
            *((LETTER, packed(batch)) for batch in self._letters(chunks[LETTER])),
        ]

    def _firings(self, chunks: list[pa.RecordBatch], bound: BoundSpec) -> list[pa.RecordBatch]:
        table = pa.Table.from_batches(chunks, schema=bound.result)
        table = table.filter(pc.equal(table.column(LANE), RECORD)).drop_columns([LANE])
        ends = [pc.struct_field(table.column("window"), side) for side in ("end", "start")]
        order = pa.table(
            [*ends, *(table.column(name) for name in self._plan.spec.keys)], names=[*"es", *self._plan.spec.keys]
        )
        table = table.take(pc.sort_indices(order, sort_keys=[(name, "ascending") for name in order.column_names]))
        return table.combine_chunks().to_batches()

    def _letters(self, chunks: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        schema = DeadLetters(self._plan.schema).schema
        table = pa.Table.from_batches(chunks, schema=DeadLetters(self.schema).schema)
        record = table.column("record").combine_chunks()
        columns = {field.name: pc.struct_field(record, field.name) for field in schema.field("record").type}
        columns[TIME] = pc.divide(columns[TIME].cast(pa.int64()), MILLISECOND)
        plain = pa.StructArray.from_arrays(list(columns.values()), fields=list(schema.field("record").type))
        table = table.set_column(table.schema.get_field_index("record"), "record", plain).cast(schema)
        return table.filter(pc.equal(pc.struct_field(record, LANE), RECORD)).combine_chunks().to_batches()
