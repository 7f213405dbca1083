"""Parquet in a folder: written by the executors, one subfolder a batch, there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import SinkError
from fanlight.operators.accounting import as_first
from fanlight.spark.shipping import through
from fanlight.spark.sinks.batch import Leaving, Part
from fanlight.spark.sinks.files import Files, files_of
from fanlight.spark.sinks.ledger import Ledger
from fanlight.spark.sinks.note import content_of, sealed
from fanlight.spark.sinks.note import opened as noted_in
from fanlight.spark.sinks.shape import ACCOUNTING, Shape
from fanlight.spark.sinks.sink import blamed
from fanlight.spark.transit import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEDGER = "_fanlight.json"
STAGING, ASIDE = "_staging", "_aside"
"""Names that Spark, Arrow and Hive readers pass over."""

_PROBLEMS = (OSError, Py4JError, PySparkException)
_REMEDY = "Free space, or make the folder writable."


@dataclass(frozen=True, slots=True)
class _Noted:
    """The newest batch, and the newest that has a folder: one without rows needs none. Negative if there is none."""

    query: str
    batch: int = -1
    offsets: int | None = None
    filled: int = -1


@dataclass(frozen=True)
class FolderSink:
    """A folder of one query: `batch=00000012/` is batch 12, and exists only when all its files do.

    staged ─► renamed ─► noted       killed before the last, the folder of the next batch is there already, and whole
    """

    path: str
    part: Part
    shape: Shape

    guarantee: ClassVar[str] = (
        "exactly once: the files of a batch are staged out of sight, their folder is renamed into its place when all "
        "are there, and then its number is noted; a batch that is noted, or whose folder is there, is skipped"
    )
    on_executors: ClassVar[bool] = True

    @property
    def places(self) -> dict[Part, str]:
        """The folder."""
        return {self.part: self.path}

    def check(self, leaving: Leaving) -> None:
        """Refuse a batch that does not follow what the folder holds; nothing is touched."""
        with blamed(self.path, leaving.number, _PROBLEMS, _REMEDY):
            self._takes(files_of(self.path, leaving), leaving)

    def write(self, leaving: Leaving) -> None:
        """Stage the files of the batch, move them into place, and note the batch."""
        with blamed(self.path, leaving.number, _PROBLEMS, _REMEDY):
            files = files_of(self.path, leaving)
            noted, takes = self._takes(files, leaving)
            if not takes:
                return
            if noted is None:  # the folder is claimed before it holds anything, so that one of others is known
                noted = self._note(files, _Noted(leaving.query))
            if leaving.accepts:
                noted = self._set_aside(files, noted, leaving.number)
            if self._placed(files, leaving, is_first=noted.filled < 0):
                noted = replace(noted, filled=leaving.number)
            self._note(files, replace(noted, batch=leaving.number, offsets=leaving.offsets))

    def _placed(self, files: Files, leaving: Leaving, *, is_first: bool) -> bool:
        """Give the batch its folder, unless it has one or needs none; the first tells the columns. Whether it has."""
        name = _name(leaving.number)
        place, staging = f"{self.path}/{name}", f"{self.path}/{STAGING}/{name}"
        if files.exists(place):
            return True
        if not self._staged(leaving, staging, even_empty=is_first):
            return False
        files.rename(staging, place)
        return True

    def _staged(self, leaving: Leaving, staging: str, *, even_empty: bool) -> bool:
        """Let the executors write the rows of this part; False if there are none."""
        own = leaving.frame.filter(functions.col("kind") == self.part.kind)
        if not even_empty and own.isEmpty():
            return False
        self._opened(own).write.mode("overwrite").parquet(staging)
        return True

    def _takes(self, files: Files, leaving: Leaving) -> tuple[_Noted | None, bool]:
        """What is noted, and whether the batch is to be written."""
        noted, number = self._noted(files, leaving), leaving.number
        ledger = self._ledger(leaving, noted)
        takes = ledger.takes(number, accepts=leaving.accepts, offsets=leaving.offsets)
        if noted is not None and noted.filled >= 0 and not leaving.accepts:
            last = _name(noted.filled)
            if not files.exists(f"{self.path}/{last}"):
                raise ledger.refused(number, f"its newest batch with rows, {last}, was there and is gone.")
        return noted, takes

    def _ledger(self, leaving: Leaving, noted: _Noted | None) -> Ledger:
        if noted is None or noted.batch < 0:
            return Ledger(self.path, leaving.query, None)
        return Ledger(self.path, leaving.query, noted.batch, noted.offsets)

    def _noted(self, files: Files, leaving: Leaving) -> _Noted | None:
        """What is noted about the folder, if it is one of this query: two queries number their batches alike."""
        where = f"{self.path}/{LEDGER}"
        text = files.text(where)
        if text is None or (content_of(text) is None and not files.exists(where)):  # or killed at the very first note
            self._require_empty(files, leaving.number)
            return None
        noted = _Noted(**noted_in(text, where))
        if noted.query != leaving.query:
            raise SinkError(
                f"write_to: {self.path} did not take batch {leaving.number} of query {leaving.query!r}: it belongs to "
                f"query {noted.query!r}, and one folder takes the batches of one query. Name another folder, or "
                "remove it."
            )
        return noted

    def _require_empty(self, files: Files, number: int) -> None:
        if any(_number(name) is not None for name in files.names(self.path)):
            raise SinkError(
                f"write_to: {self.path} did not take batch {number}: it holds batches, and {LEDGER}, which says whose, "
                "is not there. Nothing was written. Restore that file, name another folder, or move this one."
            )

    def _note(self, files: Files, noted: _Noted) -> _Noted:
        files.put(f"{self.path}/{LEDGER}", sealed(asdict(noted)))
        return noted

    def _set_aside(self, files: Files, noted: _Noted, number: int) -> _Noted:
        """Make way for a batch that is accepted: the folders from it on, if any, go where no reader looks."""
        aside = f"{self.path}/{ASIDE}/{len(files.names(f'{self.path}/{ASIDE}')) + 1}"
        held = {batch: name for name in files.names(self.path) if (batch := _number(name)) is not None}
        for batch in sorted(held, reverse=True):
            if batch >= number:
                files.rename(f"{self.path}/{held[batch]}", f"{aside}/{held[batch]}")
        filled = max((batch for batch in held if batch < number), default=-1)
        return self._note(files, _Noted(noted.query, number - 1, None, filled))

    def _opened(self, own: DataFrame) -> DataFrame:
        """What left the shards for this part, as rows."""
        if self.part is Part.ACCOUNTING:  # the batch is the folder's name
            return own.select([name for name in ACCOUNTING.names if name != "batch"]).coalesce(1)
        rows, letters = self.shape.rows, self.shape.dead_letters
        opening = _rows(rows.names) if self.part is Part.ROWS else _letters(letters)
        return through(own.select("payload"), opening, from_arrow_schema(rows if self.part is Part.ROWS else letters))


Opening = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What turns chunks into rows."""


def _name(number: int) -> str:
    """The subfolder of a batch."""
    return f"batch={number:08d}"


def _number(name: str) -> int | None:
    """The batch of a subfolder; None if it is none."""
    digits = name.removeprefix("batch=")
    return int(digits) if digits != name and digits.isdigit() else None


def _rows(names: list[str]) -> Opening:
    return lambda batches: (chunk.select(names) for chunk in _chunks(batches))


def _letters(schema: pa.Schema) -> Opening:
    return lambda batches: (as_first(chunk, schema) for chunk in _chunks(batches))


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (opened(payload.as_buffer()) for batch in batches for payload in batch.column("payload"))
