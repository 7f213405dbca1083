"""What came out of an engine, as rows with the attributes of the format."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.model.firing import FiringTime, Op, Timing
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.session import Session
from fanlight.testing.vectors.aggregates import MESSAGES
from fanlight.testing.vectors.milliseconds import written

Row = dict[str, Any]

OP = "op"
"""What a row does to the table of results; no attribute of the format, whose rows say `retract`."""

_WINDOW = ("window", "window_start", "window_end", "pane", "retract")
_FIRING = ("ts", "first", "final", "timing", "early", "late", "index", "nonspec_index", "firing")
_RETRACTIONS = (Op.RETRACT.code, Op.DELETE.code)


def firing_attributes(spec: WindowSpec) -> set[str]:
    """What an expected firing may assert."""
    return window_attributes(spec) | set(_FIRING)


def window_attributes(spec: WindowSpec) -> set[str]:
    """What an expected window may assert."""
    return {*spec.keys, *(name for name, _ in spec.aggregates), *_WINDOW, *_told(spec)}


def _told(spec: WindowSpec) -> tuple[str, ...]:
    """What windows of this kind are told by besides their ends."""
    match spec.window:
        case Session(gap=gap) if gap is not None:
            return ("session",)
        case Counting():
            return ("tuples",)
    return ()


def firing_rows(table: pa.Table, spec: WindowSpec) -> list[Row]:
    """Firings as rows: what was computed, of which window, and which firing of its pane it is."""
    parts = zip(_windows(table, spec), _panes(table, spec), _values(table, spec), strict=True)
    return [{**window, **pane, **values} for window, pane, values in parts]


def window_rows(table: pa.Table, spec: WindowSpec) -> list[Row]:
    """Windows as rows: what is in them now; a window with nothing in it is no row."""
    parts = zip(_windows(table, spec), _values(table, spec), strict=True)
    return [{"retract": False, **window, **values} for window, values in parts if values[MESSAGES]]


def letter_rows(table: pa.Table) -> list[Row]:
    """Dead letters as rows: the records as they came."""
    return [dict(record or {}) for record in table.column("record").to_pylist()]


def _values(table: pa.Table, spec: WindowSpec) -> list[Row]:
    rows: list[Row] = table.select([*spec.keys, *(name for name, _ in spec.aggregates)]).to_pylist()
    return rows


def _windows(table: pa.Table, spec: WindowSpec) -> list[Row]:
    """Where each row's window lies; the global window, whose ends are null, lies between the ends of time."""
    bounds = zip(_micros(table, "window", "start"), _micros(table, "window", "end"), strict=True)
    rows = []
    for left, right in bounds:
        start = written(START_OF_TIME if left is None else left)
        end = written(END_OF_TIME if right is None else right)
        row: Row = {"window": [start, end], "window_start": start, "window_end": end, "pane": start}
        rows.append(row | _within(left, right, spec))
    return rows


def _within(left: int | None, right: int | None, spec: WindowSpec) -> Row:
    """The first and the last time or position that is inside: a session ends one gap after its last record."""
    if left is None or right is None:
        return {}
    match spec.window:
        case Session(gap=gap) if gap is not None:
            return {"session": [written(left), written(right - gap.micros)]}
        case Counting():
            return {"tuples": [max(left, 1), right - 1]}
    return {}


def _panes(table: pa.Table, spec: WindowSpec) -> list[Row]:
    """Which firing of its pane each row is; a window of positions ends at no time, so its end is that of time."""
    endless = isinstance(spec.window, Counting) and spec.firing_time is FiringTime.END
    times = _micros(table, "pane", "time")
    names = ("op", "timing", "number", "revision", "is_last")
    columns = [_part(table, "pane", name).to_pylist() for name in names]
    rows = []
    for time, op, timing, number, revision, is_last in zip(times, *columns, strict=True):
        early = timing == Timing.EARLY.name
        rows.append(
            {
                OP: op,
                "retract": op in _RETRACTIONS,
                "ts": written(END_OF_TIME if time is None or endless else time),
                "timing": timing.lower(),
                "early": early,
                "late": timing == Timing.LATE.name,
                "firing": "early" if early else "default",
                "index": number,
                "nonspec_index": revision,
                "first": number == 0,
                "final": is_last,
            }
        )
    return rows


def _micros(table: pa.Table, column: str, field: str) -> list[int | None]:
    micros: list[int | None] = _part(table, column, field).cast(pa.int64()).to_pylist()
    return micros


def _part(table: pa.Table, column: str, field: str) -> pa.ChunkedArray[Any]:
    part: pa.ChunkedArray[Any] = pc.struct_field(table.column(column), field)
    return part
