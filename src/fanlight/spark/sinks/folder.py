"""Parquet in a folder: written by the executors, one subfolder a batch, there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import SinkError
from fanlight.spark.shipping import through
from fanlight.spark.sinks.batch import Leaving, Part
from fanlight.spark.sinks.files import Files, files_of
from fanlight.spark.sinks.shape import ACCOUNTING, Shape
from fanlight.spark.sinks.sink import blamed
from fanlight.spark.transit import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OWNER = "_fanlight.json"
STAGING = "_staging"
"""Names that Spark, Arrow and Hive readers pass over."""


@dataclass(frozen=True)
class FolderSink:
    """A folder of one query: `batch=00000012/` is batch 12, and exists only when all its files do."""

    path: str
    part: Part
    shape: Shape

    guarantee: ClassVar[str] = (
        "exactly once: the files of a batch are staged out of sight and their folder renamed into its place when all "
        "are there; a batch whose folder is there already is skipped"
    )
    on_executors: ClassVar[bool] = True

    @property
    def places(self) -> dict[Part, str]:
        """The folder."""
        return {self.part: self.path}

    def write(self, leaving: Leaving) -> None:
        """Stage the files of the batch and move them into place; an empty batch needs none, but for the first."""
        remedy = "Free space, or make the folder writable."
        files = files_of(self.path, leaving.session)
        place, staging = f"{self.path}/batch={leaving.number:08d}", f"{self.path}/{STAGING}/batch={leaving.number:08d}"
        with blamed(self.path, leaving.number, (OSError, Py4JError, PySparkException), remedy):
            self._claim(files, leaving.query, leaving.number)
            if files.exists(place):
                return
            own = leaving.frame.filter(functions.col("kind") == self.part.kind)
            if leaving.number and own.isEmpty():
                return
            self._opened(own).write.mode("overwrite").parquet(staging)
            files.rename(staging, place)

    def _claim(self, files: Files, query: str, number: int) -> None:
        """Two queries number their batches alike, so a folder takes those of one."""
        owner = files.text(f"{self.path}/{OWNER}")
        if owner is None:
            files.create(f"{self.path}/{OWNER}", json.dumps({"query": query}))
        elif (other := json.loads(owner)["query"]) != query:
            raise SinkError(
                f"write_to: {self.path} did not take batch {number} of query {query!r}: it belongs to query {other!r}, "
                "and one folder takes the batches of one query. Name another folder, or remove it."
            )

    def _opened(self, own: DataFrame) -> DataFrame:
        """What left the shards for this part, as rows."""
        if self.part is Part.ACCOUNTING:  # the batch is the folder's name
            return own.select([name for name in ACCOUNTING.names if name != "batch"]).coalesce(1)
        schema = self.shape.rows if self.part is Part.ROWS else self.shape.dead_letters
        return through(own.select("payload"), _decoded(schema.names), from_arrow_schema(schema))


def _decoded(names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What turns chunks into rows of these columns."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload"):
                yield opened(payload.as_buffer()).select(names)

    return rows
