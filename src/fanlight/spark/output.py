"""The output rows of a shard on Spark: chunks of firings, chunks of dead letters, and an account of the step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import Accounting, as_first
from fanlight.operators.stage_chain import StageChain, StageShard
from fanlight.spark.wire import in_pieces, opened, packed

FIRING, LETTER, ACCOUNT = "firing", "letter", "account"

COUNTS = tuple(Accounting().as_dict())
"""The counts of an account, in the order of its columns."""
OUTPUT = (
    "kind string, payload binary, stage int, batch bigint, shard int, "
    + ", ".join(f"{count} bigint" for count in COUNTS)
    + ", watermark timestamp, inputs string"
)
"""Rows of firings and letters have a chunk; an account has the counts of one step of one shard.

Where inputs have names, `inputs` has the counts of each as JSON text.
"""

OUTPUT_ARROW = pa.schema(
    [
        ("kind", pa.string()),
        ("payload", pa.binary()),
        ("stage", pa.int32()),
        ("batch", pa.int64()),
        ("shard", pa.int32()),
        *((count, pa.int64()) for count in COUNTS),
        ("watermark", pa.timestamp("us", "UTC")),
        ("inputs", pa.string()),
    ]
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OutputRow = dict[str, Any]


def output_rows(
    chain: StageChain, rows: list[pa.RecordBatch], letters: pa.Schema, *, batch: int, name: int
) -> Iterator[OutputRow]:
    """What leaves the shard `name` in a micro-batch: rows of its last stage, and of each stage letters and an account.

    Letters have the columns `letters`, those of the first stage of the pipeline.
    """
    for piece in (piece for found in rows for piece in in_pieces(found)):
        yield {"kind": FIRING, "payload": packed(piece)}
    for stage in chain.stages:
        number, shard = stage.plan.number, stage.shard
        for written in shard.require_books().letters.take().to_batches():
            for piece in in_pieces(as_first(written, letters, number)):
                yield {"kind": LETTER, "payload": packed(piece)}
        counts = {count: getattr(shard.accounting, count) - getattr(stage.before, count) for count in COUNTS}
        watermark = _moment(shard.watermark) if shard.bound is None or shard.bound.of_times else None
        place = {"stage": number, "batch": batch, "shard": name}
        yield {"kind": ACCOUNT, **place, **counts, "watermark": watermark, "inputs": _by_input(stage)}


def chunks_of(output: pa.RecordBatch | pa.Table, kinds: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The chunks of these kinds among rows of `OUTPUT`, each with its kind, in their order."""
    for kind, payload in zip(output["kind"].to_pylist(), output["payload"], strict=True):
        if kind in kinds:
            yield kind, opened(payload.as_buffer())


def _by_input(stage: StageShard) -> str | None:
    """The counts of each input in the step, as JSON text; None if inputs have no names."""
    now = stage.shard.require_books().by_input()
    if not now:
        return None
    before = stage.inputs_before
    return json.dumps({name: {what: count - before[name][what] for what, count in now[name].items()} for name in now})


def acted_on(rows: Iterable[pa.RecordBatch], stage: int) -> Timestamp:
    """The furthest watermark that the stage `stage` acted on, by the accounts among these rows."""
    told = [
        row.column("watermark").cast(pa.int64())[0].as_py() for row in rows if row.column("stage")[0].as_py() == stage
    ]
    return max((time for time in told if time is not None), default=START_OF_TIME)


def _moment(time: Timestamp) -> datetime | None:
    return None if time in (START_OF_TIME, END_OF_TIME) else _EPOCH + timedelta(microseconds=time)
