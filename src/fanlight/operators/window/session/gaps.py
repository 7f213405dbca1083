"""The gap after each record, and where the interval of a record ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.time_units import MICROS, NANOS_A_MICRO
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import LATEST
from fanlight.model.time.unit import TimeUnit
from fanlight.model.windows.session import Session
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.plan import Plan


def ends_of(plan: Plan, kind: Session, batch: pa.RecordBatch, times: Ints) -> tuple[Ints, Bools]:
    """The end of each record's interval, and which records have none because their gap is not above zero."""
    if kind.gap is not None:
        return times + kind.gap.micros, np.zeros(len(times), np.bool_)
    assert kind.gap_from is not None
    gaps, missing = _gaps(plan.spec, kind.gap_from, plain(batch.column(kind.gap_from)))
    return times + gaps, missing | (gaps <= 0)


def check_gap(name: str, kind: pa.DataType) -> None:
    """Refuse a column of gaps that holds no lengths of time."""
    if not (pa.types.is_integer(kind) or pa.types.is_duration(kind)):
        raise InputError(
            f"session: `gap_from` {name!r} is {kind}, which says no length of time. "
            "Use whole numbers in the unit of the time column, or a duration."
        )


def _gaps(spec: WindowSpec, name: str, column: pa.Array) -> tuple[Ints, Bools]:
    check_gap(name, column.type)
    missing = np.asarray(column.is_null())
    if pa.types.is_duration(column.type):
        gaps = column.cast(pa.duration("us")).cast(pa.int64())
        return _numbers(gaps, 1), missing
    if spec.unit is None:
        raise InputError(
            f"session: `gap_from` {name!r} is {column.type}, and whole numbers do not say what they count. "
            "Say it, as in fl.stream(…, unit='s'), or use a duration."
        )
    if spec.unit is TimeUnit.NANOSECONDS:
        return _numbers(column.cast(pa.int64()), 1) // NANOS_A_MICRO, missing
    return _numbers(column.cast(pa.int64()), MICROS[spec.unit]), missing


def _numbers(column: pa.Array, scale: int) -> Ints:
    """Gaps in microseconds, limited so that no interval ends beyond the end of time."""
    numbers: Ints = column.fill_null(0).to_numpy(zero_copy_only=False)
    return np.clip(numbers, -(LATEST // scale), LATEST // scale) * scale
