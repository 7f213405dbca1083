"""The keys of a join whose windows count: how many records of each side came, and how many windows have left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Ints, encode
from fanlight.kernels.grouping.row_identity import places_within
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.state.store import ChunkStore

_NUMBERS = ("left", "right", "gone")


@dataclass(frozen=True, slots=True)
class CountedKeys(Columnar):
    """Every key there was; its place here is its number, which never changes."""

    left: Ints
    right: Ints
    gone: Ints
    """How many windows have left: the first ones."""
    keys: list[pa.Array]

    def numbered(self, keys: list[pa.Array], count: int) -> tuple[CountedKeys, Ints]:
        """These keys and so many records' keys, the new ones at the end; and the number of each record's key."""
        whole = [pa.concat_arrays(sides) for sides in zip(self.keys, keys, strict=True)]
        found = encode(whole, len(self) + count)
        known, codes = np.split(found.codes.astype(np.int64, copy=False), [len(self)])
        numbers = np.full(found.count, -1)
        numbers[known] = np.arange(len(self))
        new = np.flatnonzero(numbers < 0)
        numbers[new] = len(self) + np.arange(len(new))
        none = np.zeros(len(new), np.int64)
        return CountedKeys.concat([self, CountedKeys(none, none, none, found.take(new))]), numbers[codes]

    def counting(self, numbers: Ints, *, left: bool) -> tuple[CountedKeys, Ints]:
        """The same keys when these records have come on one side; and the position of each record, from 1."""
        before = self.left if left else self.right
        after = before + np.bincount(numbers, minlength=len(self)).astype(np.int64)
        counted = replace(self, left=after) if left else replace(self, right=after)
        return counted, before[numbers] + places_within(numbers) + 1


class KeptCounts:
    """One chunk that has all keys; it is written again when records come or windows leave."""

    def __init__(self, store: ChunkStore, keys: list[pa.Field]) -> None:
        self._stored = pa.schema([*(pa.field(name, pa.int64()) for name in _NUMBERS), *keys])
        self._log = ChunkLog(store, "counted")

    def read(self) -> CountedKeys:
        """All of them."""
        _, chunks = self._log.read([0])
        chunk = in_one(chunks, self._stored)
        left, right, gone = (chunk.column(place).to_numpy() for place in range(len(_NUMBERS)))
        keys = zip(chunk.columns[len(_NUMBERS) :], list(self._stored)[len(_NUMBERS) :], strict=True)
        # a key without a value has got its type since
        return CountedKeys(left, right, gone, [key.cast(field.type) for key, field in keys])

    def write(self, counted: CountedKeys) -> None:
        """Put these in the place of all."""
        columns = [pa.array(one) for one in (counted.left, counted.right, counted.gone)]
        self._log.replace(0, pa.RecordBatch.from_arrays([*columns, *counted.keys], schema=self._stored))

    def forget(self) -> None:
        """Delete all."""
        self._log.retire([0])
