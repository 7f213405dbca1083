"""`fl.join(o=…, p=…, s=…)` on Spark: one query over three DataFrames, step by step what this process gives."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.checkpoint.join_inspection import JoinInspection

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
Event = tuple[int | None, str | None, int]
"""Second, id, number."""
EVENTS: dict[str, list[list[Event]]] = {
    "o": [[(4, "a", 1), (2, "b", 2), (9, None, 3), (None, "a", 4)], [(12, "a", 5), (1, "a", 6)], [(40, "b", 7)]],
    "p": [[(6, "a", 10), (3, "c", 11)], [(13, "a", 12), (5, "b", 13), (8, "a", 14)], [(41, "b", 15)]],
    "s": [[(7, "a", 20)], [(6, "b", 21), (14, "a", 22)], [(2, "b", 23), (42, "a", 24)]],
}
"""Three micro-batches of each input. With a delay of 2 s the order of 1 is expired, and so is the shipment of 2."""
How = Literal["inner", "left"]


def schema_of(name: str) -> pa.Schema:
    return pa.schema({f"{name}_ts": pa.timestamp("us", "UTC"), "id": pa.string(), name: pa.int64()})


def table(name: str, events: list[Event]) -> pa.Table:
    times = [None if second is None else BASE + timedelta(seconds=second) for second, _, _ in events]
    columns: list[list[Any]] = [times, [key for _, key, _ in events], [number for _, _, number in events]]
    schema = schema_of(name)
    return pa.table([pa.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)], schema=schema)


def files(folder: Path) -> dict[str, str]:
    """A folder of files for each input: Spark reads them in the order of their times."""
    for name, batches in EVENTS.items():
        (folder / name).mkdir()
        for number, events in enumerate(batches):
            file = folder / name / f"{number}.parquet"
            pq.write_table(table(name, events), file)
            os.utime(file, (1_700_000_000 + number,) * 2)
    return {name: str(folder / name) for name in EVENTS}


def joined(sources: dict[str, Any], how: How) -> fl.NWayJoinResult:
    streams = {name: fl.stream(one, time=f"{name}_ts", delay="2 s").key_by("id") for name, one in sources.items()}
    return fl.join(**streams, match={"p": fl.interval("0 s", "5 s"), "s": fl.interval("0 s", "9 s")}, how=how)


def here(how: How) -> fl.NWayJoinResult:
    """The same in this process, a bundle of each input a micro-batch."""
    return joined(
        {
            name: pa.RecordBatchReader.from_batches(
                schema_of(name), [batch for one in batches for batch in table(name, one).to_batches()]
            )
            for name, batches in EVENTS.items()
        },
        how,
    )


def numbers(rows: list[dict[str, Any]]) -> Counter[tuple[int | None, ...]]:
    return Counter(tuple(row[name] for name in EVENTS) for row in rows)


def test_a_batch_of_each_input_is_one_bundle(spark: SparkSession, tmp_path: Path) -> None:
    """So nothing in it is late; the order without a time is a dead letter."""
    result = joined({name: spark.read.parquet(folder) for name, folder in files(tmp_path).items()}, "left")
    whole = {name: table(name, [event for some in batches for event in some]) for name, batches in EVENTS.items()}
    expected = joined(whole, "left").table()
    found = pa.Table.from_batches(result.df.toArrow().to_batches())
    assert found.column_names == expected.column_names == ["o_ts", "id", "o", "p_ts", "p", "s_ts", "s"]
    assert numbers(found.to_pylist()) == numbers(expected.to_pylist())
    (letter,) = result.dead_letters.collect()
    assert (letter["reason"], letter["record"]["o"]["o"], letter["record"]["s"]) == ("null_time", 4, None)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_three_streams_are_one_query(spark: SparkSession, tmp_path: Path, how: How) -> None:
    one = "maxFilesPerTrigger"
    frames = {
        name: spark.readStream.schema(spark.read.parquet(folder).schema).option(one, 1).parquet(folder)
        for name, folder in files(tmp_path).items()
    }
    to, checkpoint = f"sqlite:///{tmp_path / 't.db'}", str(tmp_path / "cp")
    for flush in (False, True):
        query = joined(frames, how).write_to(to, checkpoint=checkpoint, table="t", available_now=True, flush=flush)
        assert query is not None
        query.awaitTermination(240)
        if not flush:
            assert_checkpoint_tells(spark, checkpoint)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT o, p, s FROM t").fetchall()
        letters = connection.execute("SELECT reason FROM t_dead_letters").fetchall()
    expected = here(how)
    assert Counter(found) == numbers(expected.table().to_pylist())
    assert sorted(reason for (reason,) in letters) == sorted(expected.dead_letters["reason"].to_pylist())
    assert sorted(expected.dead_letters["reason"].to_pylist()) == ["expired", "expired", "null_time"]


def assert_checkpoint_tells(spark: SparkSession, checkpoint: str) -> None:
    """Watermarks are 38 s, 39 s and 40 s: the last row of each input waits for others, all before are forgotten."""
    seen = fl.inspect(checkpoint, spark=spark)
    assert isinstance(seen, JoinInspection)
    kept = {side.name: [row[side.name] for row in seen.kept(side.name).collect()] for side, _ in seen.sides}
    assert kept == {"o": [7], "p": [15], "s": [24]}
