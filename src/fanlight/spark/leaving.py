"""What leaves a shard: chunks of firings, chunks of dead letters, and an account of the step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import Accounting
from fanlight.operators.shard import ShardOperator
from fanlight.spark.transit import packed

FIRING, LETTER, ACCOUNT = "firing", "letter", "account"

COUNTS = ("received", "accepted", "duplicates", "dead_letters", "missed_windows", "values_out_of_range")
LEAVING = (
    "kind string, payload binary, stage int, batch bigint, shard int, "
    + ", ".join(f"{count} bigint" for count in COUNTS)
    + ", watermark timestamp"
)
"""Firings and letters carry a chunk; an account carries the numbers of one step of one shard."""

LEAVING_ARROW = pa.schema(
    [
        ("kind", pa.string()),
        ("payload", pa.binary()),
        ("stage", pa.int32()),
        ("batch", pa.int64()),
        ("shard", pa.int32()),
        *((count, pa.int64()) for count in COUNTS),
        ("watermark", pa.timestamp("us", "UTC")),
    ]
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LeavingRow = dict[str, Any]


def leaving_of(
    shard: ShardOperator,
    firings: list[pa.RecordBatch],
    before: Accounting,
    *,
    stage: int,
    batch: int,
    name: int,
) -> Iterator[LeavingRow]:
    """The rows that a step gave, of the shard called `name`; `before` is the accounting the step began with."""
    for firing in firings:
        yield {"kind": FIRING, "payload": packed(firing)}
    for letters in shard.letters.take().to_batches():
        yield {"kind": LETTER, "payload": packed(letters)}
    counts = {count: getattr(shard.accounting, count) - getattr(before, count) for count in COUNTS}
    place = {"stage": stage, "batch": batch, "shard": name}
    watermark = _moment(shard.watermark) if shard.plan.of_times else None
    yield {"kind": ACCOUNT, **place, **counts, "watermark": watermark}


def acted_on(rows: Iterable[pa.RecordBatch]) -> Timestamp:
    """The furthest watermark that accounts among these rows tell of."""
    watermarks = [row.column("watermark") for row in rows]
    told = [int(column.cast(pa.int64())[0].as_py()) for column in watermarks if not column.null_count]
    return max(told, default=START_OF_TIME)


def _moment(time: Timestamp) -> datetime | None:
    return None if time in (START_OF_TIME, END_OF_TIME) else _EPOCH + timedelta(microseconds=time)
