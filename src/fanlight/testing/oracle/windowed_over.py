"""Over inside windows, read slowly from the law: every partition is there, and each value is computed from scratch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate, UserBatch
from fanlight.model.over.frame import Frame, RangeFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    CumeDist,
    DenseRank,
    NTile,
    PercentRank,
    Rank,
    RowNumber,
)
from fanlight.model.over.spec import Computed
from fanlight.model.over.windowed import BOUNDS, WindowedOverSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.oracle.graph import Row, StageOutcome, stage_oracle
from fanlight.testing.oracle.order import descending, null_last
from fanlight.testing.oracle.over import KeptRow, Stretch, frame_rows, other_value
from fanlight.testing.oracle.value_range import told_exactly
from fanlight.testing.script import Counts, Firing, Record, Step, as_key, same


@dataclass(frozen=True, slots=True)
class OrderedPartition:
    """The rows of one key and window, in their order; `peers` has the number of each row's group of peers."""

    rows: Stretch
    peers: tuple[int, ...]

    def frame(self, frame: Frame, place: int) -> Stretch:
        """The rows of a frame: one without lengths of time goes by peers, whatever the order."""
        if not isinstance(frame, RangeFrame) or frame.has_lengths:
            return frame_rows(frame, self.rows, place)
        by_peers = [replace(row, time=peers) for row, peers in zip(self.rows, self.peers, strict=True)]
        found = frame_rows(frame, by_peers, place)
        return [row for row, stand_in in zip(self.rows, by_peers, strict=True) if any(one is stand_in for one in found)]


class WindowedOverStage:
    """Partitions as a stage: each record of a window leaves as a row, in the step that says the window."""

    def __init__(self, spec: WindowedOverSpec) -> None:
        self.spec = spec
        self.clock = START_OF_TIME
        """The clock it has reached."""
        self.watermark = START_OF_TIME

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are those of the windows that are over."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        self.watermark = max(self.watermark, START_OF_TIME if step.watermark is None else step.watermark)
        if step.end:
            self.watermark = END_OF_TIME
        found = [self._said(pane, partition, place) for pane, partition, place in self._all(step.records)]
        rows = tuple(row for row, fits in found if fits)
        came = len(step.records)
        return StageOutcome(rows, (), Counts(came, came, values_out_of_range=len(found) - len(rows)))

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """The rows."""
        return tuple(row for row in rows if not isinstance(row, Firing))

    def hands_on(self) -> int:
        """The watermark of its rows: that of the windows, less the longest that one lasts."""
        span = self.spec.window.span
        if self.watermark in (START_OF_TIME, END_OF_TIME) or span is None:
            return self.watermark if span is not None or self.watermark == END_OF_TIME else START_OF_TIME
        return max(self.watermark - span.micros, START_OF_TIME)

    def _all(self, panes: Sequence[Record]) -> list[tuple[Record, OrderedPartition, int]]:
        found = []
        for pane in panes:
            partition = self._ordered(pane[self.spec.rows])
            found += [(pane, partition, place) for place in range(len(partition.rows))]
        return found

    def _ordered(self, records: Sequence[Record]) -> OrderedPartition:
        """By the columns of `order`, then by time or position, then as they came; peers are equal in what is said."""
        spec, domain = self.spec, self.spec.window.domain
        column = spec.record_time if domain is TimeDomain.EVENT else spec.window.position
        times = [number if column is None else record[column] for number, record in enumerate(records)]
        rows = [
            KeptRow(time, as_key(record[name] for name in spec.keys), record)
            for time, record in zip(times, records, strict=True)
        ]
        rows.sort(key=lambda row: row.time)
        for by in reversed(spec.order):
            if by.descending:
                rows.sort(key=lambda row: descending(row.record[by.column]), reverse=True)
            else:
                rows.sort(key=lambda row: null_last(row.record[by.column]))
        peers = [0]
        for before, row in pairwise(rows):
            is_same = before.time == row.time
            if spec.order:
                is_same = all(same(before.record[by.column], row.record[by.column]) for by in spec.order)
            peers.append(peers[-1] + (not is_same))
        return OrderedPartition(rows, tuple(peers))

    def _said(self, pane: Record, partition: OrderedPartition, place: int) -> tuple[Record, bool]:
        """A record with its window and its new columns, and whether their types can hold them."""
        values: dict[str, Any] = {}
        fits = True
        for one in self.spec.new_columns:
            values[one.name] = self._value(one, partition, place)
            told = told_exactly(one.function, values[one.name]) if isinstance(one.function, Aggregate) else None
            fits = fits and told is None
        own = {name: value for name, value in partition.rows[place].record.items() if name not in BOUNDS}
        window = {name: pane[name] if self.spec.window.has_ends else None for name in BOUNDS}
        return {**own, **window, **values}, fits

    def _value(self, one: Computed, partition: OrderedPartition, place: int) -> Any:
        rows, peers, function = partition.rows, partition.peers, one.function
        before = sum(other < peers[place] for other in peers)
        match function:
            case UserBatch():  # it sees the rows in the order of their partition
                return compute(
                    function, [(0, given(function, row.record)) for row in partition.frame(one.frame, place)]
                )
            case Aggregate():
                return compute(
                    function, [(row.time, given(function, row.record)) for row in partition.frame(one.frame, place)]
                )
            case RowNumber():
                return place + 1
            case Rank():
                return before + 1
            case DenseRank():
                return peers[place] + 1
            case PercentRank():
                return before / (len(rows) - 1) if len(rows) > 1 else 0.0
            case CumeDist():
                return sum(other <= peers[place] for other in peers) / len(rows)
            case NTile(n=n):
                return next(part for part in range(1, n + 1) if place < _up_to(part, n, len(rows)))
            case ColumnFunction():
                return other_value(function, rows, place, partition.frame(one.frame, place))
        raise SpecError(f"oracle of over: {one.function!r} is not one it knows. Use those of fanlight.model.over.")


def _up_to(part: int, parts: int, rows: int) -> int:
    """How many rows the first so many of all `parts` have: the first ones have one more, if it does not come out even.

    >>> [_up_to(part, 3, 5) for part in (1, 2, 3)]
    [2, 4, 5]
    """
    return part * (rows // parts) + min(part, rows % parts)


stage_oracle.register(WindowedOverSpec, WindowedOverStage)
