"""Parquet files that tasks write themselves, from the chunks that leave the shards.

Spark's own writer is handed rows, one after the other, and Arrow has columns: it takes four times as long.

    shards ──► chunks ──► task ──► a file of a name of its own in a folder out of sight
                            └────► a row that tells its name ──► driver, which moves the files that were told
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fanlight.sinks.batch import Part
from fanlight.sinks.files import sync
from fanlight.spark.output import ACCOUNT, FIRING, LETTER, OUTPUT, OUTPUT_ARROW, chunks_of
from fanlight.spark.shipping import through

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

KINDS = {Part.ROWS: FIRING, Part.DEAD_LETTERS: LETTER, Part.ACCOUNTING: ACCOUNT}
"""The kind of a shard's output rows that belong to each part."""
FILE = "file"
"""The kind of a row that tells of a file."""
CODECS = {
    "none": "none",
    "uncompressed": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "brotli": "brotli",
    "lz4_raw": "lz4",
}
"""What Spark calls the compressions that Arrow has too, and what Arrow calls them."""

_TOLD = ("part", "file", "problem")
"""What a row tells of a file, as text."""
_OUTPUT_ARROW = pa.schema([*OUTPUT_ARROW, *((name, pa.string()) for name in _TOLD)])
_OUTPUT = ", ".join([OUTPUT, *(f"{name} string" for name in _TOLD)])


@dataclass(frozen=True, slots=True)
class PartFiles:
    """Where the files of a part go, and how they are written."""

    folder: str
    schema: pa.Schema
    codec: str
    group_bytes: int = 1 << 26
    """Rows are written together when there are this many bytes of them."""


def written_alike(schema: pa.Schema) -> bool:
    """Whether Arrow writes these columns as Spark would, so that every reader finds the same types.

    >>> written_alike(pa.schema({"n": pa.list_(pa.int64())})), written_alike(pa.schema({"n": pa.duration("us")}))
    (True, False)
    """
    return all(_written_alike(column.type) for column in schema)


def written_by_tasks(frame: DataFrame, parts: Mapping[Part, PartFiles], *, whole: bool) -> DataFrame:
    """The output of shards, in which chunks of `parts` are files; a row tells of each. If it is `whole`, they stay."""
    return through(frame, _writing({KINDS[part]: (part, parts[part]) for part in parts}, whole=whole), _OUTPUT)


def files_of(output: pa.Table, part: Part) -> list[str]:
    """The files that tasks have written of a part; an `OSError` if one could not."""
    own = output.filter(pc.and_(pc.equal(output["kind"], FILE), pc.equal(output["part"], part.value)))
    for problem in own["problem"].drop_null().to_pylist():
        raise OSError(problem)
    return sorted(own["file"].to_pylist())


def _written_alike(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind):
        return all(_written_alike(kind.field(place).type) for place in range(kind.num_fields))
    if pa.types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in (None, "UTC"))
    is_one = (
        pa.types.is_boolean,
        pa.types.is_signed_integer,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_decimal128,
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_date32,
    )
    return any(each(kind) for each in is_one)


def _writing(parts: Mapping[str, tuple[Part, PartFiles]], *, whole: bool) -> Callable[[Batches], Batches]:
    """The function that writes the chunks of these kinds, and passes on the others, or all."""

    def write(batches: Batches) -> Batches:
        files = {kind: TaskFile(part, plan) for kind, (part, plan) in parts.items()}
        left_out = pa.array([] if whole else list(files), pa.string())
        for batch in batches:
            for kind, chunk in chunks_of(batch, files):
                files[kind].add(chunk)
            passed = batch.filter(pc.invert(pc.is_in(batch.column("kind"), left_out)))
            nothing = [pa.nulls(len(passed), pa.string()) for _ in _TOLD]
            yield pa.RecordBatch.from_arrays([*passed.columns, *nothing], schema=_OUTPUT_ARROW)
        told = [found for file in files.values() if (found := file.finished())]
        yield pa.RecordBatch.from_pylist(told, schema=_OUTPUT_ARROW)

    return write


@dataclass
class TaskFile:
    """The file of one task and one part; without rows there is none. A problem of the disk is told to the driver."""

    part: Part
    plan: PartFiles
    path: Path | None = None
    problem: str | None = None
    _chunks: list[pa.RecordBatch] = field(default_factory=list)
    _bytes: int = 0
    _writer: pq.ParquetWriter | None = None

    def add(self, chunk: pa.RecordBatch) -> None:
        """Take rows; they are written when there are many."""
        if self.problem is not None:
            return
        self._chunks.append(chunk.select(self.plan.schema.names))
        self._bytes += chunk.nbytes
        if self._bytes >= self.plan.group_bytes:
            with self._problems():
                self._write()

    def finished(self) -> dict[str, str | None] | None:
        """Finish the file, so that it is on the disk; what the driver is told of it."""
        with self._problems():
            if self._chunks:
                self._write()
            if self._writer is not None and self.path is not None:
                self._writer.close()
                sync(self.path)
        if self.path is None and self.problem is None:
            return None
        name = None if self.path is None else self.path.name
        return {"kind": FILE, "part": self.part.value, "file": name, "problem": self.problem}

    def _write(self) -> None:
        if self._writer is None:
            folder = Path(self.plan.folder)
            folder.mkdir(parents=True, exist_ok=True)
            self.path = folder / f"part-{uuid.uuid4().hex}.parquet"
            self._writer = pq.ParquetWriter(self.path, self.plan.schema, compression=self.plan.codec)
        rows = pa.Table.from_batches(self._chunks).cast(self.plan.schema)
        self._writer.write_table(rows, row_group_size=len(rows))
        self._chunks, self._bytes = [], 0

    @contextmanager
    def _problems(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            self.problem, self._chunks = str(problem), []
