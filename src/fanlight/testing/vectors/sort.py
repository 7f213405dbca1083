"""The op `sort`: which rows leave after each step, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.sort import SortSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.operators.ingest.inputs import Watermarks
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.sort import SortOracle
from fanlight.testing.script import Step
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.expect import groups_of, over_steps, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.watermarks import strategy_of
from fanlight.testing.vectors.word import NO_WORD

Records = Sequence[Mapping[str, Any]]


class SortDriver(Protocol):
    """One running sort, one step at a time; times are microseconds."""

    def bundle(self, records: Records) -> list[Row]:
        """Take records in, as one step; the rows that leave."""

    def watermark(self, watermark: Timestamp) -> list[Row]:
        """Move the watermark; the rows that leave."""

    def checkpoint_restore(self) -> None:
        """Stop, and go on from what was stored."""


class OracleSort:
    """Sort as the oracle reads it."""

    def __init__(self, vector: Vector) -> None:
        strategy = strategy_of(vector)
        if not isinstance(strategy, Explicit | BoundedDisorder):
            raise NotAdoptedError("sort has one input; a watermark of several is for those who read several")
        self._oracle = SortOracle(TIME, watermark=strategy)

    def bundle(self, records: Records) -> list[Row]:
        return self._step(Step(records=tuple(records)))

    def watermark(self, watermark: Timestamp) -> list[Row]:
        return self._step(Step(watermark=watermark, end=watermark == END_OF_TIME))

    def checkpoint_restore(self) -> None:
        """The oracle keeps everything in lists, and nothing beside them."""

    def _step(self, step: Step) -> list[Row]:
        return [dict(row) for row in self._oracle.step(step).rows]


class BufferSort:
    """The sort buffer and the watermarks of the engine, put together by hand."""

    def __init__(self, vector: Vector) -> None:
        self._schema = pa.Table.from_pylist([dict(record) for record in vector.records]).schema
        self._watermarks = Watermarks(strategy_of(vector))
        self._store = MemoryStore()
        self._buffer = SortBuffer(self._store, self._schema)

    def bundle(self, records: Records) -> list[Row]:
        times = np.array([record[TIME] for record in records], np.int64)
        before = self._watermarks.current
        in_time = times >= self._watermarks.judging(None, times, before)
        batch = pa.RecordBatch.from_pylist([dict(record) for record in records], self._schema)
        self._buffer.insert(batch.filter(pa.array(in_time)), times[in_time])
        self._watermarks.observe(None, int(times.max()) if len(times) else None, 0)
        return self._leaving()

    def watermark(self, watermark: Timestamp) -> list[Row]:
        self._watermarks.explicit(None, watermark)
        return self._leaving()

    def checkpoint_restore(self) -> None:
        self._store = MemoryStore.restore(self._store.snapshot())
        self._buffer = SortBuffer(self._store, self._schema)

    def _leaving(self) -> list[Row]:
        taken = self._buffer.take(self._watermarks.current)
        self._store.commit()
        return [row for rows, _ in taken for row in rows.to_pylist()]


class EngineRows:
    """Rows through an operator as an engine runs it, behind the driver that all cases are played on."""

    def __init__(self, spec: StreamSpec, schema: pa.Schema, engine: str) -> None:
        self._schema = schema
        self._driver = ENGINES[engine](spec, schema)

    def bundle(self, records: Records) -> list[Row]:
        batch = pa.RecordBatch.from_pylist([dict(record) for record in records], self._schema)
        self._driver.bundle(batch, side=None, clock=None, word=NO_WORD)
        return self._leaving()

    def watermark(self, watermark: Timestamp) -> list[Row]:
        if watermark == END_OF_TIME:
            self._driver.end()
        else:
            self._driver.watermark(watermark, side=None, clock=None, word=NO_WORD)
        return self._leaving()

    def checkpoint_restore(self) -> None:
        self._driver.checkpoint_restore()

    def _leaving(self) -> list[Row]:
        rows: list[Row] = self._driver.firings().to_pylist()
        return rows


def schema_of(vector: Vector) -> pa.Schema:
    """The columns of a case's records, with times as microseconds."""
    return pa.Table.from_pylist([{**record, TIME: moment(record[TIME])} for record in vector.records]).schema


def engine_sort(vector: Vector, engine: str) -> EngineRows:
    """Sort as an engine runs it."""
    return EngineRows(SortSpec(TIME, watermark=strategy_of(vector)), schema_of(vector), engine)


def sort(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine sorts."""
    return sort_differences(vector, lambda vector: engine_sort(vector, engine))


def sort_differences(vector: Vector, driver: Callable[[Vector], SortDriver], computed: Iterable[str] = ()) -> list[str]:
    """What differs in the rows of each step, which have the columns that came and those that were `computed`.

    A view that is read (`state`) has all rows that have left so far.
    """
    columns = {*computed, *(name for record in vector.records for name in record)}
    require_attributes(vector, columns)
    mode = vector.get("expect_mode", "each_step")
    steps = _played(vector, driver(vector))
    comparison = Comparison(vector.get("row_order", "any"))
    return [
        f"after step {after}: {problem}"
        for after, expected, actual in over_steps("end_total" if mode == "state" else mode, groups_of(vector), steps)
        for problem in comparison.differences(expected, actual)
    ]


def _played(vector: Vector, driver: SortDriver) -> list[list[Row]]:
    return [[{**row, TIME: written(row[TIME])} for row in _step(vector, step, driver)] for step in vector.steps]


def _step(vector: Vector, step: Mapping[str, Any], driver: SortDriver) -> list[Row]:
    unknown = sorted(set(step) - {"in", "watermark", "native", "end", "checkpoint_restore"})
    if unknown:
        raise VectorError(f"a step of a sort with `{unknown[0]}` is not known.")
    records = [{**record, TIME: moment(record[TIME])} for record in step.get("in") or ()]
    bundles = [[record] for record in records] if vector.get("bundles") == "per_record" else [records]
    rows = [row for bundle in bundles if bundle for row in driver.bundle(bundle)]
    if "watermark" in step:
        rows += driver.watermark(moment(step["watermark"]))
    if step.get("checkpoint_restore"):
        driver.checkpoint_restore()
    if step.get("end"):
        rows += driver.watermark(END_OF_TIME)
    return rows
