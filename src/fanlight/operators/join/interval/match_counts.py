"""How many matches each row of a side has: a log of differences, which are added up when somebody asks.

rows      a  b  c      never written again for it
step 1   +2 +1
step 2   -1    +1
         ── ── ──
          1  1  1
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.chunk_log import CROWDED, ChunkLog, in_one
from fanlight.operators.join.side_log import SideRows
from fanlight.state.store import ChunkStore

_STORED = pa.schema({"time": pa.int64(), "came": pa.int64(), "matches": pa.int64()})


class MatchCounts:
    """How many matches rows have, by their arrival numbers, in chunks that go with their times."""

    def __init__(self, store: ChunkStore, space: str) -> None:
        self._log = ChunkLog(store, space)

    def of(self, rows: SideRows) -> Ints:
        """How many matches each of these rows has; they are in the order they came."""
        if not len(rows):
            return np.zeros(0, np.int64)
        slices = self._log.slices
        _, chunks = self._log.read(slices[np.searchsorted(slices, rows.times.min()) :].tolist())
        _, came, matches = _numbers(in_one(chunks, _STORED))
        return added_up(rows.came, came, matches)

    def add(self, rows: SideRows, matches: Ints, horizon: Timestamp) -> None:
        """Add matches to rows, or take some away. Those before `horizon` are asked for no more."""
        says: Bools = matches != 0
        if not says.any():
            return
        numbers = rows.times[says], rows.came[says], matches[says]
        slices = self._log.slices
        if len(slices) >= CROWDED:
            numbers = self._in_all(slices, numbers, horizon)
        if len(numbers[0]):
            chunk = pa.RecordBatch.from_arrays([pa.array(one) for one in numbers], schema=_STORED)
            self._log.append(np.full(len(chunk), int(numbers[0].max())), chunk)

    def retire(self, horizon: Timestamp) -> None:
        """Forget the rows before `horizon`."""
        slices = self._log.slices
        self._log.retire(slices[: np.searchsorted(slices, horizon)].tolist())

    def _in_all(self, slices: Ints, fresh: tuple[Ints, Ints, Ints], horizon: Timestamp) -> tuple[Ints, Ints, Ints]:
        """All differences so far as one of each row; what adds up to nothing goes, and so do rows before `horizon`."""
        _, chunks = self._log.read(slices.tolist())
        self._log.retire(slices.tolist())
        kept = _numbers(in_one(chunks, _STORED))
        times, came, matches = (np.concatenate(both) for both in zip(kept, fresh, strict=True))
        rows, first = np.unique(came, return_index=True)
        times, matches = times[first], added_up(rows, came, matches)
        stays = (times >= horizon) & (matches != 0)
        return times[stays], rows[stays], matches[stays]


def added_up(rows: Ints, came: Ints, numbers: Ints) -> Ints:
    """For each row the sum of the numbers that are said of it; `rows` are arrival numbers, ascending.

    >>> added_up(np.array([3, 5]), np.array([5, 4, 5]), np.array([2, 9, -1])).tolist()
    [0, 1]
    """
    if not len(rows):
        return np.zeros(0, np.int64)
    places = np.minimum(np.searchsorted(rows, came), len(rows) - 1)
    about = rows[places] == came
    sums = np.zeros(len(rows), np.int64)
    np.add.at(sums, places[about], numbers[about])
    return sums


def _numbers(chunk: pa.RecordBatch) -> tuple[Ints, Ints, Ints]:
    times, came, matches = (column.to_numpy() for column in chunk.columns)
    return times, came, matches
