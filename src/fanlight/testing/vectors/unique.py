"""The op `dedup_within_watermark`: which rows leave after each step, where the first of each key leaves."""

from __future__ import annotations

import pyarrow as pa

from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.model.unique import UniqueSpec
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.sort import Records, sort_differences
from fanlight.testing.vectors.watermarks import strategy_of
from fanlight.testing.vectors.word import NO_WORD

_KEY = "k"


class EngineUnique:
    """Deduplication as an engine runs it, behind the driver that all cases are played on."""

    def __init__(self, vector: Vector, engine: str) -> None:
        records = [{**record, TIME: moment(record[TIME])} for record in vector.records]
        self._schema = pa.Table.from_pylist(records).schema
        spec = UniqueSpec(TIME, (_KEY,), (_KEY,), length(vector.get("lateness_ms")), watermark=strategy_of(vector))
        self._driver = ENGINES[engine](spec, self._schema)

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


def unique(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine leaves out what is repeated."""
    return sort_differences(vector, lambda vector: EngineUnique(vector, engine))
