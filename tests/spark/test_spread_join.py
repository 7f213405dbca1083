"""Joins that are spread by time on Spark: one hot key is in several shards, and nothing else is different."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, functions

import fanlight as fl
from fanlight.errors import StateError
from fanlight.model.join.sides import COPY
from fanlight.spark.checkpoint.join_inspection import JoinInspection

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
HOT = "hot"
BATCHES = 3


def rows(side: str, batch: int) -> pa.Table:
    """Rows of one key, one a second, and of another; some come late, one has no time."""
    seconds = [*range(batch * 40, batch * 40 + 40), *([batch * 40 - 30] if batch else [])]
    times: list[datetime | None] = [BASE + timedelta(seconds=second, milliseconds=batch * 100) for second in seconds]
    keys: list[str | None] = [HOT] * len(seconds)
    times += [None, BASE + timedelta(seconds=batch * 40), BASE + timedelta(seconds=batch * 40)]
    keys += [HOT, "b", None]
    columns = {f"{side}_at": pa.array(times, pa.timestamp("us", "UTC")), "key": keys, f"{side}_n": range(len(times))}
    return pa.table(columns)


def files(folder: Path) -> dict[str, str]:
    """A folder of files for each side: Spark reads them in the order of their times."""
    for side in ("o", "p"):
        (folder / side).mkdir()
        for batch in range(BATCHES):
            file = folder / side / f"{batch}.parquet"
            pq.write_table(rows(side, batch), file)
            os.utime(file, (1_700_000_000 + batch,) * 2)
    return {side: str(folder / side) for side in ("o", "p")}


def joined(sides: dict[str, Any], how: Any = "left", *, keyed: bool = True, **more: Any) -> fl.JoinResult:
    o, p = (fl.stream(sides[name], time=f"{name}_at", delay="5 s", name=name) for name in ("o", "p"))
    on = "key" if keyed else None
    return o.join(p, fl.interval("-1 s", "2 s"), how=how, on=on, **more)


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(str(value) for value in row.values()) for row in table.to_pylist())


def streams(spark: SparkSession, folders: dict[str, str]) -> dict[str, Any]:
    return {
        side: spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1).parquet(folder)
        for side, folder in folders.items()
    }


def test_one_hot_key_is_in_every_shard(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is lost or counted twice, and a stage by the same key finds all its rows in one place."""
    sides = {side: spark.read.parquet(folder) for side, folder in files(tmp_path).items()}
    for how, keyed in (("left", True), ("right", True), ("inner", False)):
        alone, spread = (joined(sides, how, keyed=keyed, spread=width) for width in (None, "6 s"))
        assert counted(spread.df.toArrow()) == counted(alone.df.toArrow())
        accounts = spread.accounts.where("received > 20").collect()
        assert len({row["shard"] for row in accounts}) > 1
        total = spread.accounts.agg(*(functions.sum(what) for what in ("received", "accepted", "dead_letters")))
        assert tuple(total.collect()[0]) == (2 * (3 * 43 + 2), 2 * (3 * 42 + 2), 2 * 3)
        assert spread.dead_letters.count() == 6
        assert COPY not in spread.dead_letters.select("record.*").columns
    assert "shards by time, state" in spread.explain()
    whole = spread.key_by("key").window(fl.tumbling("1 h")).agg(n=fl.count())  # keys that include none are still others
    assert whole.explain().count("one exchange") == 2
    assert {row["key"]: row["n"] for row in whole.df.collect()} == Counter(row["key"] for row in alone.df.collect())
    left = joined(sides, "left", spread="6 s")
    assert "shards by key and time, state" in left.explain()
    per_key = left.key_by("key").window(fl.tumbling("1 h")).agg(n=fl.count())
    assert per_key.explain().count("one exchange") == 2
    found = {row["key"]: row["n"] for row in per_key.df.collect()}
    assert found == Counter(row["key"] for row in left.df.collect())


def test_a_stream_counts_late_rows_once_and_its_checkpoint_keeps_rows_once(spark: SparkSession, tmp_path: Path) -> None:
    folders, checkpoint, database = files(tmp_path), str(tmp_path / "cp"), f"sqlite:///{tmp_path / 't.db'}"
    said: dict[str, Any] = {"checkpoint": checkpoint, "table": "t", "available_now": True}

    def written(spread: str | None, *, flush: bool) -> None:
        result = joined(streams(spark, folders), spread=spread)
        query = result.write_to(database, flush=flush, **said)
        assert query is not None
        query.awaitTermination(240)

    written("4 s", flush=False)
    seen = fl.inspect(checkpoint, spark=spark)
    assert isinstance(seen, JoinInspection)
    kept = {side: sorted(row[f"{side}_at"] for row in seen.kept(side).collect()) for side in ("o", "p")}
    assert all(len(times) == len(set(times)) > 2 for times in kept.values())
    assert len({row["shard"] for row in seen.accounting().where("accepted > 0").collect()}) > 1
    with pytest.raises(StateError, match="spread"):
        written("6 s", flush=False)
    written("4 s", flush=True)
    here = {
        side: pa.RecordBatchReader.from_batches(
            rows(side, 0).schema, [b for batch in range(BATCHES) for b in rows(side, batch).to_batches()]
        )
        for side in ("o", "p")
    }
    expected = joined(here, spread="4 s")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT o_n, p_n, key FROM t").fetchall()
        letters = connection.execute("SELECT reason FROM t_dead_letters").fetchall()
    wanted = [tuple(row.values()) for row in expected.table().select(["o_n", "p_n", "key"]).to_pylist()]
    assert Counter(found) == Counter(wanted)
    assert Counter(reason for (reason,) in letters) == Counter(expected.dead_letters["reason"].to_pylist())
    assert Counter(reason for (reason,) in letters) == {"expired": 4, "null_time": 6}
