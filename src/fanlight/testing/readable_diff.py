"""Rows that were expected beside rows that came, line by line, as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]

_NOT_TOLD = ("pane_time", "pane_clock", "pane_revision", "pane_number")
"""Columns that nobody asks for as a rule: a row that was not expected is shown without them."""


def difference(expected: Sequence[Row], came: Sequence[Row], what: str) -> str | None:
    """What differs, as text; None if each row that came has what is expected of it, in the same order.

    An expected row names the columns it cares for, and no others count.

    >>> print(difference([{"shop": "a", "n": 2}], [{"shop": "a", "n": 3, "more": 1}], "rows"))
    rows: expected 1, came 1
      - shop='a'  n=2
      + shop='a'  n=3
    """
    if len(expected) == len(came) and all(map(_fits, expected, came)):
        return None
    named = list(dict.fromkeys(name for row in expected for name in row))
    lines = [f"{what}: expected {len(expected)}, came {len(came)}"]
    for place in range(max(len(expected), len(came))):
        want = expected[place] if place < len(expected) else None
        have = came[place] if place < len(came) else None
        if want is not None and have is not None and _fits(want, have):
            lines.append(f"    {_told(want)}")
            continue
        if want is not None:
            lines.append(f"  - {_told(want)}")
        if have is not None:
            shown = [name for name in named if name in have] or [name for name in have if name not in _NOT_TOLD]
            lines.append(f"  + {_told({name: have[name] for name in shown})}")
    unknown = [name for name in named if came and not any(name in row for row in came)]
    if unknown:
        lines.append(f"  no such column: {', '.join(unknown)}; there are {', '.join(came[0])}")
    return "\n".join(lines)


def _fits(want: Row, have: Row) -> bool:
    """Whether a row has what is expected. What is expected comes first: it may be an approximation."""
    return all(name in have and bool(value == have[name]) for name, value in want.items())


def _told(row: Row) -> str:
    return "  ".join(f"{name}={_value(value)}" for name, value in row.items()) or "any row"


def _value(value: Any) -> str:
    """Times without what is zero in them; other values as Python writes them."""
    if not isinstance(value, datetime):
        return repr(value)
    text = value.replace(tzinfo=None).isoformat(" ")
    return text.removesuffix(":00") if value.second == value.microsecond == 0 else text
