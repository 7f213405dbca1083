"""Records as the parts of an operator get them: judged, with their keys, times and the watermark they came at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import fanlight as fl
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.plan import Plan

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
Record = tuple[int, str]
"""Time and key; the value of a record is its time."""


@dataclass
class Shard:
    """The plan of some windows over (time, key, value), with the books of a shard and its law of lateness."""

    window: Any
    fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        common: dict[str, Any] = {"aggregates": (("n", fl.count()), ("total", fl.sum("v"))), "keys": ("k",)}
        spec = WindowSpec("ts", self.window, unit=TimeUnit.MICROSECONDS, **{**common, **self.fields})
        self.plan = Plan.bind(spec, SCHEMA)
        self.books = Books(SCHEMA)
        self.lateness = Lateness(self.plan.spec, self.plan.slicing)

    def accepted(self, *records: Record, watermark: int = START_OF_TIME) -> Accepted:
        """Records that came at a watermark; none has been judged."""
        times = np.array([time for time, _ in records], np.int64)
        columns = [pa.array(times), pa.array([key for _, key in records], pa.string()), pa.array(times)]
        bundle = Bundle(pa.record_batch(columns, schema=SCHEMA), times, np.array([watermark]))
        expired = self.lateness.expired_by(bundle.watermarks)
        return Accepted(bundle, self.plan.slicing.slices(times), expired)

    @property
    def buried(self) -> list[tuple[str, int]]:
        """Reason and time of each record that has become a dead letter."""
        letters = self.books.letters.take().to_pylist()
        return [(letter["reason"], letter["record"]["ts"]) for letter in letters]


def told(accepted: Accepted | None) -> list[Record]:
    """The records that are left."""
    if accepted is None:
        return []
    batch = accepted.bundle.batch
    return list(zip(accepted.bundle.times.tolist(), batch.column("k").to_pylist(), strict=True))
