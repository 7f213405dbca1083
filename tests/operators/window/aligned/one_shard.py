"""A shard whose windows fire once, and what is read and written while it steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from tests.operators.driven import Driven
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.tumbling import Tumbling
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.window.aligned.slices import SingleFiringPanes
from fanlight.operators.window.plan import Plan

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "j": pa.int64(), "v": pa.int64()})
TEN = Tumbling(Duration(10))
Record = tuple[int, str | None, int]
"""Time, key and value."""
Fired = tuple[str | None, int, int, int]
"""Key, where the window starts, how many records it holds and what they add up to."""


class Shard:
    """A shard with windows of ten, unless told otherwise: window w is [10w, 10w + 10)."""

    panes: type = SingleFiringPanes
    """What is to keep them."""

    def __init__(self, window: WindowKind = TEN, keys: tuple[str, ...] = ("k",), **fields: Any) -> None:
        aggregates = fields.pop("aggregates", (("n", fl.count()), ("total", fl.sum("v"))))
        self.store = WatchedStore("partials")
        self.plan = Plan.bind(WindowSpec("ts", window, aggregates, keys, **fields), SCHEMA)
        self.operator = Driven(self.plan, self.store)
        assert isinstance(self.operator.panes, self.panes)

    def step(self, records: list[Record], watermark: int, **more: Any) -> list[Fired]:
        """Take records in, then a watermark; what leaves."""
        return said(self.rows(records, watermark, **more))

    def rows(self, records: list[Record], watermark: int, judged: list[int] | None = None, **more: Any) -> pa.Table:
        """The same, with every column; `judged` are the watermarks of the records, one each."""
        self.store.forget()
        batch = batch_of(records)
        marks = np.array([self.operator.watermark] if judged is None else judged)
        bundle = Bundle(batch, batch.column("ts").to_numpy(), marks) if records else None
        return pa.Table.from_batches(self.operator.step(bundle, watermark, **more), schema=self.plan.result)

    def restart(self) -> None:
        self.operator = self.operator.again(self.plan)

    @property
    def kept(self) -> list[int]:
        """The slices of which anything is kept."""
        return sorted({address.part for address in self.store.list("partials")})


def batch_of(records: list[Record]) -> pa.RecordBatch:
    times, keys, values = zip(*records, strict=True) if records else ((), (), ())
    columns = [
        pa.array(times, pa.int64()),
        pa.array(keys, pa.string()),
        pa.array([len(str(k)) for k in keys], pa.int64()),
    ]
    return pa.record_batch([*columns, pa.array(values, pa.int64())], schema=SCHEMA)


def said(rows: pa.Table) -> list[Fired]:
    starts = pa.compute.struct_field(rows["window"], "start").cast(pa.int64()).to_pylist()
    keys = rows["k"].to_pylist() if "k" in rows.schema.names else [None] * len(rows)
    return list(zip(keys, starts, rows["n"].to_pylist(), rows["total"].to_pylist(), strict=True))
