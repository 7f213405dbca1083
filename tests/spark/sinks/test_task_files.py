"""Parquet files that tasks write themselves: readers find what Spark would have written, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.parquet import ParquetSink
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.targets import sinks_of
from fanlight.spark.output import FIRING, LETTER, OUTPUT
from fanlight.spark.task_files import PartFiles, TaskFile
from fanlight.spark.wire import packed
from fanlight.spark.write import BatchWriter

from .orders import room_for
from .orders_as_rows import LETTERS, ROWS, offered

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = pa.schema(
    {
        "yes": pa.bool_(),
        "tiny": pa.int8(),
        "short": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "decimal": pa.decimal128(10, 2),
        "wide": pa.decimal128(30, 4),
        "text": pa.string(),
        "bytes": pa.binary(),
        "day": pa.date32(),
        "moment": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "list": pa.list_(pa.string()),
        "struct": pa.struct({"start": pa.timestamp("us", "UTC"), "n": pa.int64()}),
        "map": pa.map_(pa.string(), pa.float64()),
    }
)
FULL: dict[str, Any] = {
    "yes": True,
    "tiny": -128,
    "short": 300,
    "int": -70_000,
    "long": 2**62,
    "float": 0.5,
    "double": -0.0,
    "decimal": Decimal("12.34"),
    "wide": Decimal("12345678901234567890.1234"),
    "text": "ä b",
    "bytes": b"\x00\xff",
    "day": date(1969, 12, 31),
    "moment": NOON,
    "local": NOON.replace(tzinfo=None),
    "list": ["a", None],
    "struct": {"start": NOON, "n": None},
    "map": [("k", 1.5)],
}
EMPTY: dict[str, Any] = dict.fromkeys(KINDS.names)


def left(spark: SparkSession, *rows: pa.Table, letters: pa.Table | None = None) -> DataFrame:
    """What leaves the shards of a batch, a chunk each."""
    chunks = [(FIRING, chunk) for table in rows for chunk in table.to_batches()]
    chunks += [] if letters is None else [(LETTER, chunk) for chunk in letters.to_batches()]
    return spark.createDataFrame([{"kind": kind, "payload": packed(chunk)} for kind, chunk in chunks], OUTPUT)


def delivered(frame: DataFrame, shape: ResultShape, target: Any, number: int = 0, **options: Any) -> None:
    BatchWriter(sinks_of(shape, target, **options), shape).deliver(frame, "q", number)


@contextmanager
def codec(spark: SparkSession, name: str) -> Iterator[None]:
    setting = "spark.sql.parquet.compression.codec"
    before = spark.conf.get(setting)
    spark.conf.set(setting, name)
    try:
        yield
    finally:
        spark.conf.set(setting, before)


def written(folder: Path) -> list[Path]:
    return sorted((folder / "batch=00000000").glob("*.parquet"))


def orders(*ids: int) -> pa.Table:
    return offered(ROWS, 0, *(("a", one, 0.5) for one in ids)).batch.rows


def test_readers_find_what_spark_would_have_written(spark: SparkSession, tmp_path: Path) -> None:
    """Of every type that Arrow writes; Spark's own writer is what a URL leads to."""
    shape = ResultShape.of_rows(KINDS, LETTERS)
    frame = left(spark, pa.Table.from_pylist([FULL, EMPTY], KINDS), pa.Table.from_pylist([FULL], KINDS))
    delivered(frame, shape, f"{tmp_path}/ours/")
    delivered(frame, shape, f"file://{tmp_path}/theirs/")
    ours, theirs = (spark.read.parquet(f"{tmp_path}/{name}") for name in ("ours", "theirs"))
    assert ours.schema == theirs.schema
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect()))
    types = [pq.read_schema(written(tmp_path / name)[0]) for name in ("ours", "theirs")]
    assert types[0].remove_metadata().equals(types[1].remove_metadata())
    assert not list((tmp_path / "ours").glob("batch=*/_SUCCESS"))  # so it was not Spark
    assert list((tmp_path / "theirs").glob("batch=*/_SUCCESS"))


def test_columns_that_arrow_writes_in_another_way_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    lasting = pa.schema({"id": pa.int64(), "took": pa.duration("us")})
    rows = pa.Table.from_pylist([{"id": 1, "took": timedelta(hours=3)}], lasting)
    delivered(left(spark, rows), ResultShape.of_rows(lasting, LETTERS), f"{tmp_path}/took/")
    found = spark.read.parquet(f"{tmp_path}/took")
    assert found.schema["took"].dataType.typeName() == "daytimeinterval"
    assert found.collect()[0]["took"] == timedelta(hours=3)


