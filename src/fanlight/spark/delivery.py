"""A batch on Spark for its sinks: what tasks write, what Spark writes, and what is collected on the driver."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import EngineError
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.delivery import Delivery, made_anew, staged_here
from fanlight.sinks.files import Files, LocalFiles, is_url
from fanlight.sinks.result_schema import ACCOUNTING, ResultShape
from fanlight.spark.hadoop_files import HadoopFiles
from fanlight.spark.output import ACCOUNT, FIRING, LETTER, chunks_of
from fanlight.spark.require_jvm import require_jvm
from fanlight.spark.shipping import absence, through
from fanlight.spark.task_files import KINDS, PartFiles, files_of, written_by_tasks
from fanlight.spark.wire import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Opening = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What turns chunks into rows."""


class SparkDelivery(Delivery):
    """One batch for its sinks.

    tasks write parquet themselves    folders of this machine; whatever else there is, is collected
    Spark writes parquet              folders of a file system by its URL, or columns that only Spark can write
    collected                         all other places
    """

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
        drafts: Mapping[Part, PartFiles] | None,
        whole: bool = False,
    ) -> None:
        """`drafts` are the files that tasks write, by part; None if Spark writes folders.

        `whole` says that `batch` must have the parts that tasks write too.
        """
        super().__init__(query, number, shape, offsets=offsets, accepts=accepts)
        self.frame = frame
        self._drafts = {} if drafts is None else drafts
        self._by_spark = drafts is None
        self._whole = whole

    @contextmanager
    def computed(self) -> Iterator[None]:
        """Compute the batch, once, for all sinks. Spark keeps no state of a batch that is not computed."""
        try:
            self._discard_drafts()  # of a run that was killed
            try:
                _ = self.frame.persist().count() if self._by_spark else self._collected
            except PySparkException as problem:
                if (said := absence(problem)) is not None:
                    raise EngineError(said) from None
                raise
            yield
        finally:
            self._discard_drafts()
            if self._by_spark:
                self.frame.unpersist()

    def _discard_drafts(self) -> None:
        for files in self._drafts.values():
            shutil.rmtree(files.folder, ignore_errors=True)

    @cached_property
    def _collected(self) -> pa.Table:
        frame = written_by_tasks(self.frame, self._drafts, whole=self._whole) if self._drafts else self.frame
        return frame.toArrow()

    @property
    def session(self) -> SparkSession:
        """The session the batch belongs to."""
        return self.frame.sparkSession

    @cached_property
    def batch(self) -> Batch:
        """All of it on the driver, collected at the first call only; without what tasks write, unless it is `whole`."""
        return batch_of(self._collected, self.shape, self.query, self.number, self.offsets)

    def files(self, path: str) -> Files:
        """The file system a path lies on; that of a URL is known to the session of the batch."""
        if not is_url(path):
            return LocalFiles()
        require_jvm(self.session, path)
        return HadoopFiles(self.session, path)

    def stage(self, part: Part, folder: str, *, even_empty: bool) -> bool:
        """Let the executors write the rows of this part; False if there are none."""
        if part in self._drafts and self._moved(part, folder):
            return True
        if not self._by_spark:
            return staged_here(self.batch, part, folder, even_empty=even_empty)
        own = self.frame.filter(functions.col("kind") == KINDS[part])
        if not even_empty and own.isEmpty():
            return False
        self._opened(own, part).write.mode("overwrite").parquet(folder)
        return True

    def _moved(self, part: Part, folder: str) -> bool:
        """Move the files that tasks have told of; False if there are none."""
        names = files_of(self._collected, part)
        if names:
            made_anew(folder)
        for name in names:
            (Path(self._drafts[part].folder) / name).rename(Path(folder) / name)
        return bool(names)

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
    chunks: dict[str, list[pa.RecordBatch]] = {FIRING: [], LETTER: []}
    for kind, chunk in chunks_of(output, chunks):
        chunks[kind].append(chunk)
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
