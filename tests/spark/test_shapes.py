"""One pipeline, four readings: Spark streaming, Spark batch, the embedded engine, the oracle.

Each shape runs as a streaming query of three micro-batches and the end of its input, and as one batch. The query is
told when it is: its clock is the test's. So it is compared row by row with the embedded engine and the oracle, which
take the same steps; and where nothing is lost, all four end up with the same panes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.model.document_words import WORDS
from fanlight.model.firing import Accumulation, Op
from fanlight.model.spec import WindowSpec
from fanlight.model.time.watermarks import Explicit
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.same import Same
from fanlight.model.windows.window import Window
from fanlight.operators.operator import BoundSpec
from fanlight.spark.output import ACCOUNT, COUNTS, FIRING, LETTER
from fanlight.spark.run import SparkRun
from fanlight.spark.wire import opened
from fanlight.testing import Counts, Firing, Key, Outcome, Record, Step, Transcript, oracle, same
from fanlight.testing.player import firing_of, letter_of, play, rows_of

from .scripted import COLUMNS, Feed, Left, ScriptedQuery, asked, one_batch_a_file
from .shapes import CALM, DELAY, EVERY_KIND, LOSSY, SCHEMA, Shape, bundles

pytestmark = pytest.mark.slow

CLOCKS = (1_000, 4_000, 9_000, 20_000)
"""When each micro-batch starts, in milliseconds; the last brings the end."""
MILLISECOND = 1_000
ROUNDING = 1e-9
"""Means and variances are computed in another order than the oracle's."""
AT_ONCE = 3
"""Queries that run side by side."""
STRIDE, PER_KIND = (1, 1) if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else (6, 3)
"""`make thorough` runs every shape; otherwise every sixth, and one of each kind, to notice that something broke."""
LOSSLESS = [*CALM[::STRIDE], *EVERY_KIND[::PER_KIND]]
SHAPES = [*LOSSLESS, *LOSSY[::STRIDE]]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a shape gave on Spark."""

    streamed: Transcript
    batch: Transcript


@pytest.fixture(scope="module")
def ran(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Ran]]]:
    """Every shape on Spark: all of them are on their way, a few at a time."""
    folder = tmp_path_factory.mktemp("shapes")
    pq.write_table(pa.concat_tables(bundles()), folder / "whole.parquet")
    whole = spark.read.schema(from_arrow_schema(SCHEMA)).parquet(str(folder / "whole.parquet"))

    def run(shape: Shape) -> Ran:
        return Ran(streamed(spark, shape.spec, folder / shape.name), at_once(shape.spec, whole))

    with one_batch_a_file(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        yield {shape.name: pool.submit(run, shape) for shape in asked(request, "shape")}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_every_engine_takes_the_same_steps(ran: dict[str, Future[Ran]], shape: Shape) -> None:
    """Firings with all they say about themselves, dead letters, counts: after every micro-batch, and in one batch."""
    spec, given = replace(shape.spec, watermark=Explicit()), ran[shape.name].result()
    for ours, steps in ((given.streamed, stepped()), (given.batch, in_one())):
        law = merged(oracle.run(spec, steps))
        assert_same(ours, law)
        assert_same(merged(play(spec, steps, SCHEMA)), law)


@pytest.mark.parametrize("shape", LOSSLESS, ids=lambda shape: shape.name)
def test_every_engine_ends_up_with_the_same_panes(ran: dict[str, Future[Ran]], shape: Shape) -> None:
    """Three micro-batches and one batch, four engines: whatever fired on the way, the same panes are left."""
    spec, given = replace(shape.spec, watermark=Explicit()), ran[shape.name].result()
    transcript = oracle.run(spec, stepped())
    law = standing(spec, transcript)
    assert law
    assert_same_panes(standing(spec, given.streamed), law)
    assert_same_panes(standing(spec, given.batch), law)
    assert_same_panes(standing(spec, play(spec, stepped(), SCHEMA)), law)
    assert given.streamed.counts == transcript.counts
    assert balance(given.batch) == balance(transcript)
    assert shape not in CALM or balance(transcript) == Counts(38, 36, 0, 2)


def balance(transcript: Transcript) -> Counts:
    """What became of the records, whatever windows they missed; two say no time."""
    return replace(transcript.counts, missed_windows=0)


def test_the_shapes_are_of_every_kind() -> None:
    assert len({shape.spec for shape in CALM}) >= 60
    for field in ("window", "trigger", "accumulation", "lateness", "keys"):
        assert min(Counter(getattr(shape.spec, field) for shape in CALM).values()) >= 5, field
    kinds = {type(shape.spec.window) for shape in (*CALM, *EVERY_KIND)}
    assert kinds == {kind for kind in WORDS.values() if issubclass(kind, WindowKind)} - {Same}
    for shape in LOSSY:
        assert oracle.run(replace(shape.spec, watermark=Explicit()), stepped()).counts.adds_up


def streamed(spark: SparkSession, spec: WindowSpec, folder: Path) -> Transcript:
    """What a streaming query gives, micro-batch by micro-batch."""
    feed = Feed(spark, folder, SCHEMA)
    run = SparkRun.over(spec, feed.frame, panes=True)
    with ScriptedQuery(feed, run.leaving(str(feed.signals)), folder) as query:
        left = [query.batch(table, clock) for table, clock in zip([*bundles(), None], CLOCKS, strict=True)]
    return Transcript([outcome(spec, run.bound, rows) for rows in left])


def at_once(spec: WindowSpec, whole: DataFrame) -> Transcript:
    """What a batch DataFrame gives."""
    run = SparkRun.over(spec, whole, panes=True)
    rows = run.leaving().select(*COLUMNS).collect()
    return Transcript([outcome(spec, run.bound, [row.asDict() for row in rows])])


def outcome(spec: WindowSpec, bound: BoundSpec, rows: list[Left]) -> Outcome:
    """What left the shards in one micro-batch; the numbers are those of their accounts."""
    chunks = {kind: [opened(bytes(row["payload"])) for row in rows if row["kind"] == kind] for kind in (FIRING, LETTER)}
    fired = pa.Table.from_batches(chunks[FIRING], schema=bound.result)
    accounts = [row for row in rows if row["kind"] == ACCOUNT]
    counts = Counts(*(sum(row[count] for row in accounts) for count in COUNTS))
    assert counts.adds_up
    letters = [letter_of(row) for chunk in chunks[LETTER] for row in chunk.to_pylist()]
    assert len(letters) == counts.dead_letters
    firings = tuple(firing_of(spec, row) for row in rows_of(fired))
    numbers = (counts.records_in, counts.accepted, counts.duplicates, counts.missed_windows)
    left_out = {"filtered": counts.filtered, "dropped": counts.dropped}
    return Outcome(firings, tuple(letters), *numbers, **left_out)


def stepped() -> list[Step]:
    """The steps of the streaming query: each acts on the watermark of all records up to and with its own."""
    steps: list[Step] = []
    latest = 0
    for table, clock in zip(bundles(), CLOCKS, strict=False):
        records = as_records(table)
        latest = max(latest, *(record["ts"] for record in records if record["ts"] is not None))
        steps.append(Step(records=records, watermark=latest - DELAY, clock=clock * MILLISECOND))
    return [*steps, Step(watermark=latest - DELAY, clock=CLOCKS[-1] * MILLISECOND), Step(end=True)]


def in_one() -> list[Step]:
    """The steps of a batch DataFrame: everything, acting on the watermark of all its records, and the end."""
    return [Step(records=as_records(pa.concat_tables(bundles())), watermark=stepped()[-2].watermark), Step(end=True)]


def as_records(table: pa.Table) -> tuple[Record, ...]:
    times = table.column("ts").cast(pa.int64()).to_pylist()
    return tuple({**row, "ts": time} for row, time in zip(table.to_pylist(), times, strict=True))


def merged(transcript: Transcript) -> Transcript:
    """The end of the input comes with the last micro-batch."""
    *others, last, end = transcript.outcomes
    together = Outcome(
        (*last.firings, *end.firings),
        (*last.dead_letters, *end.dead_letters),
        last.records_in + end.records_in,
        last.accepted + end.accepted,
        last.duplicates + end.duplicates,
        last.missed_windows + end.missed_windows,
    )
    return Transcript([*others, together])


def standing(spec: WindowSpec, transcript: Transcript) -> dict[tuple[Key, Window], dict[str, Any]]:
    """What is left of each pane: its last row, or in discarding mode the sums of what its rows carried."""
    if spec.accumulation is not Accumulation.DISCARDING:
        return {pane: firing.values for pane, firing in transcript.last_firings().items()}
    panes: dict[tuple[Key, Window], dict[str, Any]] = {}
    for firing in transcript.firings:
        sums = panes.setdefault((firing.key, firing.window), {"n": 0, "total": 0})
        for name in sums:
            sums[name] += firing.values[name] or 0
    return panes


def assert_same(ours: Transcript, law: Transcript) -> None:
    for step, (mine, right) in enumerate(zip(ours.outcomes, law.outcomes, strict=True)):
        assert in_order(mine) == in_order(right), f"step {step}"
        for a, b in zip(by_pane(mine), by_pane(right), strict=True):
            assert same(a.values, b.values, tolerance=ROUNDING), f"step {step}"
        assert letters(mine) == letters(right), f"step {step}"
        assert mine.counts == right.counts, f"step {step}"


def assert_same_panes(ours: dict[tuple[Key, Window], Any], law: dict[tuple[Key, Window], Any]) -> None:
    assert ours.keys() == law.keys()
    for pane, values in law.items():
        assert same(ours[pane], values, tolerance=ROUNDING), pane


def by_pane(outcome: Outcome) -> list[Firing]:
    """The firings of a step by pane and number, a retraction before what replaces it: shards have no order."""
    return sorted(
        outcome.firings, key=lambda f: (f.window.end, f.window.start, spelled(f), f.number, f.op is not Op.RETRACT)
    )


def in_order(outcome: Outcome) -> list[tuple[Any, ...]]:
    """What the firings of a step say about themselves."""
    return [(f.key, f.window, f.op, f.timing, f.number, f.revision, f.is_last, f.time) for f in by_pane(outcome)]


def spelled(firing: Firing) -> str:
    return repr([value + 0.0 if isinstance(value, float) else value for value in firing.key])  # there is one zero


def letters(outcome: Outcome) -> list[str]:
    """Dead letters in an order of their own, without their times, which engines spell differently."""
    return sorted(
        f"{reason} {[value for name, value in record.items() if name != 'ts']}"
        for reason, record in outcome.dead_letters
    )
