"""Rows that do not leave, because a type cannot hold a value of theirs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books


def without_misfits(
    rows: pa.RecordBatch, outside: dict[int, dict[str, Any]], books: Books, watermark: Timestamp
) -> pa.RecordBatch:
    """The rows without those in `outside`, which become letters; it has the exact text of each value that is none."""
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