@pytest.mark.parametrize(
    ("name", "found"), [("zstd", "ZSTD"), ("none", "UNCOMPRESSED"), ("lz4_raw", "LZ4"), ("lz4", "UNKNOWN")]
)
def test_the_compression_is_that_of_the_session(spark: SparkSession, tmp_path: Path, name: str, found: str) -> None:
    """Hadoop's own `lz4` is one that Arrow neither writes nor knows: Spark writes it."""
    with codec(spark, name):
        delivered(left(spark, orders(1, 2)), ROWS, f"{tmp_path}/o/")
    files = [pq.read_metadata(file) for file in written(tmp_path / "o")]
    assert {file.row_group(0).column(0).compression for file in files if file.num_rows} == {found}


def test_a_batch_without_rows_tells_the_columns_once(spark: SparkSession, tmp_path: Path) -> None:
    for number in (0, 1):
        delivered(left(spark, orders()), ROWS, f"{tmp_path}/o/", number)
    assert [folder.name for folder in (tmp_path / "o").glob("batch=*")] == ["batch=00000000"]
    assert pq.read_schema(written(tmp_path / "o")[0]).names == ROWS.rows.names
    assert not list((tmp_path / "o" / "_staging").iterdir())


def test_letters_have_files_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    late = {"reason": "expired", "record": {"k": "a", "v": 1}}
    letters = pa.Table.from_pylist([late], LETTERS)
    delivered(left(spark, orders(1), letters=letters), ROWS, f"{tmp_path}/o/", dead_letters=f"{tmp_path}/late/")
    (found,) = ds.dataset(tmp_path / "late").to_table().to_pylist()
    assert (found["reason"], found["record"]["k"], found["record"]["v"]) == ("expired", "a", 1)
    assert ds.dataset(tmp_path / "o").to_table().num_rows == 1


def test_a_function_is_handed_what_tasks_have_written_too(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def counts(accounting: pa.Table, batch: Batch) -> None:
        seen.append(batch.rows["id"].to_pylist())

    delivered(left(spark, orders(1, 2)), ROWS, f"{tmp_path}/o/", accounting=counts)
    assert [sorted(ids) for ids in seen] == [[1, 2]]
    assert ds.dataset(tmp_path / "o").to_table().num_rows == 2


def test_what_a_killed_run_has_written_never_counts(spark: SparkSession, tmp_path: Path) -> None:
    drafts = Path(ParquetSink(f"{tmp_path}/o", Part.ROWS).drafts(0))
    drafts.mkdir(parents=True)
    (drafts / "part-old.parquet").write_bytes(b"half of a fi")
    delivered(left(spark, orders(1, 2)), ROWS, f"{tmp_path}/o/")
    assert ds.dataset(tmp_path / "o").to_table().num_rows == 2
    assert not drafts.exists()


def test_a_folder_that_cannot_be_written_is_told_and_the_batch_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    """Something lies where the files would be staged; a repeat after that is put right writes the batch once."""
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "_staging").write_text("in the way")
    frame = left(spark, orders(1, 2))
    with pytest.raises(
        fl.SinkError, match=r"/o did not take batch 0: .*_staging.*Free space, or make the folder writa"
    ):
        delivered(frame, ROWS, f"{tmp_path}/o/")
    assert not list((tmp_path / "o").glob("batch=*"))
    (tmp_path / "o" / "_staging").unlink()
    delivered(frame, ROWS, f"{tmp_path}/o/")
    assert ds.dataset(tmp_path / "o").to_table().num_rows == 2


def test_many_rows_make_several_groups(tmp_path: Path) -> None:
    file = TaskFile(Part.ROWS, PartFiles(str(tmp_path), ROWS.rows, "snappy", group_bytes=100))
    for batch in orders(*range(20)).to_batches(max_chunksize=5):
        file.add(batch)
    told = file.finished()
    assert told is not None
    found = pq.ParquetFile(tmp_path / str(told["file"]))
    assert found.num_row_groups > 1
    assert found.read()["id"].to_pylist() == list(range(20))


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    file = TaskFile(Part.ROWS, PartFiles(str(tmp_path), ROWS.rows, "none"))
    for batch in orders(*range(10_000)).to_batches():
        file.add(batch)
    with room_for(1000):
        told = file.finished()
    assert told is not None
    assert "File too large" in str(told["problem"])
