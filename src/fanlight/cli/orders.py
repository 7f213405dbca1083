"""The orders of the demo: generated, out of order, some late and some too late. The same every time."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PRODUCTS = ("tea", "coffee", "cocoa", "mate", "chicory")
COLUMNS = "ts timestamp, product string, price decimal(10,2)"

_SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "product": pa.string(), "price": pa.decimal128(10, 2)})
_NOON = 1_772_366_400  # 1 March 2026, 12:00 UTC
_SECOND = 1_000_000
_MINUTES_A_FILE = 3
_SHUFFLED, _LATE, _TOO_LATE, _TIMELESS = 20, 600, 5_400, 0.0002
"""Seconds by which most orders are out of order, by which some are late and a few too late; the share without time."""


def write_orders(folder: Path, files: int, orders: int) -> None:
    """Write `files` parquet files of `orders` each, as they would arrive: three minutes of a day after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        file = folder / f"orders-{number:03d}.parquet"
        pq.write_table(_orders(number, orders), file)
        os.utime(file, (_NOON + number, _NOON + number))  # Spark reads files in the order they were changed


def _orders(number: int, count: int) -> pa.Table:
    random = np.random.default_rng(number)
    arrival = np.sort(random.uniform(0, 60 * _MINUTES_A_FILE, count)) + 60 * _MINUTES_A_FILE * number
    kind = random.random(count)
    behind = np.select([kind < 0.003, kind < 0.03], [_TOO_LATE, _LATE], _SHUFFLED) * random.uniform(0.2, 1, count)
    times = ((_NOON + arrival - behind) * _SECOND).astype(np.int64)
    cents = pa.array(random.integers(150, 990, count)).cast(pa.decimal128(19, 0))
    return pa.table(
        [
            pa.array(times, pa.int64(), mask=random.random(count) < _TIMELESS).cast(_SCHEMA.field("ts").type),
            pa.array(np.array(PRODUCTS)[random.integers(0, len(PRODUCTS), count)]),
            pc.multiply(cents, pa.scalar(Decimal("0.01"))).cast(_SCHEMA.field("price").type),
        ],
        schema=_SCHEMA,
    )
