"""Bind an aggregate to the type of its input: this chooses the reducer, or says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.aggregates.arg_min_max import Arguments
from fanlight.kernels.aggregates.by_value import MOST, KeyedPartials
from fanlight.kernels.aggregates.composite import CompositePart, Composites, CompositesOfMessages
from fanlight.kernels.aggregates.count_sum_mean import (
    CountRows,
    FloatSums,
    WholeSums,
    duration_means,
    float_means,
    whole_means,
)
from fanlight.kernels.aggregates.decimal_sum import DecimalSums, decimal_means
from fanlight.kernels.aggregates.decode import PlainMessages, PlainReducer
from fanlight.kernels.aggregates.distinct_sketch import Thetas
from fanlight.kernels.aggregates.first_last import Edges
from fanlight.kernels.aggregates.histogram import Histograms
from fanlight.kernels.aggregates.inputs import input_type
from fanlight.kernels.aggregates.join_text import JoinedTexts
from fanlight.kernels.aggregates.min_max_order import Extremes
from fanlight.kernels.aggregates.over_messages import DistinctCounts, Lists, Quantiles, Sorts
from fanlight.kernels.aggregates.sorting import has_ranks, sorts
from fanlight.kernels.aggregates.top_n import Tops
from fanlight.kernels.aggregates.top_of_keys import GreatestFew, KeysInOrder, MostFrequent
from fanlight.kernels.aggregates.top_rows import RowTops
from fanlight.kernels.aggregates.type_checks import (
    digits_of,
    name_of,
    not_a_number,
    order_of,
    refusal,
    require_hash,
    require_hashable,
    require_keys,
    require_listable,
    require_number,
    require_ranks,
    require_text,
    truth_of,
    unknown,
)
from fanlight.kernels.aggregates.user_class import UserStates
from fanlight.kernels.aggregates.user_fold import Folds, Reduces
from fanlight.kernels.aggregates.variance import Moments
from fanlight.kernels.aggregates.variance_exact import WholeMoments, has_whole_moments
from fanlight.kernels.aggregates.weighted_mean import WeightedMeans
from fanlight.kernels.plain_type import plain_type
from fanlight.model.aggregates import (
    Aggregate,
    AllTrue,
    AnyTrue,
    ApproxCountDistinct,
    ApproxQuantile,
    ArgMax,
    ArgMin,
    Avg,
    Composite,
    Count,
    CountDistinct,
    Distinct,
    First,
    HeavyHitters,
    Histogram,
    JoinedText,
    Last,
    Listed,
    Max,
    Min,
    Mode,
    Quantile,
    Sorted,
    StdDev,
    Sum,
    Top,
    TopByKey,
    UserAggregate,
    UserFold,
    UserReduce,
    Variance,
    WeightedAvg,
)
from fanlight.model.aggregates.ranked import TopRows

if TYPE_CHECKING:
    from fanlight.kernels.reducer import MessageReducer, Reducer


def bind(aggregate: Aggregate, kind: pa.DataType | None) -> Reducer | MessageReducer:
    """The reducer of `aggregate` over a column of `kind`: a MessageReducer if it needs the messages, else a Reducer.

    An aggregate on several columns gets one column of structs, with a field for each; `kind` is None only for one that
    reads no column, such as a count of records.
    """
    if isinstance(aggregate, Composite):
        return _composite(aggregate, kind)
    if kind is None:
        if isinstance(aggregate, Count) and aggregate.column is None:
            return CountRows()
        raise InputError(
            f"{name_of(aggregate)}: `{aggregate.column}` has no type, because no column is called so; there is nothing "
            "to work on. Name a column of the input."
        )
    if pa.types.is_run_end_encoded(kind):
        raise refusal(aggregate, kind, "runs, not values", "Decode it with pyarrow.compute.run_end_decode.")
    plain = plain_type(kind)
    if aggregate.needs_messages:
        messages = _over_messages(aggregate, plain)
        return messages if plain == kind else PlainMessages(messages, plain)
    reducer = _incremental(aggregate, plain)
    return reducer if plain == kind else PlainReducer(reducer, plain)


def _composite(aggregate: Composite, kind: pa.DataType | None) -> Reducer | MessageReducer:
    columns = aggregate.columns
    fields = list(kind or ()) if len(columns) > 1 else [pa.field(column, kind) for column in columns]
    given = pa.schema(fields)
    parts = tuple(
        CompositePart(name, bind(part, input_type(part.columns, given)), part.columns) for name, part in aggregate.parts
    )
    return CompositesOfMessages(parts, columns) if aggregate.needs_messages else Composites(parts, columns)


def _incremental(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    match aggregate:
        case UserAggregate() | UserFold():
            return UserStates(aggregate)
        case Count():
            return CountRows()
        case Sum():
            return _sums(aggregate, kind)
        case Avg():
            return _means(aggregate, kind)
        case Min():
            return Extremes("min", order_of(aggregate, kind, least=True))
        case Max():
            return Extremes("max", order_of(aggregate, kind, least=False))
        case First():
            return Edges.of(order_of(aggregate, kind, least=True), first=True)
        case Last():
            return Edges.of(order_of(aggregate, kind, least=False), first=False)
        case AnyTrue():
            return Extremes("any", truth_of(aggregate, kind, least=False))
        case AllTrue():
            return Extremes("all", truth_of(aggregate, kind, least=True))
        case Variance() | StdDev():
            return _moments(aggregate, kind)
    return _by_value(aggregate, kind)


def _by_value(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    match aggregate:
        case Distinct():
            require_keys(aggregate, kind)
            return KeyedPartials(kind, CountRows(), KeysInOrder(kind))
        case Mode():
            require_keys(aggregate, kind)
            return KeyedPartials(kind, CountRows(), MostFrequent(kind))
        case Histogram():
            require_number(aggregate, kind)
            return Histograms(aggregate.edges)
        case TopRows():
            return _row_tops(aggregate, kind)
        case ApproxCountDistinct() | ApproxQuantile() | HeavyHitters():
            return _sketch(aggregate, kind)
    return _paired(aggregate, kind)


def _sketch(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    match aggregate:
        case ApproxCountDistinct():
            require_hash(aggregate, kind)
            return Thetas()
        case HeavyHitters():
            require_keys(aggregate, kind)
            best = GreatestFew(pa.field("value", kind), pa.field("count", pa.int64()), aggregate.n)
            return KeyedPartials(kind, CountRows(), best, most=max(MOST, 4 * aggregate.n))
    assert isinstance(aggregate, ApproxQuantile)
    require_number(aggregate, kind)
    # Only sketches need DataSketches: a worker without it can compute everything else.
    from fanlight.kernels.aggregates.quantile_sketch import Digests

    return Digests(aggregate.q)


def _paired(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    """The reducer of an aggregate over two columns: `kind` has a field for each."""
    match aggregate:
        case WeightedAvg():
            for field in kind:
                require_number(aggregate, field.type, field.name)
            return WeightedMeans()
        case ArgMin() | ArgMax():
            value, by = kind
            least = isinstance(aggregate, ArgMin)
            require_ranks(aggregate, value.type, value.name)
            return Arguments(value.type, order_of(aggregate, by.type, by.name, least=least), least)
        case TopByKey():
            key, value = kind
            require_keys(aggregate, key.type, key.name)
            last = Edges.of(order_of(aggregate, value.type, value.name, least=False), first=False)
            return KeyedPartials(key.type, last, GreatestFew(key, value, aggregate.n), of_values=True)
    raise unknown(aggregate)


def _over_messages(aggregate: Aggregate, kind: pa.DataType) -> MessageReducer:
    match aggregate:
        case Listed():
            require_listable(aggregate, kind)
            return Lists(kind, aggregate.by_arrival, sorts(kind))
        case Sorted():
            require_ranks(aggregate, kind)
            return Sorts(kind, aggregate.descending)
        case Quantile():
            require_number(aggregate, kind)
            return Quantiles(aggregate.q)
        case CountDistinct():
            require_hashable(aggregate, kind)
            return DistinctCounts()
        case Top():
            return _tops(aggregate, kind)
        case JoinedText():
            require_text(aggregate, kind)
            return JoinedTexts(kind, aggregate.separator)
        case UserFold():
            require_listable(aggregate, kind)
            return Folds(aggregate, kind)
        case UserReduce():
            require_listable(aggregate, kind)
            return Reduces(aggregate, kind)
    raise unknown(aggregate)


def _tops(aggregate: Top, kind: pa.DataType) -> MessageReducer:
    if aggregate.by is None:
        order_of(aggregate, kind, least=False)
        return Tops(kind, aggregate.n, None)
    if not pa.types.is_struct(kind):
        remedy = f"Leave `by` ({aggregate.by!r}) out, or name a column of structs."
        raise refusal(aggregate, kind, "which has no fields to go by", remedy)
    names = [field.name for field in kind]
    if aggregate.by not in names:
        raise refusal(aggregate, kind, f"without a field {aggregate.by!r}", f"Go by one of {', '.join(names)}.")
    order_of(aggregate, kind.field(aggregate.by).type, least=False)
    return Tops(kind, aggregate.n, aggregate.by)


def _row_tops(aggregate: TopRows, kind: pa.DataType) -> Reducer:
    names = [field.name for field in kind]
    for by in aggregate.order:
        if by.column not in names:
            raise InputError(
                f"top: `by` names the column {by.column!r}, and there is none. Go by one of {', '.join(names)}."
            )
        of = kind.field(by.column).type
        if pa.types.is_null(of):
            raise InputError(
                f"top: `by` names the column {by.column!r}, which has had no value yet, and so has no type. "
                "Say it in the `schema` of the stream."
            )
        if not has_ranks(of) or pa.types.is_nested(of):
            raise InputError(
                f"top: `by` names the column {by.column!r}, which is {of}, whose values have no order. "
                "Go by another one, or by a number, a time or a text made from it with select(…)."
            )
    require_listable(aggregate, kind)
    return RowTops(kind, aggregate.n, aggregate.order)


def _sums(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    if pa.types.is_integer(kind):
        return WholeSums(pa.int64())
    if pa.types.is_duration(kind):
        return WholeSums(kind)
    if pa.types.is_floating(kind):
        return FloatSums()
    if pa.types.is_decimal(kind):
        return DecimalSums(digits_of(aggregate, kind)[1])
    raise not_a_number(aggregate, kind)


def _means(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    if pa.types.is_integer(kind):
        return whole_means()
    if pa.types.is_duration(kind):
        return duration_means(kind)
    if pa.types.is_floating(kind):
        return float_means()
    if pa.types.is_decimal(kind):
        return decimal_means(*digits_of(aggregate, kind))
    raise not_a_number(aggregate, kind)


def _moments(aggregate: Variance | StdDev, kind: pa.DataType) -> Reducer:
    require_number(aggregate, kind)
    root = isinstance(aggregate, StdDev)
    if has_whole_moments(kind):
        return WholeMoments(aggregate.population, root, kind.scale if pa.types.is_decimal(kind) else 0)
    return Moments(aggregate.population, root)
