"""`over` inside windows against DuckDB: partitions of key and window, in any order, with the same values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fanlight.model.aggregates import Aggregate
from fanlight.model.aggregates import list as gathered
from fanlight.model.over.frame import RangeFrame, SessionFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    CumeDist,
    DenseRank,
    Lag,
    LastValue,
    Lead,
    NthValue,
    NTile,
    PercentRank,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed, OrderBy
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtExpiry
from fanlight.model.windows.hopping import Hopping
from fanlight.testing.graph_player import play_chain
from fanlight.testing.oracle import windowed_over  # noqa: F401 -- registers its stage
from fanlight.testing.oracle.graph import run_graph
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.specs import among
from fanlight.testing.strategies.windowed_overs import ROWS, partition_frames, partition_functions

from .laws import ROUNDING, patient
from .test_over_duckdb import SCHEMA, SQL, VALUES, database, framed, is_in_sql, ordered, row_functions, tables

pytestmark = pytest.mark.slow

WITH_ROW = SCHEMA.append(pa.field("row", pa.struct(list(SCHEMA))))
SIZE = Duration(8)


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[WindowSpec, WindowedOverSpec]:
    """Windows that overlap or not, and what DuckDB can compute of them."""
    keys = draw(st.sampled_from([("k",), ("k",), (), ("k", "b")]))
    kind = Hopping(SIZE, Duration(draw(st.sampled_from([8, 4, 3]))))
    by = draw(st.lists(st.sampled_from(["v", "s", "d", "f", "ts"]), max_size=2, unique=True))
    order = tuple(OrderBy(name, draw(st.booleans())) for name in by)
    whole = partition_functions().filter(lambda one: isinstance(one, RowFunction) and not one.columns)
    functions: SearchStrategy[RowFunction | Aggregate] = among(
        st.sampled_from([*SQL]), row_functions(VALUES).filter(is_in_sql), whole
    )
    frames = partition_frames(by_time=not order).filter(lambda frame: not isinstance(frame, SessionFrame))
    columns = draw(st.lists(st.tuples(frames, functions), min_size=1, max_size=3))
    named = tuple((f"c{place}", *one) for place, one in enumerate(columns))
    listed = ((ROWS, gathered("row", by_arrival=True)),)
    first = WindowSpec("ts", kind, listed, keys=keys, trigger=AtExpiry(), watermark=Explicit())
    return first, WindowedOverSpec(kind, named, ROWS, "ts", first.unit, keys, order)


@patient
@given(tables, pipelines())
def test_what_both_have_is_the_same(table: list[Record], specs: tuple[WindowSpec, WindowedOverSpec]) -> None:
    kind = specs[0].window
    assert isinstance(kind, Hopping)
    query = sql(specs[1])
    database().register("input", pa.Table.from_pylist(in_windows(table, kind), schema=IN_WINDOWS))
    right = database().sql(query).to_arrow_table().to_pylist()
    steps = [Step(records=tuple({**row, "row": dict(row)} for row in table)), Step(end=True)]
    for who, outcomes in (("oracle", run_graph(specs, steps)), ("engine", play_chain(specs, steps, WITH_ROW))):
        found = [row for outcome in outcomes for row in outcome[-1].rows]
        assert len(found) == len(right)
        for mine, row in zip(found, right, strict=True):
            assert same(mine, row, tolerance=ROUNDING), f"{who}: {mine}\nduckdb: {row}\n{query}"


IN_WINDOWS = pa.schema([*SCHEMA, pa.field("window_start", pa.int64()), pa.field("window_end", pa.int64())])


def in_windows(table: Sequence[Record], kind: Hopping) -> list[dict[str, object]]:
    """Each row once for each of its windows."""
    size, every = kind.size.micros, kind.every.micros
    return [
        {**row, "window_start": start, "window_end": start + size}
        for row in table
        for start in range((row["ts"] - size) // every * every, row["ts"] + 1, every)
        if start <= row["ts"] < start + size
    ]


def sql(spec: WindowedOverSpec) -> str:
    """The query of a spec: rows leave by window, by key, and then in the order of their partition."""
    keys = [f"{name} ASC NULLS LAST" for name in spec.keys]
    order = ", ".join(["window_end", "window_start", *keys, *map(ordered, spec.order), "ts", "id"])
    columns = [f"{expression(one, spec)} AS {one.name}" for one in spec.new_columns]
    return f"SELECT {', '.join([*IN_WINDOWS.names, *columns])} FROM input ORDER BY {order}"


def expression(one: Computed, spec: WindowedOverSpec) -> str:
    """A new column: peers are equal in what is said, or in their time."""
    keys = ", ".join([*spec.keys, "window_start"])
    said = ", ".join(map(ordered, spec.order)) or "ts"
    order = ", ".join([*map(ordered, spec.order), "ts", "id"])
    peers, whole = f"(PARTITION BY {keys} ORDER BY {said})", f"(PARTITION BY {keys} ORDER BY {order})"
    by = said if isinstance(one.frame, RangeFrame) else order
    in_frame = f"(PARTITION BY {keys} ORDER BY {by} {framed(one.frame)})"
    function = one.function
    nulls = " IGNORE NULLS" if isinstance(function, ColumnFunction) and function.ignore_nulls else ""
    match function:
        case Aggregate():
            return SQL[function].replace("OVER w", f"OVER {in_frame}")
        case RowNumber():
            return f"row_number() OVER {whole}"
        case Rank():
            return f"rank() OVER {peers}"
        case DenseRank():
            return f"dense_rank() OVER {peers}"
        case PercentRank():
            return f"percent_rank() OVER {peers}"
        case CumeDist():
            return f"cume_dist() OVER {peers}"
        case NTile(n=n):
            return f"ntile({n}) OVER {whole}"
        case Lag(column=column, offset=offset):
            return f"lag({column}, {offset}{nulls}) OVER {whole}"
        case Lead(column=column, offset=offset):
            return f"lead({column}, {offset}{nulls}) OVER {whole}"
        case NthValue(column=column, offset=n):
            return f"nth_value({column}, {n} ORDER BY {order}{nulls}) OVER {in_frame}"
        case LastValue(column=column):
            return f"last_value({column} ORDER BY {order}{nulls}) OVER {in_frame}"
    raise AssertionError(f"{function!r} has no words in SQL")
