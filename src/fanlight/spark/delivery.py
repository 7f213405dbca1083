"""A batch on Spark for its sinks: a frame whose executors write, or all of it collected on the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.files import Files, LocalFiles, is_url
from fanlight.sinks.result_schema import ACCOUNTING, ResultShape
from fanlight.spark.hadoop_files import HadoopFiles
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.require_jvm import require_jvm
from fanlight.spark.shipping import through
from fanlight.spark.wire import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Opening = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What turns chunks into rows."""

_KINDS = {Part.ROWS: FIRING, Part.DEAD_LETTERS: LETTER, Part.ACCOUNTING: ACCOUNT}
"""The kind of a shard's output rows that belong to each part."""


class SparkDelivery(Delivery):
    """One batch for its sinks: a frame for sinks whose executors write, a collected batch for the others."""

    problems: ClassVar[tuple[type[Exception], ...]] = (Py4JError, PySparkException)

    def __init__(
        self,
        query: str,
        number: int,
        frame: DataFrame,
        shape: ResultShape,
        *,
        offsets: int | None = None,
        accepts: bool = False,
    ) -> None:
        super().__init__(query, number, shape, offsets=offsets, accepts=accepts)
        self.frame = frame

    @property
    def session(self) -> SparkSession:
        """The session the batch belongs to."""
        return self.frame.sparkSession

    @cached_property
    def batch(self) -> Batch:
        """All of it on the driver, collected at the first call only."""
        return batch_of(self.frame.toArrow(), self.shape, self.query, self.number, self.offsets)

    def files(self, path: str) -> Files:
        """The file system a path lies on; that of a URL is known to the session of the batch."""
        if not is_url(path):
            return LocalFiles()
        require_jvm(self.session, path)
        return HadoopFiles(self.session, path)

    def stage(self, part: Part, folder: str, *, even_empty: bool) -> bool:
        """Let the executors write the rows of this part; False if there are none."""
        own = self.frame.filter(functions.col("kind") == _KINDS[part])
        if not even_empty and own.isEmpty():
            return False
        self._opened(own, part).write.mode("overwrite").parquet(folder)
        return True

    def _opened(self, own: DataFrame, part: Part) -> DataFrame:
        """The output of the shards for a part, as rows."""
        if part is Part.ACCOUNTING:  # the batch is the folder's name
            return own.select([name for name in ACCOUNTING.names if name != "batch"]).coalesce(1)
        rows, letters = self.shape.rows, self.shape.dead_letters
        opening = _rows(rows.names) if part is Part.ROWS else _chunks
        return through(own.select("payload"), opening, from_arrow_schema(rows if part is Part.ROWS else letters))


def _rows(names: list[str]) -> Opening:
    return lambda batches: (chunk.select(names) for chunk in _chunks(batches))


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (opened(payload.as_buffer()) for batch in batches for payload in batch.column("payload"))


def batch_of(output: pa.Table, shape: ResultShape, query: str, number: int, offsets: int | None = None) -> Batch:
    """Make a batch from rows of `OUTPUT`; chunks keep the order in which their shard emitted them."""
    kinds, payloads = output["kind"].to_pylist(), output["payload"]
    chunks: dict[str, list[pa.RecordBatch]] = {FIRING: [], LETTER: []}
    for kind, payload in zip(kinds, payloads, strict=True):
        if kind in chunks:
            chunks[kind].append(opened(payload.as_buffer()))
    return Batch(
        query,
        number,
        pa.Table.from_batches(chunks[FIRING], shape.rows),
        pa.Table.from_batches(chunks[LETTER], shape.dead_letters),
        _accounts(output, number),
        offsets,
    )


def _accounts(output: pa.Table, number: int) -> pa.Table:
    steps = output.filter(pc.equal(output["kind"], ACCOUNT)).select(ACCOUNTING.names).cast(ACCOUNTING)
    numbers = pa.repeat(pa.scalar(number, pa.int64()), len(steps))
    return steps.set_column(ACCOUNTING.get_field_index("batch"), ACCOUNTING.field("batch"), numbers)
