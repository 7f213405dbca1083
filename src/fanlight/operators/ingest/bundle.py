"""The bundle of a step, and how it is made of a batch: drop replays, read times, reject what has no readable time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.times import Fault, Faults, read_positions, read_times
from fanlight.model.reason import Reason
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text, later
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.columns import plain
from fanlight.operators.ingest.conform import CheckedBatch, conform
from fanlight.operators.ingest.inputs import Offsets
from fanlight.operators.preaggregator import PreAggregated


@dataclass(frozen=True, slots=True)
class Bundle:
    """The input of one step: records with a readable time, and the watermark they are judged by."""

    batch: pa.RecordBatch
    times: Ints
    watermarks: Ints
    """One for all records, or one for each."""
    first: int = 0
    """The arrival number of the first record."""
    preaggregated: PreAggregated | None = None
    """Pre-aggregated records of the same bundle."""
    deletes: Bools | None = None
    """Which records take a row back, once their operations were read; None if none does."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def records(self) -> int:
        """How many records it has, pre-aggregated ones included."""
        return len(self) + (0 if self.preaggregated is None else self.preaggregated.records)

    @staticmethod
    def concat(bundles: list[Bundle]) -> Bundle:
        """The records of several inputs as one bundle, one input after the other.

        The last one has the types of all: an input may give one to a column that had none in an earlier input.
        """
        if len(bundles) == 1:
            return bundles[0]
        judged = [np.broadcast_to(one.watermarks, one.times.shape) for one in bundles]
        alike = {int(one.watermarks[0]) if len(one.watermarks) == 1 else None for one in bundles}
        watermarks = bundles[0].watermarks if len(alike) == 1 and None not in alike else np.concatenate(judged)
        times = np.concatenate([one.times for one in bundles])
        batches = [conform(one.batch, bundles[-1].batch.schema) for one in bundles]
        return Bundle(pa.concat_batches(batches), times, watermarks, bundles[0].first)

    @staticmethod
    def united(bundles: list[Bundle], preaggregated: PreAggregated | None, *, apart: bool) -> list[Bundle]:
        """The bundles of all inputs as one; with `apart` as they are, if one watermark judges them all."""
        judged = {int(one.watermarks[0]) if len(one.watermarks) == 1 else None for one in bundles}
        alike = len(judged) == 1 and None not in judged and len({one.batch.schema for one in bundles}) == 1
        if len(bundles) > 1 and not (apart and alike):
            bundles = [Bundle.concat(bundles)]
        if preaggregated is not None and bundles:
            bundles = [replace(bundles[0], preaggregated=preaggregated), *bundles[1:]]
        return bundles

    def where(self, mask: Bools) -> Bundle:
        """The records that `mask` keeps."""
        kept = self.watermarks[mask] if len(self.watermarks) > 1 else self.watermarks
        deletes = None if self.deletes is None else self.deletes[mask]
        batch = self.batch.filter(pa.array(mask))
        return replace(self, batch=batch, times=self.times[mask], watermarks=kept, deletes=deletes)

    def part(self, start: int, end: int) -> Bundle:
        """The records from `start` up to `end`; pre-aggregated records belong to the first part."""
        watermarks = self.watermarks[start:end] if len(self.watermarks) > 1 else self.watermarks
        whole = self.batch.slice(start, end - start), self.times[start:end], watermarks
        deletes = None if self.deletes is None else self.deletes[start:end]
        return Bundle(*whole, self.first + start, None if start else self.preaggregated, deletes)


