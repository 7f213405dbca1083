"""The dead letters of withheld firings (a value does not fit its type): their detail as JSON.

{"key": {"product": "tea"}, "window": {"start": "…", "end": "…"},
 "values": {"n": 3, "total": "27670116110564327421"}, "out_of_range": ["total"]}
"""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from typing import Any

from fanlight.kernels.slicing.slicing import EVERY_WINDOW
from fanlight.model.time.timestamp import START_OF_TIME, as_text
from fanlight.operators.window.firing.rows import Firings
from fanlight.operators.window.plan import Plan


def details(plan: Plan, withheld: Firings) -> list[str]:
    """For each firing: its key, window and values, and the names of the values that did not fit (exact, as text)."""
    aggregates = [name for name, _ in plan.spec.aggregates]
    keys = [column.to_pylist() for column in withheld.keys]
    values = [column.to_pylist() for column in withheld.values]

    def detail(row: int) -> dict[str, Any]:
        outside = withheld.outside.exact[row]
        return {
            "key": {name: column[row] for name, column in zip(plan.spec.keys, keys, strict=True)},
            "window": {"start": _side(plan, withheld.starts[row]), "end": _side(plan, withheld.ends[row])},
            "values": {name: outside.get(place, values[place][row]) for place, name in enumerate(aggregates)},
            "out_of_range": [aggregates[place] for place in sorted(outside)],
        }

    return [json.dumps(plain(detail(row)), ensure_ascii=False) for row in range(len(withheld))]


def plain(value: Any) -> Any:
    """A value as JSON; as text if JSON has no such type.

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
    """A bound of a window; null if the window has no such bound."""
    if bound >= EVERY_WINDOW or bound == START_OF_TIME:
        return None
    return as_text(int(bound)) if plan.of_times else int(bound)
