"""A row operator of one's own: every so-many-th order of each shard, as it comes, and the late ones as dead letters.

Run it: `python examples/extending/row_operator.py`. Nothing in Fanlight knows of it; the shard that hosts it reads the
times, moves the watermark, counts, and makes each step whole, in this process and on Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

import fanlight as fl
from fanlight.extend import (
    Address,
    Books,
    BoundSpec,
    Bundle,
    ChunkStore,
    Duration,
    Operator,
    Progress,
    Reason,
    StreamSpec,
    TimeUnit,
    WatermarkStrategy,
)

COUNTED = Address("sampled", 0, 0)
"""Where the number of records is kept that have come so far."""


@dataclass(frozen=True)
class Sample(StreamSpec):
    """Every so-many-th record of a stream."""

    time: str
    keys: tuple[str, ...]
    watermark: WatermarkStrategy
    unit: TimeUnit | None
    ahead: Duration | None
    every: int = 10

    def bind(self, schema: pa.Schema) -> BoundSpec:
        """Rows leave with the columns they came with."""
        return BoundSpec(schema, schema, partial(Sampling, self.every))


class Sampling(Operator):
    """Lets every so-many-th record leave in the step it came in; how many have come is all it keeps."""

    def __init__(self, every: int, store: ChunkStore, books: Books) -> None:
        self._every = every
        self._store = store
        self._books = books
        self._chosen: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Count the records that are not behind the watermark, and choose among them."""
        late = bundle.times < bundle.watermarks
        self._books.reject(bundle.batch, late, Reason.EXPIRED, bundle.watermarks)
        fresh = bundle.where(~late)
        come = self._store.get(COUNTED).column("n")[0].as_py() if self._store.list(COUNTED.space) else 0
        places = np.flatnonzero((np.arange(len(fresh)) + come + 1) % self._every == 0)
        self._chosen = [fresh.batch.take(pa.array(places))] if len(places) else []
        self._store.put(COUNTED, pa.record_batch({"n": [come + len(fresh)]}))
        return len(fresh)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """What was chosen in this step."""
        chosen, self._chosen = self._chosen, []
        return chosen


ORDERS = [{"ts": second, "id": number} for number, second in enumerate([1, 3, 2, 8, 9, 11, 4, 14, 15, 20], 1)]


def sampled() -> fl.RowResult[Sample]:
    """Every third of ten orders, which come one by one; the seventh is more than five seconds late."""
    return fl.stream(ORDERS, time="ts", unit="s", delay="5 s", rows=1).apply(Sample, every=3)


if __name__ == "__main__":
    pipeline = sampled()
    print(pipeline.explain(), end="\n\n")
    for row in pipeline.table().to_pylist():
        print(f"order {row['id']} of second {row['ts']}")
    print("too late:", [letter["record"]["id"] for letter in pipeline.dead_letters.to_pylist()])
    counts = pipeline.accounting
    print(f"{counts.received} in = {counts.accepted} accepted + {counts.dead_letters} dead letters")
