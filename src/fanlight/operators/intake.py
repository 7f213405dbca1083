"""From a raw batch to a bundle: replays left out, times read, unreadable records buried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from numbers import Integral

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.groups import Ints
from fanlight.kernels.reducers.plain import plain_type
from fanlight.kernels.times import Fault, read_positions, read_times
from fanlight.model.letters import Reason
from fanlight.model.sessions import Session
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text, later
from fanlight.model.windows import TimeDomain
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.conforming import Came
from fanlight.operators.plan import Plan, plain

Offsets = int | Sequence[int] | Ints | None


def without_views(schema: pa.Schema) -> pa.Schema:
    """A schema whose string and binary views are plain, because Arrow cannot filter views."""
    views = [
        i
        for i, field in enumerate(schema)
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type)
    ]
    for i in views:
        schema = schema.set(i, schema.field(i).with_type(plain_type(schema.field(i).type)))
    return schema


def without_replays(came: Came, offset: Offsets, taken_through: int | None) -> tuple[Came, int | None, int]:
    """Leave out records whose offset has been taken already: the rest, the greatest offset now, how many were left."""
    rows = len(came.batch)
    if offset is None or not rows:
        return came, taken_through, 0
    offsets = _offsets(offset, rows)
    floor = np.iinfo(np.int64).min if taken_through is None else taken_through
    before = np.maximum.accumulate(np.concatenate([[floor], offsets[:-1]]))
    fresh = offsets > before
    replayed = int(rows - np.count_nonzero(fresh))
    return came.where(fresh) if replayed else came, int(max(floor, offsets.max())), replayed


def bury_malformed(malformed: Came, letters: DeadLetters, accounting: Accounting, watermark: Timestamp) -> None:
    """Make dead letters of records with values that do not fit their columns."""
    batch, judged = malformed.batch, np.array([watermark])
    accounting.received += len(batch)
    everyone = np.ones(len(batch), np.bool_)
    accounting.dead_letters += letters.bury(batch, everyone, Reason.MALFORMED, judged, malformed.details)


def with_times(
    plan: Plan,
    batch: pa.RecordBatch,
    letters: DeadLetters,
    accounting: Accounting,
    watermark: Timestamp,
    clock: Timestamp,
    arrived: int,
) -> tuple[pa.RecordBatch, Ints]:
    """Read the event times; records whose time cannot be read, or is too far ahead of the clock, are buried.

    In processing time the clock is the time of them all, or the watermark where that instant is over; but a session,
    which ends later, starts at the clock. Before any clock was told they have no time. In order of arrival a record's
    time is its position, counted on from the `arrived` that came before, or read from its column.
    """
    spec = plan.spec
    if spec.in_processing_time:
        if clock == START_OF_TIME:
            everyone, judged = np.ones(len(batch), np.bool_), np.array([watermark])
            accounting.dead_letters += letters.bury(batch, everyone, Reason.NULL_TIME, judged)
            return batch.slice(0, 0), np.zeros(0, np.int64)
        starts_now = isinstance(spec.window, Session)
        return batch, np.full(len(batch), clock if starts_now else max(clock, watermark))
    if spec.position is not None:
        times, faults = read_positions(plain(batch.column(spec.position)))
    elif spec.in_arrival_order:
        return batch, np.arange(arrived + 1, arrived + 1 + len(batch))
    else:
        times, faults = read_times(plain(batch.column(spec.time)), spec.unit, f"the time column {spec.time!r}")
    judged = np.array([watermark])
    if faults.any():
        for fault in Fault:
            if fault.reason is not None:
                accounting.dead_letters += letters.bury(batch, faults == fault, fault.reason, judged)
        fine = faults == 0
        batch, times = batch.filter(pa.array(fine)), times[fine]
    limit = furthest(spec, clock)
    if limit < END_OF_TIME and len(times) and times.max() > limit:
        far = times > limit
        details = pa.array([_far(spec, clock)] * int(np.count_nonzero(far)))
        accounting.dead_letters += letters.bury(batch, far, Reason.TOO_FAR_AHEAD, judged, details)
        batch, times = batch.filter(pa.array(~far)), times[~far]
    return batch, times


def furthest(spec: WindowSpec, clock: Timestamp) -> Timestamp:
    """The furthest time that a record may have at `clock`: as far as it likes, where there is no limit or no clock."""
    if spec.ahead is None or spec.window.domain is not TimeDomain.EVENT or clock == START_OF_TIME:
        return END_OF_TIME
    return later(clock, spec.ahead.micros)


def _far(spec: WindowSpec, clock: Timestamp) -> str:
    """What a letter says of a time that is too far ahead: by which clock, and by which limit."""
    return json.dumps({"clock": as_text(clock), "ahead": str(spec.ahead)})


def _offsets(offset: int | Sequence[int] | Ints, rows: int) -> Ints:
    if isinstance(offset, Integral):
        return np.arange(int(offset), int(offset) + rows)
    offsets = np.asarray(offset, np.int64)
    if len(offsets) != rows:
        raise InputError(
            f"add: {len(offsets)} offsets were given for {rows} records. "
            "Give one for each, or the offset of the first if they follow one another."
        )
    return offsets
