"""`over` on its host, step by step, as the properties compare it with the oracle and with DuckDB."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fanlight.embedded.sources import as_bundle
from fanlight.model.over.spec import OverSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.operators.identity import known_schema
from fanlight.operators.ingest.inputs import Said
from fanlight.operators.ingest.remarks import Remarks
from fanlight.operators.shard import Shard
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.over import OverOutcome
from fanlight.testing.oracle.over_modes import ORACLES
from fanlight.testing.script import Step


class OverRun:
    """A shard that computes `over`; `restore` writes it down and goes on from what was written."""

    def __init__(self, spec: OverSpec, schema: pa.Schema | None = None, store: MemoryStore | None = None) -> None:
        self.spec = spec
        self.store = MemoryStore() if store is None else store
        self.remarks = Remarks(declared=schema is not None)
        self.shard = Shard(spec, self.store, remarks=self.remarks)
        known = known_schema(self.store) or schema
        assert known is not None
        self.shard.bind(known)
        self.store.commit()

    def step(self, step: Step) -> OverOutcome:
        """One step; its counts are those of the books, less those before it."""
        books = self.shard.accounting
        before = books.received, books.accepted, books.values_out_of_range
        rows = tuple(row for batch in self._stepped(step) for row in batch.to_pylist())
        books = self.shard.accounting
        assert books.adds_up
        received, accepted = books.received - before[0], books.accepted - before[1]
        table = self.shard.require_books().letters.take()
        taken = table.drop_columns(["watermark"]).to_pylist()  # one below the year 1 is no Python value
        withheld = [one for one in taken if one["reason"] == Reason.VALUE_OUT_OF_RANGE.value]
        assert len(withheld) == books.values_out_of_range - before[2]
        letters = tuple((Reason(one["reason"]), one["record"]) for one in taken if one not in withheld)
        told = tuple(json.loads(one["detail"])["values"] for one in withheld)
        return OverOutcome(rows, letters, received, accepted, self.shard.watermark, told)

    def restore(self) -> OverRun:
        """Another shard, made from a snapshot of this one."""
        store = MemoryStore.restore(self.shard.snapshot())
        other = OverRun(self.spec, store=store)
        other.shard.take_back(store)
        return other

    def _stepped(self, step: Step) -> list[pa.RecordBatch]:
        if step.end:
            return self.shard.step(ends=True)
        said = Said(watermark=step.watermark, clock=step.clock)
        if not step.records:
            return self.shard.step(None, said)
        assert self.shard.bound is not None
        schema = self.shard.bound.schema
        batch = pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=schema)
        return self.shard.step(as_bundle(batch, schema, self.remarks), said)


def embedded(
    spec: OverSpec, steps: Sequence[Step], schema: pa.Schema, restore_before: Collection[int] = ()
) -> list[OverOutcome]:
    """What the engine gives, step by step; nothing is left in its store when the input has ended."""
    run, outcomes = OverRun(spec, schema), []
    for place, step in enumerate(steps):
        if place in restore_before:
            run = run.restore()
        outcomes.append(run.step(step))
    if steps and steps[-1].end:
        assert set(run.store.spaces) <= {"index"}
    return outcomes


def on_spark(spec: OverSpec, steps: Sequence[Step], schema: pa.Schema) -> list[OverOutcome]:
    """What the processor that runs on Spark gives, a micro-batch a step: each makes a new one over the state."""
    tester, outcomes = ShardTester(spec, schema), []
    told = START_OF_TIME
    for step in steps:
        told = max(told, START_OF_TIME if step.watermark is None else step.watermark)
        came = [pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=schema)] if step.records else []
        left = tester.batch(came, watermark=told, clock=START_OF_TIME, ends=step.end)
        (account,) = (row for row in left if row["kind"] == ACCOUNT)
        letters = tuple((Reason(one["reason"]), one["record"]) for one in _opened(left, LETTER))
        counted = account["received"], account["accepted"]
        outcomes.append(OverOutcome(tuple(_opened(left, FIRING)), letters, *counted, tester.shard().watermark))
    return outcomes


def _opened(left: Sequence[Any], kind: str) -> list[dict[str, Any]]:
    return [row for one in left if one["kind"] == kind for row in opened(one["payload"]).to_pylist()]


def by_law(spec: OverSpec, steps: Sequence[Step]) -> list[OverOutcome]:
    """What the oracle says, step by step."""
    oracle = ORACLES[spec.mode](spec)
    return [oracle.step(step) for step in steps]


def as_on_spark(steps: Sequence[Step]) -> list[Step]:
    """Steps without a clock. Spark's watermarks are timestamps: none is at the end of time before the input ends."""
    return [
        replace(step, clock=None, watermark=None if step.watermark == END_OF_TIME else step.watermark) for step in steps
    ]
