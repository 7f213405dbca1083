"""Joins by window against DuckDB: what leaves is the batch join on key and window, however records arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.window import MODES, SameWindow, WindowJoinSpec
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.model.windows.kind import WindowKind
from fanlight.testing.oracle.windows import windows_around
from fanlight.testing.script import Record
from fanlight.testing.strategies.joins import KEYS, LEFT, LEFT_COLUMNS, RIGHT, RIGHT_COLUMNS, near, records
from fanlight.testing.strategies.window_joins import kinds

from .join_runs import embedded, rows_of, told
from .laws import brief
from .test_join_duckdb import CONDITION, DELAY, SHORT, bundles, database, every_join, nearly_in_order

BOUNDS = ("ws", "we")


@every_join(MODES)
@brief
@given(
    left=st.lists(records(LEFT_COLUMNS, near()), max_size=14),
    right=st.lists(records(RIGHT_COLUMNS, near()), max_size=14),
    kind=kinds(),
    keys=st.sampled_from(KEYS),
    where=st.booleans(),
    shifts=st.none() | st.lists(st.integers(0, SHORT), min_size=1, max_size=7),
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4),
)
def test_the_batch_join_leaves_whatever_the_order_and_the_cuts(
    how: JoinType,
    emits: EmissionMode,
    left: list[Record],
    right: list[Record],
    kind: WindowKind,
    keys: Any,
    where: bool,
    shifts: list[int] | None,
    sizes: list[tuple[int, int]],
) -> None:
    """Records come as they were drawn and the delay covers all, or nearly in order with a short delay."""
    assert CONDITION is not None
    followed = BoundedDisorder(Duration(DELAY if shifts is None else SHORT))
    spec = WindowJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, keys[0]),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, keys[1]),
        SameWindow(kind),
        how,
        emits,
        Where(CONDITION[0]) if where else None,
        watermark=Several(((RIGHT, followed), (LEFT, followed))),
    )
    left, right = ([row for row in rows if any(windows_around(kind, row["ts"]))] for rows in (left, right))
    if shifts is not None:
        left, right = nearly_in_order(left, shifts), nearly_in_order(right, shifts[::-1])
    base = database()
    base.register("l", windowed(left, LEFT_COLUMNS, kind))
    base.register("r", windowed(right, RIGHT_COLUMNS, kind))
    query = sql(spec)
    expected = sorted(told(with_window(row)) for row in base.sql(query).to_arrow_table().to_pylist())
    outcomes = embedded(spec, bundles(left, right, [*sizes, (1, 1)]))
    assert not [letter for outcome in outcomes for letter in outcome.dead_letters]
    assert rows_of(outcomes) == expected, query


def windowed(rows: list[Record], columns: pa.Schema, kind: WindowKind) -> pa.Table:
    """Rows once for each of their windows."""
    found = [
        {**row, "ws": window.start, "we": window.end} for row in rows for window in windows_around(kind, row["ts"])
    ]
    return pa.Table.from_pylist(found, schema=pa.schema([*columns, *((name, pa.int64()) for name in BOUNDS)]))


def with_window(row: dict[str, Any]) -> Record:
    """A row of the database with its window as joined rows have it."""
    start, end = (row.pop(name) for name in BOUNDS)
    return {"window": {"start": start, "end": end}, **row}


def sql(spec: WindowJoinSpec) -> str:
    """The batch join of the tables `l` and `r`, which have rows with their windows."""
    how, pairs = spec.how, [*zip(spec.left.keys, spec.right.keys, strict=True)]
    on = " AND ".join(_conditions(spec, pairs))
    if how.of_left_only:
        word = "" if how is JoinType.SEMI else "NOT "
        return f"SELECT * FROM l WHERE {word}EXISTS (SELECT 1 FROM r WHERE {on})"
    merged = {**dict(pairs), **dict(zip(BOUNDS, BOUNDS, strict=True))}
    left = [
        f"coalesce(l.{name}, r.{merged[name]}) AS {name}" if name in merged else f"l.{name}"
        for name in [*BOUNDS, *LEFT_COLUMNS.names]
    ]
    right = [
        f"r.{name} AS {spec.right_name(name, LEFT_COLUMNS.names)}"
        for name in RIGHT_COLUMNS.names
        if name not in spec.right.keys
    ]
    return f"SELECT {', '.join([*left, *right])} FROM l {how.value.upper()} JOIN r ON {on}"


def _conditions(spec: WindowJoinSpec, pairs: list[tuple[str, str]]) -> Iterator[str]:
    for name in BOUNDS:
        yield f"l.{name} = r.{name}"
    for own, other in pairs:
        yield f"l.{own} = r.{other}"
    if spec.where is not None:
        yield "l.v < r.w"
