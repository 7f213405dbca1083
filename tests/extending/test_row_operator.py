"""A row operator of one's own (`examples/extending/row_operator.py`): in this process, and on a shard of Spark."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.operators.bind import bind
from fanlight.spark.output import ACCOUNT, FIRING
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.state.memory import MemoryStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "extending" / "row_operator.py"
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.int64()})
SECOND = 1_000_000


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def orders(*seconds: int, first: int = 1) -> pa.RecordBatch:
    ids = pa.array(range(first, first + len(seconds)))
    return pa.record_batch(
        [pa.array([second * SECOND for second in seconds]).cast(SCHEMA.types[0]), ids], schema=SCHEMA
    )


def test_every_third_order_leaves_and_the_late_one_is_a_dead_letter(example: dict[str, Any]) -> None:
    """Of the nine that are in time, 1 to 6 and 8 to 10, the third, sixth and ninth leave. Order 7 came behind 6."""
    pipeline = example["sampled"]()
    assert pipeline.table().column("id").to_pylist() == [3, 6, 10]
    assert [letter["record"]["id"] for letter in pipeline.dead_letters.to_pylist()] == [7]
    assert (pipeline.accounting.received, pipeline.accounting.accepted) == (10, 9)
    assert pipeline.accounting.adds_up


def test_what_it_counts_outlives_a_snapshot(example: dict[str, Any]) -> None:
    spec = example["sampled"]().spec
    operator = fl.StandaloneOperator(spec, schema=SCHEMA)
    operator.add(orders(1, 2))
    operator = fl.StandaloneOperator.restore(spec, operator.snapshot())
    operator.add(orders(3, 4, first=3))
    assert operator.take().column("id").to_pylist() == [3]


def test_a_step_that_fails_counts_nothing(example: dict[str, Any]) -> None:
    spec = example["sampled"]().spec
    store = MemoryStore()
    operator = fl.StandaloneOperator(spec, schema=SCHEMA, store=store)
    operator.add(orders(1, 2))
    with pytest.raises(fl.InputError):
        operator.add(pa.record_batch({"ts": ["never"]}))
    operator.add(orders(3, first=3))
    assert operator.take().column("id").to_pylist() == [3]


def test_its_state_is_refused_to_another(example: dict[str, Any]) -> None:
    spec = example["sampled"]().spec
    operator = fl.StandaloneOperator(spec, schema=SCHEMA)
    operator.add(orders(1))
    other = fl.stream([], time="ts", unit="s", delay="5 s").apply(example["Sample"], every=4).spec
    with pytest.raises(fl.StateError, match="every: 3 before, 4 now"):
        fl.StandaloneOperator.restore(other, operator.snapshot())


def test_a_shard_on_spark_gives_the_same(example: dict[str, Any]) -> None:
    """Two micro-batches on the processor that runs on Spark; what was counted is in its state between them."""
    spec = example["sampled"]().spec
    assert bind(spec, SCHEMA).result == SCHEMA
    shard = ShardTester(spec, SCHEMA)
    rows = [
        *shard.batch([orders(1, 2)], watermark=START_OF_TIME, clock=0),
        *shard.batch([orders(3, 4, 5, 6, first=3)], watermark=0, clock=0),
    ]
    left = [opened(bytes(row["payload"])) for row in rows if row["kind"] == FIRING]
    assert [number for batch in left for number in batch.column("id").to_pylist()] == [3, 6]
    assert sum(row["accepted"] for row in rows if row["kind"] == ACCOUNT) == 6


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == "10 in = 9 accepted + 1 dead letters"
