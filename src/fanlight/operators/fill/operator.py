"""The operator of `fill`: it keeps the newest window of each key, and fills the gap to the next one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from fanlight.kernels.fill_values import filled_type, filled_values
from fanlight.kernels.grouping.groups import Ints, encode_together
from fanlight.kernels.grouping.row_identity import places_within
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.kernels.slicing.slicing import Slicing, spread
from fanlight.model.continuation import WINDOW_END, WINDOW_START
from fanlight.model.fill import MOST_FILLED, FillSpec, FillWith
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.operators.accounting import Books, moments
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.normalize.live_rows import LiveRows, buckets_of
from fanlight.operators.operator import BoundSpec, Operator, PaneRows, Progress
from fanlight.operators.sort.gather import require_movable
from fanlight.operators.window.firing.changelog import in_order
from fanlight.operators.window.plan import WINDOW
from fanlight.state.store import ChunkStore

_SLACK = 4
"""Forgotten windows may stay a quarter of `longest` longer, so that not every step writes."""


@dataclass(frozen=True, slots=True)
class FillPlan:
    """What one shard needs to know: the spec, how windows are numbered, and the columns of the result."""

    spec: FillSpec
    slicing: Slicing
    schema: pa.Schema
    result: pa.Schema

    @property
    def kept(self) -> pa.Schema:
        """The columns of a window that is kept: its key, its start, and its values where a gap is filled with them."""
        values = () if self.spec.how is FillWith.NULL else self.spec.filled
        return pa.schema([self.schema.field(name) for name in (*self.spec.keys, WINDOW_START, *values)])

    def numbers(self, starts: Ints) -> Ints:
        """The numbers of the windows that start there: of all windows that hold the instant, the last."""
        return self.slicing.windows(self.slicing.slices(starts))[1]


def bind_fill(spec: FillSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows have no pane
    """Fill bound to its columns; the output has those of the windows."""
    for name in spec.columns:
        require_column(schema, name)
        require_movable(name, schema.field(name).type)
    keys = [schema.field(name) for name in spec.keys]
    values = [schema.field(name).with_type(filled_type(spec.how, schema.field(name).type)) for name in spec.filled]
    result = pa.schema([*keys, pa.field("window", WINDOW), *values])
    windows = spec.windows
    plan = FillPlan(spec, slicing_of(windows.window.origin, windows.semantics), schema, result)
    return BoundSpec(schema, result, partial(FilledGaps, plan), PaneRows(), times=TimeReader.of(spec))


@dataclass(frozen=True, slots=True)
class KeyedWindows:
    """Windows of several keys: first those that were the newest of their keys, then those that came."""

    codes: Ints
    """The key of each."""
    starts: Ints
    ends: Ints
    known: int
    """How many were the newest of their keys."""

    def in_order(self) -> Ints:
        """Their places, by key and then by their ends."""
        return np.lexsort((self.ends, self.codes))

    def newest(self) -> Ints:
        """Of each key, which of the windows that came is its newest now: places among those that came."""
        order = self.in_order()
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = self.codes[order[1:]] != self.codes[order[:-1]]
        found: Ints = order[is_last] - self.known
        return found[found >= 0]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Windows that are missing: the rows around each, its bounds, and its place among the steps between the two."""

    before: Ints
    after: Ints
    starts: Ints
    ends: Ints
    places: Ints
    spans: Ints


