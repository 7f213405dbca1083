"""From one stage to the next on Spark: what leaves becomes records and chunks, with nothing of Spark between."""

from __future__ import annotations

import pyarrow as pa

import fanlight as fl
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.bind import bind
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.stage_chain import StageChain, StagePlan
from fanlight.spark.output import OUTPUT_ARROW, output_rows
from fanlight.spark.pack import Packing, Sent, StageBefore, pack_by_shard
from fanlight.spark.stage_link import linked_schema, linking
from fanlight.spark.wire import opened
from fanlight.state.memory import MemoryStore

SECONDS = (1, 2, 3, 61, 62, 150)


def test_what_leaves_a_stage_is_linked_and_packed_in_one_pass() -> None:
    """Three counts of two windows leave, and the account of the step: the counts travel as records, beside it."""
    stream = fl.stream([], time="ts", unit="s").key_by("k")
    counted = stream.window(fl.tumbling("1 minute")).agg(n=fl.count())
    best = counted.rewindow().top(1, by="n")
    first, second, _ = [stage.spec for stage in best.stages]
    records = pa.record_batch({"ts": SECONDS, "k": ["a", "a", "b", "b", "b", "a"]})
    bound = bind(first, records.schema, lean=True)
    chain = StageChain([StagePlan(first, lambda: bound)], MemoryStore())
    rows = chain.step([Arrival(CheckedBatch(records), Said(watermark=120_000_000))])
    letters = DeadLetters(records.schema, of_times=True).schema
    left = pa.RecordBatch.from_pylist([*output_rows(chain, rows, letters, batch=0, name=0)], schema=OUTPUT_ARROW)

    handover = Handover.of(first, second)
    schema = handover.schema(bound.result)
    linked = linking(handover, schema)
    assert [(len(batch), batch.schema) for batch in linked(iter([left]))] == [
        (3, linked_schema(schema)),
        (1, linked_schema(schema)),
    ]
    packing = Packing(0, StageBefore(1, first))
    sealed = pack_by_shard(second, schema, [7], lambda: 0, heartbeat=True, packing=packing)
    chunks, beat = sealed(linked(iter([left])))
    assert chunks.column("kind").to_pylist() == [Sent.RECORDS, Sent.PASSED]
    assert opened(chunks.column("payload")[0].as_buffer()).column("n").to_pylist() == [2, 1, 2]
    assert beat.column("kind").to_pylist() == [Sent.HEARTBEAT]
    assert beat.column("watermark").to_pylist() == [120_000_000]
