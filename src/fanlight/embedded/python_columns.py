"""Convert Python values to one column: all exactly, or those that fit, with a note of the others."""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.operators.ingest.conform import Faults, kind_of

REFUSALS = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""The exceptions of Arrow for values that do not make a column."""


def column_of(name: str, values: list[Any], kind: pa.DataType | None, position: int) -> pa.Array[Any]:
    """One field of all records as a column of type `kind`; of their own type, if none is settled yet."""
    if kind is not None and pa.types.is_null(kind):
        kind = None
    try:
        column: Any = _converted(values, kind)
    except REFUSALS as problem:
        place = _first_refused(values, kind)
        value = values[place]
        before = _inferred(values[:place]).type if kind is None else kind
        why = "no column holds such a value" if pa.types.is_null(before) else f"the column is {before}"
        raise InputError(
            f"record {position + place}: the field {name!r} is {reprlib.repr(value)} ({type(value).__name__}), but "
            f"{why}; it cannot be kept as it is. Convert the value, or say the type of {name!r} in `schema`."
        ) from problem
    return _in_one_piece(name, column, position)


def column_of_fitting(
    name: str, values: list[Any], kind: pa.DataType | None, position: int, faults: Faults
) -> pa.Array[Any]:
    """The same, but values that do not fit become null and are noted.

    Where no type is settled yet, the first value that has one says what kind of thing the column holds.
    """
    if kind is not None and pa.types.is_null(kind):
        kind = None
    try:
        return _in_one_piece(name, _converted(values, kind), position)
    except REFUSALS:
        settled = _settled(values) if kind is None else kind
    fitting = [_fitting(value, settled) for value in values]
    for row, (value, fit) in enumerate(zip(values, fitting, strict=True)):
        if fit is None and value is not None:
            faults.note(row, name, value, settled)
    return _in_one_piece(name, pa.array(fitting, settled), position)


def _in_one_piece(name: str, column: Any, position: int) -> pa.Array[Any]:
    if isinstance(column, pa.ChunkedArray):
        raise InputError(
            f"record {position} and the {len(column) - 1} after it: the field {name!r} has more than 2 GB in them, too "
            "much for one batch. Use smaller `rows`, or large_string or large_binary in `schema`."
        )
    whole: pa.Array[Any] = column
    return whole


def _settled(values: list[Any]) -> pa.DataType:
    """The type of those values that are the same kind of thing as the first that is any."""
    kinds = [_kind(value) for value in values]
    first = next((kind for kind in kinds if kind is not None), None)
    alike = [value for value, kind in zip(values, kinds, strict=True) if kind == first]
    try:
        return _inferred(alike).type
    except REFUSALS:
        return _inferred(alike[: _first_refused(alike, None)]).type


def _kind(value: Any) -> str | None:
    """What kind of thing a value is; None if it is null, or nothing that a column holds."""
    try:
        own = _inferred([value]).type
    except REFUSALS:
        return None
    return None if pa.types.is_null(own) else kind_of(own)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """A value that a column of `kind` keeps as it is; None if it does not."""
    if pa.types.is_integer(kind) and isinstance(value, (float, Decimal)) and value == value // 1:
        value = int(value)
    try:
        _converted([value], kind)
    except REFUSALS:
        return None
    return value


def _converted(values: list[Any], kind: pa.DataType | None) -> pa.Array[Any]:
    """Let Arrow convert, but refuse where it would silently cut something off, as 2.5 to 2."""
    try:
        own = _inferred(values)
    except REFUSALS:
        if kind is None:
            raise
        # no common type of their own, as for numbers beyond int64; so each is looked at by itself
        if len(values) > 1:
            for value in values:
                _converted([value], kind)
        return pa.array(values, kind)
    if kind is None or own.type == kind:
        return own
    if _cuts(own.type, kind):
        raise TypeError(f"{own.type} does not fit into {kind}")
    if pa.types.is_temporal(own.type) and pa.types.is_temporal(kind):
        own.cast(kind)
    return pa.array(values, kind)


def _inferred(values: list[Any]) -> pa.Array[Any]:
    own: pa.Array[Any] = pa.array(values)
    if pa.types.is_date(own.type) and any(isinstance(value, datetime) for value in values):
        raise TypeError("a point in time among dates would lose its time of day")
    if pa.types.is_timestamp(own.type) and any(isinstance(value, int) for value in values):
        raise TypeError("a whole number among points in time does not say what it counts")
    return own


def _cuts(own: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow converts values of type `own` to `kind` only by cutting something off."""
    if pa.types.is_integer(kind):
        return bool(pa.types.is_floating(own) or pa.types.is_decimal(own))
    if pa.types.is_floating(kind):
        return bool(pa.types.is_boolean(own))
    if pa.types.is_date(kind):
        return bool(pa.types.is_timestamp(own))
    if pa.types.is_timestamp(kind):
        return bool(pa.types.is_integer(own))  # which does not say what it counts
    if isinstance(kind, pa.StructType) and isinstance(own, pa.StructType):
        return any(kind.get_field_index(f.name) < 0 or _cuts(f.type, kind.field(f.name).type) for f in own)
    if isinstance(kind, (pa.ListType, pa.LargeListType)) and isinstance(own, pa.ListType):
        return _cuts(own.value_type, kind.value_type)
    return False


def _first_refused(values: list[Any], kind: pa.DataType | None) -> int:
    """The place of the first value that does not fit."""

    def is_refused(length: int) -> bool:
        try:
            _converted(values[:length], kind)
        except REFUSALS:
            return True
        return False

    return bisect_left(range(1, len(values) + 1), True, key=is_refused)
