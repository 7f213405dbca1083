"""Stages in one shard: each step goes through all of them, and the end comes to each."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import fanlight as fl
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.stage_chain import StageChain
from fanlight.state.memory import MemoryStore
from fanlight.testing.graph_player import stage_plans

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string()})


def counts(size: int, time: str = "ts", value: Any = None, **fields: Any) -> WindowSpec:
    """Counts, or sums of counts, in windows of so many microseconds."""
    return WindowSpec(
        time, fl.tumbling(Duration(size)), (("n", value or fl.count()),), ("k",), watermark=Explicit(), **fields
    )


def then(size: int, **fields: Any) -> WindowSpec:
    return counts(size, "window_time", fl.sum("n"), unit=None, **fields)


def chain_of(*specs: StreamSpec, store: MemoryStore | None = None) -> StageChain:
    return StageChain(stage_plans(specs, SCHEMA), MemoryStore() if store is None else store)


def came(*times: int) -> CheckedBatch:
    return CheckedBatch(pa.RecordBatch.from_pylist([{"ts": time, "k": "a"} for time in times], schema=SCHEMA))


def found(rows: list[pa.RecordBatch]) -> list[int]:
    return [n for batch in rows for n in batch.column("n").to_pylist()]


def test_rows_go_through_all_stages_in_one_step() -> None:
    """At 20 two windows of 5 and one of 10 are over in each of which there is a record; the next of 20 is over, too."""
    chain = chain_of(counts(5), then(10), then(20))
    assert found(chain.step([Arrival(came(1, 6, 12), Said(watermark=20))])) == [3]
    assert [stage.shard.accounting.received for stage in chain.stages] == [3, 3, 2]


def test_a_step_without_rows_hands_on_watermark_and_clock() -> None:
    chain = chain_of(counts(5, trigger=fl.at_expiry(), lateness=Duration(7)), SortSpec("window_time", unit=None))
    chain.step([Arrival(None, Said(watermark=100, clock=42))])
    first, second = (stage.shard for stage in chain.stages)
    assert (first.watermark, second.watermark) == (100, 93)
    assert (first.clock, second.clock) == (42, 42)


def test_at_the_end_each_stage_gets_what_leaves_then_and_ends() -> None:
    chain = chain_of(counts(5), then(10), then(20))
    assert found(chain.step([Arrival(came(1, 6, 12), Said(watermark=2))])) == []
    assert found(chain.step(ends=True)) == [3]
    assert [stage.shard.watermark for stage in chain.stages] == [END_OF_TIME] * 3


def test_nothing_is_lost_at_the_end_though_windows_never_expire() -> None:
    """Each stage fires when the input ends, after the one before; the last does not wait at all."""
    waits: dict[str, Any] = {"trigger": fl.at_expiry(), "lateness": Duration.FOREVER}
    chain = chain_of(counts(5, **waits), then(10, **waits), then(20))
    assert found(chain.step([Arrival(came(1, 6, 12), Said(watermark=END_OF_TIME))])) == []
    assert found(chain.step(ends=True)) == [3]
    assert not any(stage.shard.accounting.dead_letters for stage in chain.stages)


def test_the_last_records_and_the_end_may_come_together() -> None:
    chain = chain_of(counts(5), then(10))
    assert found(chain.step([Arrival(came(1, 12), Said(watermark=5))], ends=True)) == [1, 1]
    assert chain.stages[1].shard.accounting.received == 2


def test_another_chain_goes_on_from_the_store() -> None:
    store = MemoryStore()
    specs = (counts(5), then(20))
    chain_of(*specs, store=store).step([Arrival(came(1, 6), Said(watermark=12))])
    again = chain_of(*specs, store=store)
    assert [stage.before.received for stage in again.stages] == [2, 2]
    assert found(again.step([Arrival(came(13), Said(watermark=20))])) == [3]
    assert found(chain_of(*specs, store=store).step(ends=True)) == []
