"""An aggregate and the type of its column, bound to what computes it; or a message that says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.reducers.arrow import ArrowOrder, is_ordered
from fanlight.kernels.reducers.decimals import WIDEST, DecimalSums, decimal_means
from fanlight.kernels.reducers.edges import Edges
from fanlight.kernels.reducers.messages import DistinctCounts, Lists, Quantiles, is_hashable, is_listable
from fanlight.kernels.reducers.moments import Moments
from fanlight.kernels.reducers.numeric import Counts, FloatSums, WholeSums, duration_means, float_means, whole_means
from fanlight.kernels.reducers.order import Extremes, NumpyOrder
from fanlight.kernels.reducers.plain import PlainMessages, PlainReducer, plain_type
from fanlight.kernels.reducers.sorting import sorts
from fanlight.kernels.reducers.tops import Tops
from fanlight.kernels.reducers.user import UserStates
from fanlight.kernels.reducers.values import dtype_of, is_moment
from fanlight.model.aggregates import (
    Aggregate,
    AllTrue,
    AnyTrue,
    Avg,
    Count,
    CountDistinct,
    First,
    Last,
    Listed,
    Max,
    Min,
    Quantile,
    StdDev,
    Sum,
    Top,
    UserAggregate,
    Variance,
)

if TYPE_CHECKING:
    from fanlight.kernels.reducers.order import Order
    from fanlight.kernels.reducers.reducer import MessageReducer, Reducer


def bind(aggregate: Aggregate, kind: pa.DataType | None) -> Reducer | MessageReducer:
    """What computes `aggregate` over a column of `kind`: a MessageReducer if it needs the messages, else a Reducer.

    `kind` is None only for a count of records, which reads no column.
    """
    if kind is None:
        if isinstance(aggregate, Count) and aggregate.column is None:
            return Counts()
        raise InputError(
            f"{_name(aggregate)}: `{aggregate.column}` has no type, because no column is called so; there is nothing "
            "to work on. Name a column of the input."
        )
    if pa.types.is_run_end_encoded(kind):
        raise _refusal(aggregate, kind, "runs, not values", "Decode it with pyarrow.compute.run_end_decode.")
    plain = plain_type(kind)
    if aggregate.needs_messages:
        messages = _over_messages(aggregate, plain)
        return messages if plain == kind else PlainMessages(messages, plain)
    reducer = _incremental(aggregate, plain)
    return reducer if plain == kind else PlainReducer(reducer, plain)


def _incremental(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    match aggregate:
        case UserAggregate():
            return UserStates(aggregate)
        case Count():
            return Counts()
        case Sum():
            return _sums(aggregate, kind)
        case Avg():
            return _means(aggregate, kind)
        case Min():
            return Extremes("min", _order(aggregate, kind, least=True))
        case Max():
            return Extremes("max", _order(aggregate, kind, least=False))
        case First():
            return Edges.of(_order(aggregate, kind, least=True), first=True)
        case Last():
            return Edges.of(_order(aggregate, kind, least=False), first=False)
        case AnyTrue():
            return Extremes("any", _truth(aggregate, kind, least=False))
        case AllTrue():
            return Extremes("all", _truth(aggregate, kind, least=True))
        case Variance() | StdDev():
            _require_number(aggregate, kind)
            return Moments(aggregate.population, root=isinstance(aggregate, StdDev))
    raise _unknown(aggregate)


def _over_messages(aggregate: Aggregate, kind: pa.DataType) -> MessageReducer:
    match aggregate:
        case Listed():
            if not is_listable(kind):
                raise _refusal(aggregate, kind, "which Arrow cannot reorder", "Cast what it holds to plain types.")
            return Lists(kind, aggregate.by_arrival, sorts(kind))
        case Quantile():
            _require_number(aggregate, kind)
            return Quantiles(aggregate.q)
        case CountDistinct():
            if not is_hashable(kind):
                remedy = "Count one of its fields, or cast it to string."
                raise _refusal(aggregate, kind, "whose values Arrow cannot tell apart", remedy)
            return DistinctCounts()
        case Top():
            return _tops(aggregate, kind)
    raise _unknown(aggregate)


def _tops(aggregate: Top, kind: pa.DataType) -> MessageReducer:
    if aggregate.by is None:
        _order(aggregate, kind, least=False)
        return Tops(kind, aggregate.n, None)
    if not pa.types.is_struct(kind):
        remedy = f"Leave `by` ({aggregate.by!r}) out, or name a column of structs."
        raise _refusal(aggregate, kind, "which has no fields to go by", remedy)
    names = [field.name for field in kind]
    if aggregate.by not in names:
        raise _refusal(aggregate, kind, f"without a field {aggregate.by!r}", f"Go by one of {', '.join(names)}.")
    _order(aggregate, kind.field(aggregate.by).type, least=False)
    return Tops(kind, aggregate.n, aggregate.by)


def _sums(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    name, column = _name(aggregate), str(aggregate.column)
    if pa.types.is_integer(kind):
        return WholeSums(name, column, pa.int64())
    if pa.types.is_duration(kind):
        return WholeSums(name, column, kind)
    if pa.types.is_floating(kind):
        return FloatSums()
    if pa.types.is_decimal(kind):
        return DecimalSums(name, column, _scale(aggregate, kind))
    raise _not_a_number(aggregate, kind)


def _means(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    name, column = _name(aggregate), str(aggregate.column)
    if pa.types.is_integer(kind):
        return whole_means(name, column)
    if pa.types.is_duration(kind):
        return duration_means(name, column, kind)
    if pa.types.is_floating(kind):
        return float_means()
    if pa.types.is_decimal(kind):
        return decimal_means(name, column, _scale(aggregate, kind))
    raise _not_a_number(aggregate, kind)


def _scale(aggregate: Aggregate, kind: Any) -> int:
    if kind.precision > WIDEST:
        why = f"whose sum may need more than the 38 digits there are; {WIDEST} are allowed"
        raise _refusal(aggregate, kind, why, f"Cast it to decimal128({WIDEST}, {min(kind.scale, WIDEST)}).")
    scale: int = kind.scale
    return scale


def _order(aggregate: Aggregate, kind: pa.DataType, *, least: bool) -> Order:
    if dtype_of(kind) is not None:
        return NumpyOrder.of(kind, least=least)
    if is_ordered(kind):
        return ArrowOrder(kind, least)
    remedy = "Take one of its fields, or cast it to a number, a time, a string or binary."
    raise _refusal(aggregate, kind, "whose values have no order", remedy)


def _truth(aggregate: Aggregate, kind: pa.DataType, *, least: bool) -> Order:
    if not pa.types.is_boolean(kind):
        remedy = "Make it a bool first, by a comparison such as `price > 0`."
        raise _refusal(aggregate, kind, "which is neither true nor false", remedy)
    return NumpyOrder.of(kind, least=least)


def _require_number(aggregate: Aggregate, kind: pa.DataType) -> None:
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise _not_a_number(aggregate, kind)


def _not_a_number(aggregate: Aggregate, kind: pa.DataType) -> InputError:
    if pa.types.is_boolean(kind):
        remedy = "Use count or any, or cast it to int64 to count what is true."
    elif is_moment(kind) or pa.types.is_duration(kind):
        remedy = "Cast it to int64, or use min, max, first or last."
    else:
        remedy = "Cast it to int64, float64 or decimal128, or use count."
    return _refusal(aggregate, kind, "which is not a number", remedy)


def _refusal(aggregate: Aggregate, kind: pa.DataType, why: str, remedy: str) -> InputError:
    return InputError(f"{_name(aggregate)}: `{aggregate.column}` is {kind}, {why}. {remedy}")


def _unknown(aggregate: Aggregate) -> InputError:
    return InputError(
        f"{_name(aggregate)}: nothing computes this aggregate on `{aggregate.column}`. "
        "Use one that fanlight names, or subclass UserAggregate."
    )


def _name(aggregate: Aggregate) -> str:
    return aggregate.__class__.__name__
