"""The values of new columns over partitions that are complete, all of them at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Groups, Ints
from fanlight.kernels.over.frames import frame_rows
from fanlight.kernels.over.peers import differs_from_before, ordered_ranks
from fanlight.kernels.over.row_at import taken_from
from fanlight.kernels.over.stretches import Stretches
from fanlight.kernels.times import read_positions
from fanlight.model.continuation import RECORD
from fanlight.model.over.functions import (
    ColumnFunction,
    CumeDist,
    DenseRank,
    NTile,
    PercentRank,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.operators.ingest.bundle import times_in
from fanlight.operators.ingest.columns import plain
from fanlight.operators.over.framed import frame_values, row_of
from fanlight.operators.over.plan import FrameAggregates


class PartitionValues:
    """The records of partitions side by side, each partition in its order.

    place        0  1  2  3  4
    partition    0  0  0  1  1
    order        3  5  5  1  2
    is first     ●  ●     ●  ●       of rows that are equal in the order: peers

    What is computed of a partition as a whole finds it here: its rows are `records[starts:ends]`.
    """

    def __init__(
        self, spec: WindowedOverSpec, schema: pa.Schema, aggregates: tuple[FrameAggregates, ...], lists: pa.Array
    ) -> None:
        self._spec = spec
        self._aggregates = aggregates
        came = pa.RecordBatch.from_arrays(lists.flatten().flatten(), schema=schema)
        sizes = lists.value_lengths().to_numpy()
        partitions = np.repeat(np.arange(len(lists)), sizes)
        times = self._times(came)
        by = [ordered_ranks(plain(came.column(one.column)), descending=one.descending) for one in spec.order]
        order = np.lexsort([times, *reversed(by), partitions])
        self.records = came.take(pa.array(order))
        """The records in their order."""
        self.partitions: Ints = partitions
        """The list that each is of: lists are not mixed, so this is as before."""
        self.times = times[order]
        is_first = differs_from_before([partitions, *(ranks[order] for ranks in by or [times])])
        ends = np.cumsum(sizes)
        starts, ends = (ends - sizes)[partitions], ends[partitions]
        self._is_first: Bools = is_first
        by_peers: Ints = self.times if spec.goes_by_time else np.cumsum(is_first)
        self.rows = Stretches(order, partitions, by_peers, partitions, starts, ends)

    def columns(self) -> tuple[list[pa.Array], dict[int, dict[str, Any]]]:
        """The new columns, and what does not fit its type, by row and name."""
        found: dict[int, pa.Array] = {}
        outside: dict[int, dict[str, Any]] = {}
        for one in self._aggregates:
            values, misfits = self._aggregated(one)
            found |= dict(zip(one.places, values, strict=True))
            for place, each in zip(one.places, misfits, strict=True):
                for row, text in each.items():
                    outside.setdefault(row, {})[self._spec.new_columns[place].name] = text
        for place, computed in enumerate(self._spec.new_columns):
            if isinstance(computed.function, RowFunction):
                found[place] = self._function(computed, computed.function)
        return [found[place] for place in range(len(found))], outside

    def _aggregated(self, one: FrameAggregates) -> tuple[list[pa.Array], list[dict[int, Any]]]:
        low, high = frame_rows(one.frame, self.rows, self._at)
        names = {name for columns in one.columns for name in columns}
        values = one.values({name: self._column(name) for name in names})
        times = self._at if one.goes_by_order else self.times
        partials = one.aggregation.partial(values, times, Groups.alone(len(self._at)), None, self._at)
        return frame_values(one, partials, self._at, low, high)

    def _column(self, name: str) -> pa.Array:
        """A column of the records, or the records themselves."""
        if name != RECORD:
            return plain(self.records.column(name))
        return pa.StructArray.from_arrays(self.records.columns, fields=list(self.records.schema))

    def _function(self, computed: Computed, function: RowFunction) -> pa.Array:
        """One value of a row function for each record."""
        numbers = self._at - self.rows.starts
        sizes = self.rows.ends - self.rows.starts
        match function:
            case RowNumber():
                return pa.array(numbers + 1)
            case Rank():
                return pa.array(numbers[self._firsts] + 1)
            case DenseRank():
                firsts = np.cumsum(self._is_first)
                return pa.array(firsts - firsts[self.rows.starts] + 1)
            case PercentRank():
                return pa.array(numbers[self._firsts] / np.maximum(sizes - 1, 1))
            case CumeDist():
                return pa.array((self._peers_end - self.rows.starts) / sizes)
            case NTile(n=n):
                return pa.array(_parts(numbers, sizes, n))
            case ColumnFunction(column=column):
                values = plain(self.records.column(column))
                return taken_from(values, row_of(computed, function, self.rows, self._at, values))
        raise TypeError(f"{function!r} is no function of rows.")

    @cached_property
    def _at(self) -> Ints:
        """The place of each record."""
        return np.arange(len(self.records))

    @cached_property
    def _firsts(self) -> Ints:
        """The first peer of each record."""
        firsts: Ints = np.maximum.accumulate(np.where(self._is_first, self._at, 0))
        return firsts

    @cached_property
    def _peers_end(self) -> Ints:
        """Where the peers of each record end."""
        heads = np.flatnonzero(self._is_first)
        ends: Ints = np.append(heads[1:], len(self._at))[np.cumsum(self._is_first) - 1]
        return ends

    def _times(self, came: pa.RecordBatch) -> Ints:
        """What partitions are in the order of, where no columns are said: times, positions, or how records came."""
        if self._spec.has_times:
            return times_in(came, self._spec.record_time, self._spec.record_unit)[0]
        if self._spec.window.position is not None:
            return read_positions(plain(came.column(self._spec.window.position)))[0]
        return np.arange(len(came))


def _parts(numbers: Ints, sizes: Ints, n: int) -> Ints:
    """The part of the row at each place of a partition, where it is cut into `n`; the first parts are the longer ones.

    >>> _parts(np.arange(5), np.full(5, 5), 3).tolist()
    [1, 1, 2, 2, 3]
    """
    size, longer = np.divmod(sizes, n)
    in_longer = longer * (size + 1)
    found: Ints = np.where(
        numbers < in_longer, numbers // (size + 1), longer + (numbers - in_longer) // np.maximum(size, 1)
    )
    return found + 1
