"""The op `group_by_ts`: records grouped by their time itself, an instant being a window of one tick.

ts 10   ─► window [10, 11), which closes when nothing at 10 can come any more
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fanlight.testing.vectors.load import Vector

_INSTANT = {"kind": "fixed", "size": 1}


def by_instant(vector: Vector) -> Vector:
    """The case as one about windows of a millisecond; a row's time is where its window starts."""
    expect = [{**group, "rows": [_row(row) for row in group.get("rows") or ()]} for group in vector.expect]
    return replace(vector, fields={**vector.fields, "op": "window_agg", "window": _INSTANT, "expect": expect})


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {("window_start" if name == "ts" else name): value for name, value in row.items()}
