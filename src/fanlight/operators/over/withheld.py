"""Rows with a value that its type cannot hold: they do not leave, and a letter says what they are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books


def withhold(
    rows: pa.RecordBatch, outside: dict[int, dict[str, Any]], books: Books, watermark: Timestamp
) -> pa.RecordBatch:
    """The rows without those `outside`, which become letters: these have the exact values as text, by row and name."""
    if not outside:
        return rows
    places = sorted(outside)
    told = rows.take(pa.array(places, pa.int64())).to_pylist()
    details = [
        json.dumps({"values": {**row, **outside[place]}, "out_of_range": sorted(outside[place])}, default=str)
        for place, row in zip(places, told, strict=True)
    ]
    books.withhold(details, watermark)
    stays = np.ones(len(rows), np.bool_)
    stays[places] = False
    return rows.filter(pa.array(stays))
