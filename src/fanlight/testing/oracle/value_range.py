"""What the type of a result can hold: int64 for sums of integers and of durations, 38 digits for sums of decimals."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from fanlight.model.aggregates import Aggregate, Composite, Sum

_DIGITS = 38
_MICROSECOND = timedelta(microseconds=1)


def told_exactly(aggregate: Aggregate, value: Any) -> Any:
    """The value with what cannot be represented as text; None if all of it can.

    >>> from fanlight.model.aggregates import sum
    >>> told_exactly(sum("v"), 2**63), told_exactly(sum("v"), 2**63 - 1)
    ('9223372036854775808', None)
    """
    match aggregate:
        case Sum():
            return _beyond(value)
        case Composite(parts=parts):
            told = {name: told_exactly(part, value[name]) for name, part in parts}
            beyond = {name: one for name, one in told.items() if one is not None}
            return value | beyond if beyond else None
    return None


def _beyond(value: Any) -> str | None:
    match value:
        case timedelta():
            return _beyond(value // _MICROSECOND)
        case int():
            return None if -(2**63) <= value < 2**63 else str(value)
        case Decimal():
            return None if len(value.as_tuple().digits) <= _DIGITS else str(value)
    return None
