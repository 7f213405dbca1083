"""The windows that a record alone decides: all kinds but sessions and sliding windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

import numpy as np
import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Assign, Custom
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.same import Same
from fanlight.model.windows.tumbling import Tumbling
from fanlight.model.windows.window import WHOLE_TIME, Window
from fanlight.testing.oracle.calendar import unit_of
from fanlight.testing.script import Record


def windows_of(spec: WindowSpec, record: Record, time: int) -> list[Window]:
    """Every window that the record is in, of those the semantics allow."""
    kind, earliest = spec.window, spec.semantics.earliest_start
    match kind:
        case Custom(assign=assign):
            return list(_assigned(assign, record, time))
        case Same(of=Tumbling() | Hopping() as of):
            return [Window(time, time + of.size.micros)]
        case Same(of=Global()):
            return [WHOLE_TIME]
    least = earliest if kind.heeds_earliest_start and earliest is not None else START_OF_TIME
    return [window for window in windows_around(kind, time) if window.start >= least]


@singledispatch
def windows_around(kind: WindowKind, _time: int) -> Iterable[Window]:
    """Every window of a kind with `start <= time < end`, where the kind alone says which there are.

    The kinds of the model are registered here; one of your own is registered by `windows_around.register`, so that
    the engine can be compared with the oracle on it too.
    """
    raise SpecError(
        f"oracle: window {kind!r} is not one it knows. Register it: windows_around.register({type(kind).__name__}, …)."
    )


@windows_around.register
def _(kind: Tumbling, time: int) -> Iterable[Window]:
    return _hops(time, kind.size.micros, kind.size.micros, kind.offset.micros)


@windows_around.register
def _(kind: Hopping, time: int) -> Iterable[Window]:
    return _hops(time, kind.size.micros, kind.every.micros, kind.offset.micros)


@windows_around.register
def _(kind: Counting, time: int) -> Iterable[Window]:
    return _hops(time, kind.size, kind.every, 1)


@windows_around.register
def _(kind: Cumulating, time: int) -> Iterable[Window]:
    size, step = kind.size.micros, kind.step.micros
    (whole,) = _hops(time, size, size, kind.offset.micros)
    return (Window(whole.start, end) for end in range(whole.start + step, whole.end + 1, step) if time < end)


@windows_around.register
def _(kind: Calendar, time: int) -> Iterable[Window]:
    return [unit_of(kind.unit, kind.zone, time)]


@windows_around.register
def _(_kind: Global, _time: int) -> Iterable[Window]:
    return [WHOLE_TIME]


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