def without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with plain types instead of string and binary views, because Arrow cannot filter views."""
    views = [
        i
        for i, field in enumerate(schema)
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type)
    ]
    for i in views:
        schema = schema.set(i, schema.field(i).with_type(plain_type(schema.field(i).type)))
    return schema


def without_replays(
    came: CheckedBatch, offset: Offsets, taken_through: int | None
) -> tuple[CheckedBatch, int | None, int]:
    """Drop records whose offset was already taken: the rest, the greatest offset now, and how many were dropped."""
    rows = len(came.batch)
    if offset is None or not rows:
        return came, taken_through, 0
    offsets = offsets_of(offset, rows)
    floor = np.iinfo(np.int64).min if taken_through is None else taken_through
    before = np.maximum.accumulate(np.concatenate([[floor], offsets[:-1]]))
    fresh = offsets > before
    replayed = int(rows - np.count_nonzero(fresh))
    return came.where(fresh) if replayed else came, int(max(floor, offsets.max())), replayed


def reject_malformed(malformed: CheckedBatch, books: Books, watermark: Timestamp) -> None:
    """Make dead letters of records with values that do not fit their columns."""
    batch, judged = malformed.batch, np.array([watermark])
    books.receive(len(batch))
    everyone = np.ones(len(batch), np.bool_)
    books.reject(batch, everyone, Reason.MALFORMED, judged, malformed.details)


def times_in(batch: pa.RecordBatch, name: str, unit: TimeUnit | None) -> tuple[Ints, Faults]:
    """The times in a column, and a `Fault` for each row: `read_times` of its plain values."""
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = plain(column)
    return read_times(column, unit, f"the time column {name!r}")


@dataclass(frozen=True, slots=True)
class TimeReader:
    """Reads the times of records: from a column, from the clock at their arrival, or from their positions."""

    domain: TimeDomain
    column: str | None
    """The column of times or positions; None if there is none."""
    unit: TimeUnit | None = None
    ahead: Duration | None = None
    starts_now: bool = False
    """Whether a record that comes by the clock starts something new, rather than belongs to what is open."""
    instant: int = 0
    """How much of the clock's own instant counts as past."""

    @staticmethod
    def of(spec: StreamSpec) -> TimeReader:
        """How the records of `spec` get their times."""
        timed = spec.time if spec.reads_times else None
        column = {TimeDomain.EVENT: timed, TimeDomain.ARRIVAL: spec.position}.get(spec.domain)
        return TimeReader(spec.domain, column, spec.unit, spec.ahead, spec.starts_by_clock, spec.clock_instant.micros)

    def read(
        self, batch: pa.RecordBatch, books: Books, watermark: Timestamp, clock: Timestamp, arrived: int
    ) -> tuple[pa.RecordBatch, Ints]:
        """Read the times; records whose time cannot be read, or is too far ahead of the clock, are rejected.

        In processing time every record has the time of the clock, or of the watermark where that instant is past; but
        what starts by the clock starts now. Before a clock was given, records have no time. In order of arrival a
        record's time is its position: counted on from the `arrived` records before it, or read from its column.
        """
        judged = np.array([watermark])
        if self.domain is TimeDomain.PROCESSING:
            if clock == START_OF_TIME:
                books.reject(batch, np.ones(len(batch), np.bool_), Reason.NULL_TIME, judged)
                return batch.slice(0, 0), np.zeros(0, np.int64)
            return batch, np.full(len(batch), clock if self.starts_now else max(clock, watermark))
        if self.column is None:
            return batch, np.arange(arrived + 1, arrived + 1 + len(batch))
        if self.domain is TimeDomain.ARRIVAL:
            times, faults = read_positions(plain(batch.column(self.column)))
        else:
            times, faults = times_in(batch, self.column, self.unit)
        if faults.any():
            for fault in Fault:
                if fault.reason is not None:
                    books.reject(batch, faults == fault, fault.reason, judged)
            fine = faults == 0
            batch, times = batch.filter(pa.array(fine)), times[fine]
        limit = self.furthest(clock)
        if limit < END_OF_TIME and len(times) and times.max() > limit:
            far = times > limit
            detail = json.dumps({"clock": as_text(clock), "ahead": str(self.ahead)})
            details = pa.array([detail] * int(np.count_nonzero(far)))
            books.reject(batch, far, Reason.TOO_FAR_AHEAD, judged, details)
            batch, times = batch.filter(pa.array(~far)), times[~far]
        return batch, times

    @property
    def in_event_time(self) -> bool:
        """Whether records bring their times with them, and a watermark follows these."""
        return self.domain is TimeDomain.EVENT

    def greatest(self, batch: pa.RecordBatch, clock: Timestamp) -> Timestamp | None:
        """The greatest event time in a batch that can be read and is not too far ahead; None if there is none."""
        if not self.in_event_time or self.column is None or not len(batch):
            return None
        times, faults = times_in(batch, self.column, self.unit)
        usable = times[(faults == 0) & (times <= self.furthest(clock))]
        return int(usable.max()) if len(usable) else None

    def furthest(self, clock: Timestamp) -> Timestamp:
        """The greatest time that a record may have at `clock`; any time, if there is no limit or no clock."""
        if self.ahead is None or self.domain is not TimeDomain.EVENT or clock == START_OF_TIME:
            return END_OF_TIME
        return later(clock, self.ahead.micros)

    def watermark(self, clock: Timestamp, times: Ints | None) -> Timestamp | None:
        """The watermark of a step in processing time or order of arrival; None in event time, where it is given.

        In processing time it is the clock, with its instant where that counts as past. In order of arrival it is the
        position after the step's records, whose positions are `times`; without records it does not move.
        """
        if self.domain is TimeDomain.PROCESSING:
            return clock if clock == START_OF_TIME else min(clock + self.instant, END_OF_TIME)
        if self.domain is TimeDomain.ARRIVAL:
            return START_OF_TIME if times is None or not len(times) else int(times.max()) + 1
        return None


def offsets_of(offset: int | Sequence[int] | Ints, rows: int) -> Ints:
    """The offset of each of so many records, given that of the first, or all of them."""
    if isinstance(offset, Integral):
        return np.arange(int(offset), int(offset) + rows)
    offsets = np.asarray(offset, np.int64)
    if len(offsets) != rows:
        raise InputError(
            f"add: {len(offsets)} offsets were given for {rows} records. "
            "Give one for each, or the offset of the first if they follow one another."
        )
    return offsets
