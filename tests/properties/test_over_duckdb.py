"""`over` against DuckDB: what both have gives the same values, computed by the oracle and by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    DenseRank,
    Lag,
    LastValue,
    Lead,
    NthValue,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed, OrderBy, OverSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.overs import (
    FunctionOver,
    can_be_kept,
    forgets,
    needs_forget,
    range_frames,
    row_frames,
    row_functions,
)
from fanlight.testing.strategies.specs import among

from .laws import ROUNDING, patient
from .over_runs import by_law, embedded

pytestmark = pytest.mark.slow

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "ts": pa.int64(),
        "k": pa.string(),
        "v": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "d": pa.decimal128(9, 2),
        "b": pa.bool_(),
    }
)
VALUES = ("ts", "k", "v", "f", "s", "d", "b")

SQL: dict[Aggregate, str] = {
    agg.count(): "count(*) OVER w",
    agg.count("s"): "count(s) OVER w",
    agg.sum("v"): "sum(v) OVER w",
    agg.sum("f"): "sum(f) OVER w",
    agg.sum("d"): "sum(d) OVER w",
    agg.avg("v"): "avg(v) OVER w",
    agg.avg("f"): "avg(f) OVER w",
    agg.min("v"): "min(v) OVER w",
    agg.min("s"): "min(s) OVER w",
    agg.min("d"): "min(d) OVER w",
    agg.min("f"): "min(f) OVER w",
    agg.max("v"): "max(v) OVER w",
    agg.max("s"): "max(s) OVER w",
    agg.max("f"): "max(f) OVER w",
    agg.variance("v"): "var_samp(v) OVER w",
    agg.variance("f", population=True): "var_pop(f) OVER w",
    agg.stddev("v"): "stddev_samp(v) OVER w",
    agg.any("b"): "bool_or(b) OVER w",
    agg.all("b"): "bool_and(b) OVER w",
    agg.median("v"): "quantile_cont(v::DOUBLE, 0.5) OVER w",
    agg.median("f"): "quantile_cont(f, 0.5) OVER w",
    agg.quantile("v", 0.25): "quantile_cont(v::DOUBLE, 0.25) OVER w",
    agg.count_distinct("v"): "count(DISTINCT v) OVER w",
    agg.count_distinct("s"): "count(DISTINCT s) OVER w",
    agg.sorted("v"): "coalesce(list_sort(list(v) FILTER (v IS NOT NULL) OVER w), [])",
    agg.distinct("s"): "coalesce(list_sort(list(DISTINCT s) FILTER (s IS NOT NULL) OVER w), [])",
    agg.top("v", 2): "coalesce(list_reverse_sort(list(v) FILTER (v IS NOT NULL) OVER w)[:2], [])",
}
"""Aggregates that both have, as DuckDB writes them; lists are put in order afterwards."""

rows = st.fixed_dictionaries(
    {
        "ts": st.integers(-6, 12),
        "k": st.sampled_from(["a", "b", None]),
        "v": st.none() | st.integers(-4, 9),
        "f": st.sampled_from([0.25, -1.5, 2.0, 7.75, None]),
        "s": st.sampled_from(["", "a", "ab", "B", None]),
        "d": st.none() | st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
        "b": st.sampled_from([True, False, None]),
    }
)
tables = st.lists(rows, max_size=16).map(lambda some: [{"id": place, **row} for place, row in enumerate(some)])
"""Rows with nulls and ties; `id` is their place, so that an order which leaves ties is settled by it."""


@st.composite
def specs(draw: st.DrawFn) -> OverSpec:
    """A spec that DuckDB can compute."""
    frame: SearchStrategy[Frame] = among(row_frames(), range_frames())
    function: SearchStrategy[RowFunction | Aggregate] = among(
        st.sampled_from([*SQL]), row_functions(VALUES).filter(is_in_sql)
    )
    columns = draw(st.lists(st.tuples(frame, function).filter(can_be_kept), min_size=1, max_size=3))
    named = tuple((f"c{place}", *one) for place, one in enumerate(columns))
    by = draw(st.lists(st.sampled_from(["v", "s", "d", "f", "id"]), max_size=2, unique=True))
    order = tuple(OrderBy(name, draw(st.booleans())) for name in by)
    forget = draw(forgets(needed=any(needs_forget(Computed(*one)) for one in named)))
    keys = draw(st.sampled_from([("k",), ("k",), (), ("k", "b")]))
    return OverSpec("ts", named, keys=keys, order=order, forget=forget, watermark=Explicit())


def is_in_sql(function: RowFunction) -> bool:
    """Without nulls, the row that is none before or after is the row itself to us, and nothing that SQL speaks of.

    Nor does it say how far away the next row may be.
    """
    if isinstance(function, Lead) and function.within is not None:
        return False
    return not (isinstance(function, Lag | Lead) and function.offset == 0 and function.ignore_nulls)


@patient
@given(tables, specs())
def test_what_both_have_is_the_same(table: list[Record], spec: OverSpec) -> None:
    assert_same_as_in_duckdb(table, spec)


@pytest.mark.parametrize("function", SQL, ids=SQL.values())
def test_every_aggregate_over_every_kind_of_frame(function: Aggregate) -> None:
    """Forty rows of two keys and of none, with ties and nulls."""
    frames: list[Frame] = [
        RowFrame(False, 2),
        RowFrame(True, 1, 2),
        RowFrame(False, None, 1),
        RangeFrame(False, Duration(3)),
        RangeFrame(True, Duration(2), Duration(2)),
        RangeFrame(False, Duration.FOREVER),
        RowFrame(False, 3, -1),
        RowFrame(True, -1, 2),
        RowFrame(False, None, -2),
        RowFrame(False, 1, -3),
        RangeFrame(False, Duration(6), Duration(-2)),
        RangeFrame(False, Duration(-1), Duration(5)),
        RangeFrame(True, Duration.FOREVER, Duration(-3)),
    ]
    possible: list[FunctionOver] = [one for frame in frames if can_be_kept(one := (frame, function))]
    columns = tuple((f"c{place}", *one) for place, one in enumerate(possible))
    table: list[Record] = [
        {
            "id": n,
            "ts": n * 7 % 19,
            "k": ("a", "b", None)[n % 3],
            "v": None if n % 5 == 0 else n * 11 % 13 - 6,
            "f": None if n % 7 == 0 else (n * 5 % 17 - 8) / 4,
            "s": None if n % 6 == 0 else "abcab"[n % 5 :],
            "d": None if n % 4 == 0 else Decimal(n * 37 % 101 - 50).scaleb(-2),
            "b": (True, False, None)[n * 5 % 7 % 3],
        }
        for n in range(40)
    ]
    spec = OverSpec("ts", columns, keys=("k",), forget=Duration.FOREVER, watermark=Explicit())
    assert_same_as_in_duckdb(table, spec)


def assert_same_as_in_duckdb(table: Sequence[Record], spec: OverSpec) -> None:
    """The oracle and the engine, given the whole table, say what DuckDB says, in the same order."""
    query = sql(spec)
    database().register("input", pa.Table.from_pylist([*map(dict, table)], schema=SCHEMA))
    right = database().sql(query).to_arrow_table().to_pylist()
    steps = [Step(records=tuple(table)), Step(end=True)]
    for who, outcomes in (("oracle", by_law(spec, steps)), ("engine", embedded(spec, steps, SCHEMA))):
        found = [row for outcome in outcomes for row in outcome.rows]
        assert len(found) == len(right)
        for mine, row in zip(found, right, strict=True):
            assert same(mine, row, tolerance=ROUNDING), f"{who}: {mine}\nduckdb: {row}\n{query}"


@cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def sql(spec: OverSpec) -> str:
    """The query of a spec: stretches are numbered first, and are part of the key from then on."""
    order = ", ".join(["ts", *map(ordered, spec.order), "id"])
    rows = f"PARTITION BY {', '.join([*spec.keys, '1'])} ORDER BY {order}"
    never = spec.forget is None or spec.forget.is_forever
    starts = "false" if spec.forget is None or never else f"ts - lag(ts) OVER ({rows}) > {spec.forget.micros}"
    columns = [f"{_expression(one, spec)} AS {one.name}" for one in spec.new_columns]
    return (
        f"WITH cut AS (SELECT *, coalesce({starts}, false)::INT AS starts FROM input),\n"
        f"numbered AS (SELECT *, sum(starts) OVER ({rows}) AS stretch FROM cut)\n"
        f"SELECT {', '.join([*SCHEMA.names, *columns])} FROM numbered ORDER BY {order}"
    )


def _expression(one: Computed, spec: OverSpec) -> str:
    """A new column.

    RANGE allows one column to order by, so functions that take a row of a frame say its order themselves. Rows of one
    time are peers.
    """
    keys, order = ", ".join([*spec.keys, "stretch"]), ", ".join(["ts", *map(ordered, spec.order), "id"])
    by = "ts" if isinstance(one.frame, RangeFrame) else order
    in_frame = f"(PARTITION BY {keys} ORDER BY {by} {framed(one.frame)})"
    whole = f"(PARTITION BY {keys} ORDER BY {order})"
    function = one.function
    nulls = " IGNORE NULLS" if isinstance(function, ColumnFunction) and function.ignore_nulls else ""
    match function:
        case Aggregate():
            return SQL[function].replace("OVER w", f"OVER {in_frame}")
        case RowNumber():
            return f"row_number() OVER {whole}"
        case Rank():
            return f"rank() OVER (PARTITION BY {keys} ORDER BY ts)"
        case DenseRank():
            return f"dense_rank() OVER (PARTITION BY {keys} ORDER BY ts)"
        case Lag(column=column, offset=offset):
            return f"lag({column}, {offset}{nulls}) OVER {whole}"
        case Lead(column=column, offset=offset):
            return f"lead({column}, {offset}{nulls}) OVER {whole}"
        case NthValue(column=column, offset=n):
            return f"nth_value({column}, {n} ORDER BY {order}{nulls}) OVER {in_frame}"
        case LastValue(column=column):
            return f"last_value({column} ORDER BY {order}{nulls}) OVER {in_frame}"
    raise AssertionError(f"{function!r} has no words in SQL")


def framed(frame: Frame) -> str:
    """A frame in SQL, which refuses some of those that end before they start: one that it takes stands for all."""
    if isinstance(frame, RowFrame):
        word, before, after = "ROWS", frame.preceding, frame.following
    else:
        assert isinstance(frame, RangeFrame)
        word, before = "RANGE", None if frame.is_unbounded else frame.preceding.micros
        after = None if frame.is_endless else frame.following.micros
    if frame.is_empty:
        before, after = 1, -2
    start = "UNBOUNDED PRECEDING" if before is None else _bound(-before)
    end = "UNBOUNDED FOLLOWING" if after is None else _bound(after)
    if after is not None and before is not None and before < 0 and after <= 0:
        end = "0 FOLLOWING"
    elif before == 0 and after is not None and after < 0:
        start = "0 PRECEDING"
    return f"{word} BETWEEN {start} AND {end} {'EXCLUDE CURRENT ROW' if frame.excludes_current else ''}"


def _bound(after: int) -> str:
    if not after:
        return "CURRENT ROW"
    return f"{abs(after)} {'PRECEDING' if after < 0 else 'FOLLOWING'}"


def ordered(by: OrderBy) -> str:
    return f"{by.column} {'DESC' if by.descending else 'ASC'} NULLS LAST"
