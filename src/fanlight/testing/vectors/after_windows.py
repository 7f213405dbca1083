"""The ops `window_topn` and `gap_fill`: windows, and a stage over what they fire that gives rows.

agg: smallest 1 by v                                       the first rows of each window
over: {interval: 60000, fill: last_observation_…}          a row for each interval between two rows
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from fanlight.model.aggregates import last
from fanlight.model.aggregates.ranked import TopRows
from fanlight.model.fill import FillSpec, FillWith
from fanlight.model.order_by import OrderBy
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.model.top import ROWS, TopSpec
from fanlight.model.windows.tumbling import Tumbling
from fanlight.operators.bind import bind
from fanlight.operators.handover import Handover
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.chain import Chained
from fanlight.testing.vectors.declare import KEY, TIME, semantics_of
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment, written
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.sort import Records, sort_differences
from fanlight.testing.vectors.watermarks import strategy_of
from fanlight.testing.vectors.windows import window_of
from fanlight.testing.vectors.word import NO_WORD

_FIRST = re.compile(r"(?P<which>smallest|largest) (?P<n>\d+) by (?P<column>\w+)")
_FILLS = {
    "last_observation_carried_forward": FillWith.LAST,
    "locf": FillWith.LAST,
    "interpolate": FillWith.LINEAR,
    "keep": FillWith.NULL,
}
_BOUNDS = ("window_start", "window_end")


class AfterWindows:
    """Windows and the stage over them as an engine runs both; `told` says how a row of the case is read off one."""

    def __init__(
        self, windows: WindowSpec, after: StreamSpec, schema: pa.Schema, engine: str, told: Callable[[Row], Row]
    ) -> None:
        handover = Handover.of(windows, after)
        between = handover.schema(bind(windows, schema).result)
        make = ENGINES[engine]
        self._driver = Chained(make(windows, schema), make(after, between), handover)
        self._schema = schema
        self._told = told

    def bundle(self, records: Records) -> list[Row]:
        """Take records in, as one step; the rows that leave."""
        wrapped = [{**record, "record": dict(record)} for record in records]
        batch = pa.RecordBatch.from_pylist(wrapped, schema=self._schema)
        self._driver.bundle(batch, side=None, clock=None, word=NO_WORD)
        return self._leaving()

    def watermark(self, watermark: Timestamp) -> list[Row]:
        """Move the watermark; the rows that leave."""
        if watermark == END_OF_TIME:
            self._driver.end()
        else:
            self._driver.watermark(watermark, side=None, clock=None, word=NO_WORD)
        return self._leaving()

    def checkpoint_restore(self) -> None:
        """Stop, and go on from what was stored."""
        self._driver.checkpoint_restore()

    def _leaving(self) -> list[Row]:
        return [self._told(row) for row in self._driver.firings().to_pylist()]


def top(vector: Vector, engine: str) -> list[str]:
    """What differs in the first rows of windows."""
    said = _FIRST.fullmatch(str(vector.get("agg")))
    if said is None:
        raise NotAdoptedError(f"window_topn {vector.get('agg')}: not built yet")
    order = OrderBy(said["column"], descending=said["which"] == "largest")
    windows = WindowSpec(
        TIME,
        window_of(vector),
        ((ROWS, TopRows("record", int(said["n"]), (order,))),),
        (KEY,) if vector.get("key") else (),
        lateness=length(vector.get("lateness_ms", 0)),
        watermark=strategy_of(vector),
        semantics=semantics_of(vector),
    )
    driver = AfterWindows(windows, TopSpec(windows, windows.keys), _wrapped(vector), engine, _ranked)
    return sort_differences(vector, lambda _: driver, [*_BOUNDS, "rank"])


def fill(vector: Vector, engine: str) -> list[str]:
    """What differs where the intervals between rows are filled."""
    over = vector.mapping("over")
    if over.get("fill") not in _FILLS:
        raise NotAdoptedError(f"gap_fill {over.get('fill')}: not built yet")
    keys, interval = tuple(over.get("partition") or ()), length(over["interval"])
    offset = _offset(vector, keys, interval)
    values = [name for name in _wrapped(vector).names if name not in (TIME, "record", *keys)]
    windows = WindowSpec(
        TIME,
        Tumbling(interval, offset),
        tuple((name, last(name)) for name in values),
        keys,
        watermark=strategy_of(vector),
        semantics=semantics_of(vector),
    )
    after = FillSpec(windows, _FILLS[over["fill"]], keys=keys)
    driver = AfterWindows(windows, after, _wrapped(vector), engine, _started)
    return sort_differences(vector, lambda _: driver)


def _wrapped(vector: Vector) -> pa.Schema:
    """The columns of a case's records, with times as microseconds; and all of them as one struct."""
    records = [{**record, TIME: moment(record[TIME])} for record in vector.records]
    return pa.Table.from_pylist([{**record, "record": record} for record in records]).schema


def _offset(vector: Vector, keys: tuple[str, ...], interval: Duration) -> Duration:
    """How far from a whole interval the rows stand: windows hold one row each, and start where it stands."""
    times = [moment(record[TIME]) for record in vector.records]
    apart = {time % interval.micros for time in times}
    places = [(moment(record[TIME]), *(record[key] for key in keys)) for record in vector.records]
    if len(apart) > 1 or len(set(places)) < len(places):
        raise NotAdoptedError("gap_fill: here windows are filled, and not every interval of this case has one row")
    return Duration(apart.pop() if apart else 0)


def _ranked(row: Row) -> Row:
    return {**row, **{name: _written(row[name]) for name in _BOUNDS}}


def _started(row: Row) -> Row:
    """A window as the row that started it."""
    window: Mapping[str, Any] = row["window"]
    own = {name: value for name, value in row.items() if name != "window"}
    return {**own, TIME: _micros(window["start"])}


def _written(bound: Any) -> Any:
    return None if bound is None else written(_micros(bound))


def _micros(bound: Any) -> int:
    micros: int = pa.scalar(bound, pa.timestamp("us", "UTC")).value
    return micros
