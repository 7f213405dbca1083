"""What the stories of the standalone operator share: orders of tea, and how firings are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl

S = 1_000_000
"""Times in records are seconds; watermarks and clocks are microseconds."""

BY_HAND = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")
WINDOWED = BY_HAND.window(fl.tumbling("10 s"), lateness="20 s")
EAGER = WINDOWED.trigger(fl.at_watermark(early=fl.after(1)))
TOTALS = WINDOWED.agg(n=fl.count(), total=fl.sum("v"))
"""Windows [0, 10), [10, 20) and so on, which close where they end and expire 20 seconds later."""


def order(ts: int | None, k: str | None = "tea", v: int | None = 1) -> dict[str, Any]:
    return {"ts": ts, "k": k, "v": v}


def said(table: pa.Table) -> list[tuple[Any, ...]]:
    """Firings as (key, start of the window in seconds, timing, count)."""
    return [
        (row["k"], int(row["window"]["start"].timestamp()), row["pane"]["timing"], row["n"])
        for row in table.to_pylist()
    ]


def counts(operator: fl.WindowOperator) -> tuple[int, int, int, int]:
    """Received, accepted, duplicates, dead letters; the law that all counts add up is checked on the way."""
    assert operator.accounting.adds_up
    books = operator.accounting
    return books.received, books.accepted, books.duplicates, books.dead_letters


def paid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A hook that leaves out what costs nothing."""
    return batch.filter(pc.greater(batch["v"], 0))


def reasons(operator: fl.WindowOperator) -> list[str]:
    return operator.dead_letters.column("reason").to_pylist()  # type: ignore[no-any-return]
