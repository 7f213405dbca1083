"""Rows without a window as they come from shards on Spark: chunks in a frame, to every kind of place at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.targets import sinks_of
from fanlight.spark.output import FIRING, OUTPUT
from fanlight.spark.wire import packed
from fanlight.spark.write import BatchWriter

from .orders import BUNDLES, DDL, asked, corrected, put, standing, stepped, streamed
from .orders_as_rows import ROWS, Order, offered
from .places import EXAMPLE

pytestmark = pytest.mark.slow


def left(spark: SparkSession, shape: ResultShape, *chunks: list[Order]) -> DataFrame:
    """What leaves the shards of a batch, a chunk each."""
    tables = [offered(shape, 0, *orders).batch.rows for orders in chunks]
    rows = [{"kind": FIRING, "payload": packed(chunk)} for table in tables for chunk in table.to_batches()]
    return spark.createDataFrame(rows, OUTPUT)


def test_every_place_takes_them(spark: SparkSession, tmp_path: Path) -> None:
    """Two batches of two chunks, the second batch twice; the order 1 comes in both and changes its price."""
    seen: list[list[Any]] = []
    batches: list[list[list[Order]]] = [
        [[("a", 1, 0.5)], [("b", 2, 1.5), ("b", 3, 1.5)]],
        [[("c", 4, 4.5)], [("a", 1, 9.0), ("a", 1, 9.5)]],
    ]
    flat = [order for chunks in batches for orders in chunks for order in orders]
    upserted = {order[1]: order for order in flat}
    targets: list[tuple[Any, dict[str, Any]]] = [
        (f"{tmp_path}/orders/", {}),
        (f"{tmp_path}/orders.jsonl", {}),
        (f"sqlite:///{tmp_path}/orders.db", {"table": "added"}),
        (f"sqlite:///{tmp_path}/orders.db", {"table": "upserted", "unique": "id"}),
        (lambda rows, batch: seen.append(rows.to_pylist()), {}),
    ]
    for target, options in targets:
        for number in (0, 1, 1):  # each as after a restart
            writer = BatchWriter(sinks_of(ROWS, target, **options), ROWS)
            writer.deliver(left(spark, ROWS, *batches[number]), "q", number)
    folder = ds.dataset(tmp_path / "orders").to_table().to_pylist()
    assert sorted((row["shop"], row["id"], row["price"]) for row in folder) == sorted(flat)
    lines = [json.loads(line) for line in (tmp_path / "orders.jsonl").read_text().splitlines()]
    assert [(line["shop"], line["id"], line["price"]) for line in lines] == flat
    file = tmp_path / "orders.db"
    assert asked(file, "SELECT shop, id, price FROM added ORDER BY rowid") == flat
    assert sorted(asked(file, "SELECT shop, id, price FROM upserted")) == sorted(upserted.values())
    assert [len(rows) for rows in seen] == [3, 3, 3]  # a function keeps no ledger


def test_a_stream_in_order_is_added_or_upserted(spark: SparkSession, tmp_path: Path) -> None:
    """The watermark stays 5 s behind. Five records come behind it and are dead letters; the others leave in the order
    of their times, so of a key the latest stands.
    """
    put(tmp_path / "in", BUNDLES)
    file = tmp_path / "t.db"
    for table, unique in (("added", None), ("latest", "k")):
        source = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        places: Any = {"table": table, "unique": unique, "checkpoint": tmp_path / f"checkpoint_{table}"}
        in_order = fl.stream(source, time="ts", delay="5 seconds").sort()
        query = in_order.write_to(f"sqlite:///{file}", available_now=True, flush=True, **places)
        assert query is not None
        query.awaitTermination(240)
    values = [value for (value,) in asked(file, "SELECT v FROM added ORDER BY rowid")]
    assert values == [1, 5, 2, 7, None, 4, 8, 6, 9, 11, 13, 15, 14, 16, 17]
    assert asked(file, "SELECT k, v FROM latest ORDER BY v") == [(None, 9), ("c", 13), ("b", 15), ("a", 17)]
    letters = asked(file, "SELECT json_extract(record, '$.v') FROM latest_dead_letters ORDER BY rowid")
    assert [value for (value,) in letters] == [10, 12, 20, 99, 98]


def test_the_sink_of_the_example_holds_every_batch_once(spark: SparkSession, tmp_path: Path) -> None:
    """The query dies when the sink has batch 3 and Spark does not know; Spark hands it over again."""
    put(tmp_path / "in", BUNDLES)
    died: list[int] = []

    def dies(counts: pa.Table, batch: Any) -> None:
        if batch.number == 3 and not died:
            died.append(batch.number)
            raise RuntimeError("the lights went out")

    def written() -> str:
        totals = streamed(spark, tmp_path / "in", corrected)
        query = totals.write_to(files, checkpoint=tmp_path / "checkpoint", available_now=True, accounting=dies)
        assert query is not None
        query.awaitTermination(240)
        return str(query.id)

    files = EXAMPLE["ArrowFiles"](tmp_path / "out")
    with pytest.raises(StreamingQueryException, match="the lights went out"):
        written()
    (query,) = (folder.name for folder in (tmp_path / "out").iterdir())
    assert files.newest(query).number == 3
    assert written() == query
    last = standing(files.table(query))
    expected = standing(pa.concat_tables(stepped(corrected, BUNDLES)))
    assert {key: (row["n"], row["values"]) for key, row in last.items()} == {
        key: (row["n"], row["values"]) for key, row in expected.items()
    }
    assert len(files.table(query)) == len({repr(row) for row in files.table(query).to_pylist()})
    assert [letter["record"]["v"] for letter in files.table(query, "dead_letters").to_pylist()] == [99, 98]
    steps = files.table(query, "accounting").to_pylist()
    assert sum(step["received"] for step in steps) == sum(len(bundle) for bundle in BUNDLES)
