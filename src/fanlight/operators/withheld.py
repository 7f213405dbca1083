"""Firings that do not leave, because a value of theirs cannot be represented: what their letters say, as JSON.

{"key": {"product": "tea"}, "window": {"start": "…", "end": "…"},
 "values": {"n": 3, "total": "27670116110564327421"}, "out_of_range": ["total"]}
"""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from typing import Any

from fanlight.kernels.slicing import EVERY_WINDOW
from fanlight.model.timestamp import START_OF_TIME, as_text
from fanlight.operators.firing import Firings
from fanlight.operators.plan import Plan


def details(plan: Plan, withheld: Firings) -> list[str]:
    """For each firing its key, window and values, with the exact ones as text, and which these are."""
    aggregates = [name for name, _ in plan.spec.aggregates]
    keys = [column.to_pylist() for column in withheld.keys]
    values = [column.to_pylist() for column in withheld.values]

    def detail(row: int) -> dict[str, Any]:
        outside = withheld.outside[row]
        return {
            "key": {name: column[row] for name, column in zip(plan.spec.keys, keys, strict=True)},
            "window": {"start": _side(plan, withheld.starts[row]), "end": _side(plan, withheld.ends[row])},
            "values": {name: outside.get(place, values[place][row]) for place, name in enumerate(aggregates)},
            "out_of_range": [aggregates[place] for place in sorted(outside)],
        }

    return [json.dumps(plain(detail(row)), ensure_ascii=False) for row in range(len(withheld))]


def plain(value: Any) -> Any:
    """A value as JSON knows it; what it does not know is text.

    >>> plain({"at": date(2026, 3, 1), "ratio": math.nan, "raw": b"ab"})
    {'at': '2026-03-01', 'ratio': 'nan', 'raw': '6162'}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(name): plain(one) for name, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
    return str(value)


def _side(plan: Plan, bound: Any) -> str | int | None:
    """Where a window starts or ends; null for one that has no such end."""
    if bound >= EVERY_WINDOW or bound == START_OF_TIME:
        return None
    return as_text(int(bound)) if plan.of_times else int(bound)
