"""The windows that a record alone decides: all kinds but sessions and sliding windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.model.calendar import Calendar
from fanlight.model.counting import Counting
from fanlight.model.cumulating import Cumulating
from fanlight.model.custom import Assign, Custom
from fanlight.model.spec import WindowSpec
from fanlight.model.windows import WHOLE_TIME, Global, Hopping, Same, Tumbling, Window
from fanlight.testing.oracle_calendar import unit_of
from fanlight.testing.script import Record


def windows_of(spec: WindowSpec, record: Record, time: int) -> list[Window]:
    """Every window that the record is in, of those the semantics allow."""
    match spec.window:
        case Custom(assign=assign):
            return list(_assigned(assign, record, time))
        case Global() | Same(of=Global()):
            return [WHOLE_TIME]
        case Same(of=Tumbling() | Hopping() as of):
            return [Window(time, time + of.size.micros)]
        case Counting(size=count, every=step):
            return list(_hops(time, count, step, 1))
    earliest = spec.semantics.earliest_start
    return [window for window in _covering(spec, time) if earliest is None or window.start >= earliest]


def _covering(spec: WindowSpec, time: int) -> Iterator[Window]:
    """Every window of an aligned kind with `start <= time < end`."""
    match spec.window:
        case Tumbling(size=size, offset=offset):
            yield from _hops(time, size.micros, size.micros, offset.micros)
        case Hopping(size=size, every=every, offset=offset):
            yield from _hops(time, size.micros, every.micros, offset.micros)
        case Cumulating(size=size, step=step, offset=offset):
            (whole,) = _hops(time, size.micros, size.micros, offset.micros)
            for end in range(whole.start + step.micros, whole.end + 1, step.micros):
                if time < end:
                    yield Window(whole.start, end)
        case Calendar(unit=unit, zone=zone):
            yield unit_of(unit, zone, time)
        case other:
            raise SpecError(f"oracle: window {other!r} is not one it knows. Use one of fanlight.model.kinds.")


def _hops(time: int, size: int, every: int, offset: int) -> Iterator[Window]:
    k = (time - size - offset) // every
    while k * every + offset <= time:
        start = k * every + offset
        if time < start + size:
            yield Window(start, start + size)
        k += 1


def _assigned(assign: Assign, record: Record, time: int) -> Iterator[Window]:
    """What a user's function says of this record alone."""
    said = assign(np.array([time], np.int64), pa.RecordBatch.from_pylist([dict(record)]))
    starts, ends = said[-2:]
    for start, end in zip(np.asarray(starts).tolist(), np.asarray(ends).tolist(), strict=True):
        yield Window(start, end)
