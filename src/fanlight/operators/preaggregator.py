"""Pre-aggregation: records become partials before they travel to their shard, where nothing needs single records.

    records ─ aggregate ─► (slot in time, key, partials) ─ moved ─► shard
       └── records that may be dead letters, unchanged ──────┘

A record is sure if it cannot become a dead letter under any watermark that its shard can have acted on, whatever else
comes. Sure records may travel as partials; the others travel unchanged, and the shard judges them.
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.model.time.timestamp import Timestamp

ROWS = "rows"
"""The column of a chunk that says how many records each of its rows stands for."""


class PreAggregated(Protocol):
    """Pre-aggregated records, which are all accepted. Their operator knows what one row stands for."""

    def __len__(self) -> int: ...

    @property
    def records(self) -> int:
        """How many records these are."""

    def missed(self, slicing: Slicing, expired: int) -> int:
        """How many windows these records missed, if windows up to `expired` have expired."""


class PreAggregator(Protocol):
    """Pre-aggregates the records of a plan into chunks, and reads these chunks."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of a chunk."""
        ...

    def divide(self, batch: pa.RecordBatch, watermark: Timestamp) -> tuple[Ints, Ints, Bools | None]:
        """The times of records, the slot in time where each is aggregated, and which are not sure (None if all are).

        `watermark` is the furthest one that their shards can have acted on.
        """
        ...

    def pays(self, batch: pa.RecordBatch, slots: Ints) -> bool:
        """Whether pre-aggregating these records is worth it; `slots` are those of `divide`."""
        ...

    def aggregate(self, batch: pa.RecordBatch, times: Ints, slots: Ints) -> tuple[pa.RecordBatch, KeyCodes, Ints]:
        """Pre-aggregate records: the chunk, the key codes of the records, and those of the chunk's rows.

        `slots` are those of `divide`.
        """
        ...

    def read(self, chunks: list[pa.RecordBatch]) -> PreAggregated | None:
        """The pre-aggregated records of several chunks."""
        ...

    def expired(self, preaggregated: Any, watermark: Timestamp) -> int:
        """How many of these records share a row with a record that is too late at `watermark`.

        A check: it is 0 if `divide` was right, because only sure records are pre-aggregated.
        """
        ...
