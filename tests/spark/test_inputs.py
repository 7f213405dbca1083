"""What comes in on Spark: several inputs, conditions, every watermark strategy and changes, beside this process.

Each pipeline runs as a query of a few micro-batches and the end of its input, at a clock of the test's. What leaves in
each micro-batch is what the embedded engine gives in the same step; letters and accounts are those of the same stages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.output import ACCOUNT, COUNTS, FIRING, LETTER
from fanlight.spark.wire import opened

from .scripted import Feed, Left, ScriptedQuery, one_batch_a_file, write_all
from .test_pipelines import DDL, write

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "v": pa.int64(),
        "id": pa.int64(),
        "op": pa.string(),
        "until": pa.timestamp("us", "UTC"),
    }
)

Given = Callable[..., fl.Stream]
"""Makes the stream of the input of a name, with what else is said of it."""
Declared = Callable[[Given], Any]
Row = dict[str, Any]


def moment(second: int | None) -> datetime | None:
    return None if second is None else BASE + timedelta(seconds=second)


def sold(second: int, key: str, value: int) -> Row:
    return {"ts": moment(second), "k": key, "v": value}


def changed(op: str, second: int, number: int, key: str, value: int) -> Row:
    return {**sold(second, key, value), "op": op, "id": number}


def complete(until: int) -> Row:
    """A row that says how far the input has come."""
    return {"until": moment(until)}


def table(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


WEB = (
    table(sold(1, "a", 1), sold(4, "b", 2), sold(9, "a", -3)),
    table(sold(25, "a", 4), sold(8, "b", 5), sold(31, "c", -6)),
    table(sold(2, "a", 7), sold(44, "b", 8), sold(17, "a", 9)),
    table(sold(70, "c", 10)),
)
SHOP = (
    table(sold(2, "a", 100), sold(3, "c", 200)),
    table(sold(12, "b", 300)),
    table(sold(26, "a", 400), sold(1, "c", -500)),
    table(sold(61, "b", 600), sold(11, "b", 700)),
)
SECONDS = (10, 35, 50, 80, 90)
"""The clock of each micro-batch, after `BASE`; the last brings the end."""


def micros(second: int) -> int:
    return int((BASE + timedelta(seconds=second)).timestamp()) * 1_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pipeline gave: rows step by step; letters and accounts of all steps, by stage."""

    rows: list[list[Row]]
    letters: list[str]
    counts: list[dict[str, int]]


def in_order(said: dict[str, Any]) -> dict[str, Any]:
    """What is said of a stream; where nothing is said of its watermark, its records come in order."""
    return said if {"delay", "watermark"} & said.keys() else {"delay": "0 s", **said}


