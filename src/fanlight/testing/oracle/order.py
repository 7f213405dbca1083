"""The order of values, and when two are the same: read from the law, in plain Python."""

from __future__ import annotations

import math
from typing import Any

from fanlight.testing.script import same


def rank(value: Any) -> Any:
    """What to sort by: values as they are, NaN after every number, structs field by field."""
    if isinstance(value, dict):
        return [null_last(part) for part in value.values()]
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def null_last(value: Any) -> tuple[bool, Any]:
    """What to sort by where a value may be null."""
    return value is None, (False, 0) if value is None else rank(value)


def descending(value: Any) -> tuple[bool, Any]:
    """What to sort by where all is turned round afterwards, and null must be last then."""
    is_null, ranked = null_last(value)
    return not is_null, ranked


def time_then_value(pair: tuple[int, Any]) -> tuple[int, Any]:
    """What to sort (time, value) pairs by."""
    return pair[0], rank(pair[1])


def different(values: list[Any]) -> list[Any]:
    """The values without those that are the same as an earlier one."""
    found: list[Any] = []
    for value in values:
        if not any(same(value, seen) for seen in found):
            found.append(value)
    return found
