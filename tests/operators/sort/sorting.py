"""A sort on its host, as the tests use it: records go in as Python values and come out so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.embedded.sources import Records, as_bundle
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.recent import RecentSpec
from fanlight.model.sort import SortSpec
from fanlight.operators.identity import known_schema
from fanlight.operators.ingest.bundle import Offsets
from fanlight.operators.ingest.inputs import Said
from fanlight.operators.ingest.remarks import Remarks
from fanlight.operators.shard import Shard
from fanlight.state.memory import MemoryStore
from fanlight.testing.script import DeadLetter, Reason, Record

Counted = tuple[int, int, int, int]
"""Received, accepted, duplicates, dead letters."""


class Sorting:
    """A shard that sorts, normalizes, or shows what is recent; `restore` goes on from what is written down."""

    def __init__(
        self,
        spec: SortSpec | NormalizeSpec | RecentSpec,
        schema: pa.Schema | None = None,
        store: MemoryStore | None = None,
    ) -> None:
        self.spec = spec
        self.store = MemoryStore() if store is None else store
        self.remarks = Remarks(declared=schema is not None)
        self.shard = Shard(spec, self.store, remarks=self.remarks)
        known = known_schema(self.store) or schema
        if known is not None:
            self.shard.bind(known)
            self.store.commit()

    def add(
        self,
        *records: Record,
        watermark: int | None = None,
        clock: int | None = None,
        source: str | None = None,
        offset: Offsets = None,
    ) -> list[Record]:
        """One step with these records; the rows that leave."""
        return self.add_batch(list(records), watermark=watermark, clock=clock, source=source, offset=offset)

    def add_batch(self, records: Records, *, offset: Offsets = None, **said: Any) -> list[Record]:
        schema = None if self.shard.bound is None else self.shard.bound.schema
        came = as_bundle(records, schema, self.remarks)
        return self._left(self.shard.step(came, Said(**said), offset=offset))

    def advance(self, watermark: int | None = None, clock: int | None = None) -> list[Record]:
        return self._left(self.shard.step(None, Said(watermark=watermark, clock=clock)))

    def end(self) -> list[Record]:
        return self._left(self.shard.step(ends=True))

    def take_letters(self) -> list[DeadLetter]:
        letters = self.shard.require_books().letters.take().to_pylist()
        return [(Reason(letter["reason"]), letter["record"]) for letter in letters]

    def restore(self) -> Sorting:
        store = MemoryStore.restore(self.shard.snapshot())
        other = Sorting(self.spec, store=store)
        other.shard.take_back(store)
        return other

    @property
    def counted(self) -> Counted:
        books = self.shard.accounting
        assert books.adds_up
        assert books.missed_windows == books.values_out_of_range == 0
        return books.received, books.accepted, books.duplicates, books.dead_letters

    @property
    def waiting(self) -> int:
        """How many rows the store holds."""
        spaces = ("sort", "live", "recent")
        return sum(len(self.store.get(address)) for space in spaces for address in self.store.list(space))

    def _left(self, batches: list[pa.RecordBatch]) -> list[Record]:
        return [row for batch in batches for row in batch.to_pylist()]