class FilledGaps(Operator):
    """The newest window of each key of one shard, and the rows of the step that is under way."""

    def __init__(self, plan: FillPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        longest = plan.spec.longest
        self._longest = None if longest is None or longest.is_forever else longest.micros
        self._newest = LiveRows(store, plan.kept, 0 if self._longest is None else self._longest // _SLACK)
        self._leaving: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Let these windows leave, each after those that are missing before it; keep the newest of each key."""
        came = bundle.batch
        if not len(came):
            return 0
        keys = self._keys(came)
        buckets = buckets_of(keys, len(came))
        held, held_ends, held_buckets = self._newest.find(buckets, START_OF_TIME)
        _, codes, held_codes = encode_together(keys, len(came), self._keys(held), len(held))
        again = np.isin(held_codes, codes)
        before, ends = held.filter(pa.array(again)), _micros(came, WINDOW_END)
        windows = KeyedWindows(
            np.concatenate([held_codes[again], codes]),
            np.concatenate([_micros(before, WINDOW_START), _micros(came, WINDOW_START)]),
            np.concatenate([held_ends[again], ends]),
            len(before),
        )
        self._leave(before, came, windows, self._gaps(windows))
        newest = windows.newest()
        replaced = again & np.isin(held_codes, codes[newest])
        self._newest.replace(held, held_ends, held_buckets, ~replaced)
        kept = came.select(self._plan.kept.names).take(pa.array(newest))
        self._newest.insert(kept, ends[newest], buckets[newest])
        return len(came)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of this step, in the order of firings."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def retire(self, progress: Progress) -> None:
        """Forget the windows that are too old for any gap to be filled from."""
        if progress.ends or progress.watermark >= END_OF_TIME:
            self._newest.forget(END_OF_TIME)
        elif self._longest is not None:
            self._newest.forget(max(progress.watermark - self._longest, START_OF_TIME))

    def _gaps(self, windows: KeyedWindows) -> Gaps:
        """The windows that are missing between each window and the one before it of its key."""
        plan, order = self._plan, windows.in_order()
        before, after = order[:-1], order[1:]
        numbers = plan.numbers(windows.starts)
        missing = numbers[after] - numbers[before] - 1
        fills = (windows.codes[after] == windows.codes[before]) & (missing > 0) & (missing <= MOST_FILLED)
        if self._longest is not None:
            fills &= windows.ends[after] - windows.ends[before] <= self._longest
        before, after = before[fills], after[fills]
        pairs, absent = spread(numbers[before] + 1, numbers[after] - 1)
        starts, ends = plan.slicing.bounds(absent)
        held = starts < ends  # a day that a zone skips is no window that anything could come to
        pairs, starts, ends = pairs[held], starts[held], ends[held]
        places = places_within(pairs) + 1
        spans = np.bincount(pairs, minlength=len(before))[pairs] + 1
        return Gaps(before[pairs], after[pairs], starts, ends, places, spans)

    def _leave(self, before: pa.RecordBatch, came: pa.RecordBatch, windows: KeyedWindows, gaps: Gaps) -> None:
        """Note the windows that came, and those that are missing, as rows in the order of firings."""
        plan, spec = self._plan, self._plan.spec
        after = pa.array(gaps.after - windows.known)  # what a gap ends with has come in this step
        keys = [pa.concat_arrays([column, column.take(after)]) for column in self._keys(came)]
        starts = np.concatenate([windows.starts[windows.known :], gaps.starts])
        ends = np.concatenate([windows.ends[windows.known :], gaps.ends])
        order = in_order(starts, ends, keys)
        at = pa.array(order)
        told = [moments(side[order]) for side in (starts, ends)]
        window = pa.StructArray.from_arrays(
            [side.cast(field.type) for side, field in zip(told, WINDOW, strict=True)], fields=list(WINDOW)
        )
        values = [self._filled(name, before, came, gaps, after).take(at) for name in spec.filled]
        columns = [*(column.take(at) for column in keys), window, *values]
        self._leaving.append(pa.RecordBatch.from_arrays(columns, schema=plan.result))

    def _filled(self, name: str, before: pa.RecordBatch, came: pa.RecordBatch, gaps: Gaps, after: pa.Array) -> pa.Array:
        """A column of the windows that came, then of those that are missing."""
        how, own = self._plan.spec.how, came.column(name)
        kind = filled_type(how, own.type)
        said = own if own.type == kind else own.cast(kind, safe=False)
        if how is FillWith.NULL:
            return pa.concat_arrays([said, pa.nulls(len(after), kind)])
        both = pa.concat_arrays([before.column(name), own])
        earlier = both.take(pa.array(gaps.before))
        return pa.concat_arrays([said, filled_values(how, earlier, own.take(after), gaps.places, gaps.spans)])

    def _keys(self, rows: pa.RecordBatch) -> list[pa.Array]:
        return [rows.column(name) for name in self._plan.spec.keys]


def _micros(rows: pa.RecordBatch, name: str) -> Ints:
    column: Ints = rows.column(name).view(pa.int64()).to_numpy()
    return column
