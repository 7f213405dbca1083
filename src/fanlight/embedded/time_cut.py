"""Cut a source into bundles by a column of times, in the order its records are given.

    every 10 s     3  7  12  9  18 | 21  19 | 43
                         └ a new bundle starts when a time passes the next multiple beyond the greatest so far
                   ─────┬──────────
                   3  7 | 12  9  18 | 21  19 | 43

However the source itself is chunked, the bundles are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.embedded.sources import COLUMNAR_ROWS
from fanlight.errors import SpecError
from fanlight.kernels.times import read_times
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.ingest.columns import plain, require_column
from fanlight.operators.ingest.conform import CheckedBatch


@dataclass(frozen=True, slots=True)
class TimeCut:
    """Which column says the times, and how long a bundle is by them."""

    column: str
    every: Duration

    def __post_init__(self) -> None:
        if self.every.micros <= 0 or self.every.is_forever:
            raise SpecError(
                f"stream: `every` ({self.every}) must be above zero, so that a bundle ends. Use one such as '1 min'."
            )


def cut_by_time(came: Iterator[CheckedBatch], cut: TimeCut, unit: TimeUnit | None) -> Iterator[CheckedBatch]:
    """The same records in the same order, a bundle for each stretch of `cut.every`.

    A bundle starts with the first record whose time passes the next multiple of `every` beyond the greatest time so
    far. A record without a time that can be read stays in the bundle it comes in. A bundle has at most a million rows.

    >>> records = pa.record_batch({"ts": [3, 7, 12, 9, 18, 21, 19, 43]})
    >>> cut = TimeCut("ts", Duration.of("10 s"))
    >>> bundles = cut_by_time(iter([CheckedBatch(records)]), cut, TimeUnit.SECONDS)
    >>> [one.batch.column("ts").to_pylist() for one in bundles]
    [[3, 7], [12, 9, 18], [21, 19], [43]]
    """
    held: list[CheckedBatch] = []
    reached: int | None = None
    for one in came:
        starts, reached = _starts(one.batch, cut, unit, reached)
        if held and not _go_together(held[0], one):  # a column changes its type: the operator is told by bundle
            yield _joined(held)
            held = []
        for number, (start, end) in enumerate(zip([0, *starts], [*starts, len(one.batch)], strict=True)):
            if number and held:  # what stands before the first start belongs to the bundle that is held
                yield _joined(held)
                held = []
            if end > start:
                held.append(_slice(one, start, end))
        if sum(len(each.batch) for each in held) >= COLUMNAR_ROWS:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _starts(
    batch: pa.RecordBatch, cut: TimeCut, unit: TimeUnit | None, reached: int | None
) -> tuple[list[int], int | None]:
    """The rows at which bundles start, and the multiple of `every` that the greatest time has reached."""
    require_column(batch.schema, cut.column)
    times, faults = read_times(plain(batch.column(cut.column)), unit, f"the column {cut.column!r}")
    rows = np.flatnonzero(faults == 0)
    if not len(rows):
        return [], reached
    multiples = np.maximum.accumulate(times[rows] // cut.every.micros)
    before = np.concatenate(([multiples[0] if reached is None else reached], multiples[:-1]))
    passes = multiples > np.maximum(before, before[0])
    greatest = int(multiples[-1]) if reached is None else max(reached, int(multiples[-1]))
    return [int(row) for row in rows[passes]], greatest


def _go_together(one: CheckedBatch, other: CheckedBatch) -> bool:
    return bool(one.batch.schema.equals(other.batch.schema))


def _slice(one: CheckedBatch, start: int, end: int) -> CheckedBatch:
    details = None if one.details is None else one.details.slice(start, end - start)
    return CheckedBatch(one.batch.slice(start, end - start), details)


def _joined(held: list[CheckedBatch]) -> CheckedBatch:
    if len(held) == 1:
        return held[0]
    batch = pa.concat_batches([one.batch for one in held])
    if all(one.details is None for one in held):
        return CheckedBatch(batch)
    details = [pa.nulls(len(one.batch), pa.string()) if one.details is None else one.details for one in held]
    return CheckedBatch(batch, pa.concat_arrays(details))