def streamed(spark: SparkSession, folder: Path, declared: Declared, **inputs: tuple[pa.Table, ...]) -> Outcome:
    """On Spark: a micro-batch has the next table of every input."""
    feeds = {name: Feed(spark, folder / name, SCHEMA) for name in inputs}
    result = declared(lambda name="only", **said: fl.stream(feeds[name].frame, time="ts", **in_order(said)))
    run, first = result.on_spark("leaving"), next(iter(feeds.values()))
    with ScriptedQuery(first, run.leaving(str(first.signals)), folder) as query:
        left = []
        for tables, second in zip(zip(*inputs.values(), strict=True), SECONDS, strict=False):
            clock, come = micros(second) // 1_000, partial(write_all, [*zip(feeds.values(), tables, strict=True)])
            left.append(query.batch(tables[0], clock) if len(tables) == 1 else query.anew(come, clock))
        left.append(query.end_anew(micros(SECONDS[-1]) // 1_000))
    stages = [*run.befores, run]
    every = [row for step in left for row in step]
    letters = [one for chunk in of_kind(every, LETTER) for one in chunk.to_pylist()]
    accounts = [[row for row in every if row["kind"] == ACCOUNT and row["stage"] == one.stage] for one in stages]
    return Outcome(
        [plain(of_kind(step, FIRING), lean=result.spec.fires_once) for step in left],
        sorted(map(told, letters)),
        [{count: sum(row[count] for row in own) for count in COUNTS} for own in accounts],
    )


def embedded(declared: Declared, **inputs: tuple[pa.Table, ...]) -> Outcome:
    """In this process: a step has the next table of every input."""

    def given(name: str = "only", **said: Any) -> fl.Stream:
        clock = partial(next, iter([micros(second) for second in SECONDS]))
        batches = [one.combine_chunks().to_batches()[0] for one in inputs[name]]
        return fl.stream(batches, time="ts", clock=clock, schema=SCHEMA, **in_order(said))

    result = declared(given)
    steps = [plain(step.fired, lean=result.spec.fires_once) for step in result.embedded_run().steps()]
    letters = result.dead_letters.to_pylist()
    accounts = [{count: getattr(stage.accounting, count) for count in COUNTS} for stage in result.stages]
    return Outcome(steps, sorted(map(told, letters)), accounts)


def of_kind(left: list[Left], kind: str) -> Iterator[pa.RecordBatch]:
    return (opened(bytes(row["payload"])) for row in left if row["kind"] == kind)


def plain(batches: Any, *, lean: bool) -> list[Row]:
    """Rows in an order of their own; what they say of a pane that fires once is left out, and so is the clock."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    for row in rows:
        pane = row.pop("pane", None)
        if pane is not None and not lean:
            row["pane"] = {name: value for name, value in pane.items() if name != "clock"}
    return sorted(rows, key=repr)


def told(letter: Row) -> str:
    """A letter as text: its reason and its record, which of a later stage stands in its detail."""
    record = letter["record"] if letter["record"] is not None else json.loads(letter["detail"])["record"]
    spelled = {name: str(value) for name, value in record.items()}
    return f"{letter['reason']} {spelled}"


@pytest.fixture(scope="module", autouse=True)
def one_at_a_time(spark: SparkSession) -> Iterator[None]:
    """Micro-batches are the test's."""
    with one_batch_a_file(spark):
        yield


def two_inputs(given: Given) -> Any:
    """Late records of both; the least watermark counts, so that the web waits for the shop."""
    union = fl.union(web=given("web", delay="5 s"), shop=given("shop", delay="0 s")).key_by("k", "input")
    return union.window(fl.tumbling("10 s")).agg(n=fl.count(), total=fl.sum("v"), most=fl.max("v"))


def greatest_of_two(given: Given) -> Any:
    union = fl.union(combine="greatest", web=given("web"), shop=given("shop").where(fl.col("v") > 0))
    return union.key_by("k").window(fl.tumbling("10 s"), lateness="20 s").retracting().agg(total=fl.sum("v"))


def two_results(given: Given) -> Any:
    """The web is far behind the shop, each stage acts on a watermark of its own, and both lose what is late."""

    def tens(stream: fl.Stream) -> fl.Result:
        return stream.key_by("k").window(fl.tumbling("10 s")).agg(total=fl.sum("v"), n=fl.count())

    union = fl.union(web=tens(given("web", delay="1 minute")), shop=tens(given("shop"))).key_by("input")
    return union.window(fl.tumbling("30 s")).agg(total=fl.sum("total"), n=fl.sum("n"))


@pytest.mark.parametrize("declared", [two_inputs, greatest_of_two, two_results])
def test_several_inputs(spark: SparkSession, tmp_path: Path, declared: Declared) -> None:
    """So many of each sale that they are pre-aggregated before they travel, but for those that may be late."""
    web, shop = (tuple(pa.concat_tables([one] * 50) for one in tables) for tables in (WEB, SHOP))
    expected = embedded(declared, web=web, shop=shop)
    assert expected.letters
    assert streamed(spark, tmp_path, declared, web=web, shop=shop) == expected


def test_conditions_come_before_anything_travels(spark: SparkSession, tmp_path: Path) -> None:
    """Three sales are left out, of which the one of 31 moves the watermark; the second stage leaves out one more."""

    def declared(given: Given) -> Any:
        sales = given(delay="0 s").where(fl.col("v") > 0).select("k", at="ts", double=fl.col("v") * 2)
        tens = sales.key_by("k").window(fl.tumbling("10 s")).agg(total=fl.sum("double"))
        return tens.where(fl.col("total") > 3).window(fl.tumbling("1 minute")).agg(total=fl.sum("total"))

    expected = embedded(declared, only=WEB)
    assert streamed(spark, tmp_path, declared, only=WEB) == expected
    assert [counts["filtered"] for counts in expected.counts] == [2, 1]
    assert any("'at'" in letter for letter in expected.letters)


def behind_the_clock(given: Given) -> Any:
    return given(watermark=fl.fixed_distance("20 s")).key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count())


def record_by_record(given: Given) -> Any:
    stream = given(watermark=fl.stream_time()).key_by("k").window(fl.tumbling("10 s"))
    return stream.agg(n=fl.count(), total=fl.sum("v"))


def by_control_rows(given: Given) -> Any:
    stream = given(watermark=fl.control("until")).where(fl.col("v") > 0).select("ts", "k", "v")
    return stream.key_by("k").window(fl.tumbling("10 s")).agg(total=fl.sum("v"))


@pytest.mark.parametrize("declared", [behind_the_clock, record_by_record, by_control_rows])
def test_every_watermark_strategy(spark: SparkSession, tmp_path: Path, declared: Declared) -> None:
    controlled = tuple(
        pa.concat_tables([one, table(complete(second))]) for one, second in zip(WEB, (5, 30, 20, 60), strict=True)
    )
    only = controlled if declared is by_control_rows else WEB
    expected = embedded(declared, only=only)
    assert expected.letters
    assert streamed(spark, tmp_path, declared, only=only) == expected


def test_what_spark_cannot_follow_is_refused(spark: SparkSession) -> None:
    frame = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    batch = spark.createDataFrame([], "ts timestamp, value bigint")
    judged = fl.stream(frame, time="ts", watermark=fl.stream_time()).key_by("value").window(fl.tumbling("1 minute"))
    assert "one shard, where each record is judged in its turn" in judged.agg(n=fl.count()).explain()
    by_hand = fl.stream(frame, time="ts", watermark=fl.Explicit())
    with pytest.raises(fl.SpecError, match=r"by hand.*watermark=control\('column'\)"):
        fl.union(a=by_hand, b=fl.stream(frame, time="ts", delay="0 s")).sort()
    with pytest.raises(fl.SpecError, match="one input is a stream and another is not"):
        fl.union(a=fl.stream(frame, time="ts", delay="0 s"), b=fl.stream(batch, time="ts", delay="0 s")).sort()
    with pytest.raises(fl.SpecError, match="'a' and 'b' run on different engines"):
        fl.union(a=fl.stream(frame, time="ts", delay="0 s"), b=fl.stream([], time="ts"))
    with pytest.raises(fl.SpecError, match=r"Say ahead=None"):
        fl.stream(frame, time=lambda rows: rows["ts"], delay="0 s").sort()
    other = batch.withColumnRenamed("value", "worth")
    with pytest.raises(fl.SpecError, match="the column 'value' is int64 in 'a' and missing in 'b'"):
        fl.union(a=fl.stream(batch, time="ts", delay="0 s"), b=fl.stream(other, time="ts", delay="0 s")).sort()


CHANGES = (
    table(changed("+I", 1, 1, "a", 5), changed("+I", 3, 2, "b", 7), changed("+I", 4, 3, "a", 1)),
    table(changed("+U", 6, 1, "b", 6), changed("-D", 8, 9, "c", 0), changed("u", 15, 2, "a", 8)),
    table(changed("-D", 16, 3, "c", 0), changed("x", 17, 4, "a", 1), changed("+I", 33, 5, "c", 2)),
    table(changed("-D", 34, 1, "a", 0), changed("+I", 35, 6, "c", 3)),
)


def normalized(given: Given) -> Any:
    """Orders move from key to key: they are told apart by their ids, and then counted by key."""
    stream = given(op="op", unique="id", operations={"u": "+U"}, delay="1 minute").key_by("k")
    early = stream.window(fl.tumbling("10 s")).trigger(fl.at_watermark(early=fl.after(1)))
    return early.retracting().agg(n=fl.count(), total=fl.sum("v"), most=fl.max("v"))


def retracting_stages(given: Given) -> Any:
    """Every early firing of a key is taken back before its next one, and the second stage counts what is left."""
    stream = given(delay="20 s").key_by("k").window(fl.tumbling("10 s"), lateness="30 s")
    early = stream.trigger(fl.at_watermark(early=fl.after(1), late=fl.after(1))).retracting().agg(total=fl.sum("v"))
    return early.window(fl.tumbling("30 s")).agg(keys=fl.count(), total=fl.sum("total"), most=fl.max("total"))


def test_changes_that_move_rows_between_keys(spark: SparkSession, tmp_path: Path) -> None:
    expected = embedded(normalized, only=CHANGES)
    assert streamed(spark, tmp_path, normalized, only=CHANGES) == expected
    assert [letter.partition(" ")[0] for letter in expected.letters] == ["no_such_operation", "no_such_row"]


def test_a_stage_that_retracts_feeds_the_next(spark: SparkSession, tmp_path: Path) -> None:
    assert streamed(spark, tmp_path, retracting_stages, only=WEB) == embedded(retracting_stages, only=WEB)


def exchanged(result: fl.Result) -> str:
    """How records come to a stage, as its text says it."""
    runs = result.explain().splitlines()[0]
    return runs.partition(": ")[2].removesuffix(", state in RocksDB")


def test_stages_that_share_a_shard_are_inspected_each_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    """The watermark is 39: windows from 30 and from 40 on are open, and the others have gone into the minute."""
    rows = [pa.Table.from_pylist([*map(dict, one.select(["ts", "k", "v"]).to_pylist())]) for one in WEB[:3]]
    write(tmp_path / "in", rows)
    source = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    tens = fl.stream(source, time="ts", delay="5 s").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count())
    chain = tens.key_by("k").window(fl.tumbling("1 minute")).agg(total=fl.sum("n"))
    assert "in the shards of the stage before" in chain.explain()
    assert chain.explain("svg").count(f">{exchanged(tens)}<") == 1  # on the way to the first stage alone
    assert f"↓ {exchanged(tens)}<" in chain.explain("html")
    checkpoint = tmp_path / "checkpoint"
    query = chain.write_to(f"{tmp_path}/out/", checkpoint=checkpoint, available_now=True)
    assert query is not None
    assert query.awaitTermination(240)
    open_tens, open_minutes = (fl.inspect(checkpoint, stage=stage) for stage in (1, 2))
    tens_left = {(row["k"], row["window"]["start"].second): row["n"] for row in open_tens.windows().collect()}
    assert tens_left == {("c", 30): 1, ("b", 40): 1}
    minutes_left = {row["k"]: row["total"] for row in open_minutes.windows().collect()}
    assert minutes_left == {"a": 3, "b": 2}
    assert {row["k"]: row["total"] for row in fl.inspect(checkpoint).windows().collect()} == minutes_left
