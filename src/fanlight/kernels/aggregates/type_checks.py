"""Check that an aggregate fits the type of its column, and explain the error if it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.aggregates.arrow_numpy import dtype_of, is_moment
from fanlight.kernels.aggregates.decimal_sum import DIGITS
from fanlight.kernels.aggregates.hash64 import is_hashed
from fanlight.kernels.aggregates.min_max_arrow import ArrowOrder, is_ordered
from fanlight.kernels.aggregates.min_max_order import NumpyOrder
from fanlight.kernels.aggregates.over_messages import is_hashable, is_listable
from fanlight.kernels.aggregates.sorting import has_ranks

if TYPE_CHECKING:
    from fanlight.kernels.aggregates.min_max_order import Order
    from fanlight.model.aggregates import Aggregate

_ONE_FIELD = "Take one of its fields, or cast it to a number, a time, a string or binary."


def name_of(aggregate: Aggregate) -> str:
    """What messages call an aggregate."""
    return aggregate.__class__.__name__


def refusal(aggregate: Aggregate, kind: pa.DataType, why: str, remedy: str, column: str | None = None) -> InputError:
    """The error for a column that does not fit: its type, why it does not fit, and the remedy."""
    return InputError(f"{name_of(aggregate)}: `{column or aggregate.column}` is {kind}, {why}. {remedy}")


def order_of(aggregate: Aggregate, kind: pa.DataType, column: str | None = None, *, least: bool) -> Order:
    """The order of single values, or a refusal."""
    if dtype_of(kind) is not None:
        return NumpyOrder.of(kind, least=least)
    if is_ordered(kind):
        return ArrowOrder(kind, least)
    raise refusal(aggregate, kind, "whose values have no order", _ONE_FIELD, column)


def truth_of(aggregate: Aggregate, kind: pa.DataType, *, least: bool) -> Order:
    """The order of true and false, or a refusal."""
    if not pa.types.is_boolean(kind):
        remedy = "Make it a bool first, by a comparison such as `price > 0`."
        raise refusal(aggregate, kind, "which is neither true nor false", remedy)
    return NumpyOrder.of(kind, least=least)


def digits_of(aggregate: Aggregate, kind: Any) -> tuple[int, int]:
    """Precision and scale of decimals that can be summed, or a refusal."""
    if kind.precision > DIGITS:
        why = f"and a sum has the {DIGITS} digits of decimal128"
        raise refusal(aggregate, kind, why, f"Cast it to decimal128({DIGITS}, {min(kind.scale, DIGITS)}).")
    return kind.precision, kind.scale


def require_number(aggregate: Aggregate, kind: pa.DataType, column: str | None = None) -> None:
    """Refuse what is neither an integer, a float nor a decimal."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise not_a_number(aggregate, kind, column)


def require_ranks(aggregate: Aggregate, kind: pa.DataType, column: str | None = None) -> None:
    """Refuse a type without an order, of its own or field by field."""
    if not has_ranks(kind):
        raise refusal(aggregate, kind, "whose values have no order", _ONE_FIELD, column)


def require_keys(aggregate: Aggregate, kind: pa.DataType, column: str | None = None) -> None:
    """Refuse a type whose values cannot be compared and ordered: only single values, or structs of them, can."""
    require_ranks(aggregate, kind, column)
    if pa.types.is_struct(kind) and any(pa.types.is_struct(field.type) for field in kind):
        raise refusal(aggregate, kind, "a struct that contains structs", "Move their fields to the top level.", column)


def require_hashable(aggregate: Aggregate, kind: pa.DataType) -> None:
    """Refuse what Arrow cannot group by."""
    if not is_hashable(kind):
        remedy = "Count one of its fields, or cast it to string."
        raise refusal(aggregate, kind, "whose values Arrow cannot tell apart", remedy)


def require_hash(aggregate: Aggregate, kind: pa.DataType) -> None:
    """Refuse what is neither a number, a time, text nor bytes."""
    if not is_hashed(kind):
        raise refusal(aggregate, kind, "whose values have no hash", _ONE_FIELD)


def require_listable(aggregate: Aggregate, kind: pa.DataType) -> None:
    """Refuse what Arrow cannot put in another order."""
    if not is_listable(kind):
        raise refusal(aggregate, kind, "which Arrow cannot reorder", "Cast what it holds to plain types.")


def require_text(aggregate: Aggregate, kind: pa.DataType) -> None:
    """Refuse what is not text."""
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise refusal(aggregate, kind, "which is not text", "Cast it to string first.")


def not_a_number(aggregate: Aggregate, kind: pa.DataType, column: str | None = None) -> InputError:
    """The error for a column that cannot be added up."""
    if pa.types.is_boolean(kind):
        remedy = "Use count or any, or cast it to int64 to count what is true."
    elif is_moment(kind) or pa.types.is_duration(kind):
        remedy = "Cast it to int64, or use min, max, first or last."
    else:
        remedy = "Cast it to int64, float64 or decimal128, or use count."
    return refusal(aggregate, kind, "which is not a number", remedy, column)


def unknown(aggregate: Aggregate) -> InputError:
    """The error for an aggregate that has no reducer."""
    return InputError(
        f"{name_of(aggregate)}: nothing computes this aggregate on `{aggregate.column}`. "
        "Use one that fanlight names, or subclass UserAggregate."
    )
