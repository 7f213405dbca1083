"""Find Python values that Arrow has changed: where a type has no fractions, it cuts them off without an error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def may_lose(kind: pa.DataType) -> bool:
    """Whether Arrow can lose a part of a value of `kind` without an error. Of text, for example, it cannot.

    >>> may_lose(pa.string()), may_lose(pa.list_(pa.int64()))
    (False, True)
    """
    if pa.types.is_nested(kind):
        return any(may_lose(kind.field(place).type) for place in range(kind.num_fields)) or pa.types.is_struct(kind)
    is_narrow = pa.types.is_floating(kind) and kind.bit_width < 64
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind) or is_narrow)


def first_lost(given: Iterable[Any], kept: pa.Array) -> tuple[Any, Any] | None:
    """The first given value that was not kept exactly, and what it became; None if all were.

    >>> first_lost([1.0, 1.2], pa.array([1, 1]))
    (1.2, 1)
    """
    pairs = zip(given, kept.to_pylist(), strict=True)
    return next(((value, back) for value, back in pairs if is_lost(value, back, kept.type)), None)


def is_lost(given: Any, kept: Any, kind: pa.DataType) -> bool:
    """Whether `kept`, of type `kind`, differs from `given`. A float32 may be the nearest to a float64."""
    if given is None or kept is None:
        return False
    if pa.types.is_floating(kind):
        return math.isinf(kept) and not math.isinf(given)
    if pa.types.is_temporal(kind):
        return _moment_is_lost(given, kept)
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        own: Any = given if isinstance(given, Mapping) else dict(given)
        strange = any(own[name] is not None and name not in kept for name in own)
        return strange or any(is_lost(own.get(field.name), kept[field.name], field.type) for field in fields)
    if pa.types.is_map(kind):
        pairs = zip(given.items() if isinstance(given, Mapping) else given, kept, strict=True)
        sides = (kind.key_type, kind.item_type)
        return any(is_lost(one[side], back[side], sides[side]) for one, back in pairs for side in (0, 1))
    if any(is_one(kind) for is_one in _LISTS):
        return any(is_lost(one, back, kind.field(0).type) for one, back in zip(given, kept, strict=True))
    return pa.types.is_integer(kind) and bool(given != kept)


def _moment_is_lost(given: Any, kept: Any) -> bool:
    if isinstance(given, int | float):
        return given != math.floor(given)
    if isinstance(given, datetime) and not isinstance(kept, datetime) and isinstance(kept, date):
        return given != datetime(kept.year, kept.month, kept.day, tzinfo=given.tzinfo)
    if isinstance(given, datetime) and isinstance(kept, datetime):
        return _in_utc(given) != _in_utc(kept)
    return bool(given != kept)


def _in_utc(moment: datetime) -> datetime:
    """An instant with its zone; one without a zone is UTC, as in Arrow."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
