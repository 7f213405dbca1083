"""Joins against DuckDB: what leaves over the whole run is the batch join, however records arrive and are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.sides import JoinStep
from fanlight.testing.script import Record
from fanlight.testing.strategies.joins import (
    CONDITIONS,
    KEYS,
    LEFT,
    LEFT_COLUMNS,
    RIGHT,
    RIGHT_COLUMNS,
    matches,
    near,
    records,
)

from .join_runs import embedded, rows_of, told
from .laws import brief

DELAY = 40
"""More than generated times are apart, so that no order of arrival makes a record late."""
SHORT = 3
"""How far those records are out of order that arrive nearly in order."""
CONDITION = CONDITIONS[2]


def every_join(modes: Iterable[EmissionMode]) -> pytest.MarkDecorator:
    """Every type of join, in each of these modes."""
    every = [(how, emits) for how in JoinType for emits in modes]
    return pytest.mark.parametrize(("how", "emits"), every, ids=[f"{how.value}-{emits.value}" for how, emits in every])


def spec_of(
    how: JoinType, emits: EmissionMode, match: Interval, keys: Any, *, where: bool, delay: int
) -> IntervalJoinSpec:
    stamp: Any = {JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left")
    assert CONDITION is not None
    return IntervalJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, keys[0]),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, keys[1]),
        match,
        how,
        emits,
        Where(CONDITION[0]) if where else None,
        stamp=stamp,
        watermark=Several(((RIGHT, BoundedDisorder(Duration(delay))), (LEFT, BoundedDisorder(Duration(delay))))),
    )


def nearly_in_order(rows: list[Record], shifts: list[int]) -> list[Record]:
    """Rows in the order of their times, each moved by no more than the delay allows."""
    moved = [(row["ts"] + shifts[place % len(shifts)], place) for place, row in enumerate(rows)]
    return [rows[place] for _, place in sorted(moved)]


def bundles(left: list[Record], right: list[Record], sizes: Sequence[tuple[int, int]]) -> list[JoinStep]:
    """Steps with so many records of each side, again and again, until all have come; and the end."""
    steps = []
    while left or right:
        many, others = sizes[len(steps) % len(sizes)]
        steps.append(JoinStep(tuple(left[:many]), tuple(right[:others])))
        left, right = left[many:], right[others:]
    return [*steps, JoinStep(end=True)]


@every_join(EmissionMode)
@brief
@given(
    left=st.lists(records(LEFT_COLUMNS, near()), max_size=14),
    right=st.lists(records(RIGHT_COLUMNS, near()), max_size=14),
    match=matches(),
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
    match: Interval,
    keys: Any,
    where: bool,
    shifts: list[int] | None,
    sizes: list[tuple[int, int]],
) -> None:
    """Records come as they were drawn and the delay covers all, or nearly in order with a short delay."""
    spec = spec_of(how, emits, match, keys, where=where, delay=DELAY if shifts is None else SHORT)
    if shifts is not None:
        left, right = nearly_in_order(left, shifts), nearly_in_order(right, shifts[::-1])
    sizes = [*sizes, (1, 1)]
    assert_same_as_in_duckdb(spec, left, right, bundles(left, right, sizes))


@every_join(EmissionMode)
@pytest.mark.parametrize("shape", ["hot", "strangers", "duplicates", "nulls"])
def test_shapes_of_keys(shape: str, how: JoinType, emits: EmissionMode) -> None:
    """Three hundred rows a side: one key has most, no key is common, every row is there twice, most keys are null."""
    number = {
        "hot": lambda place, _: 7 if place % 10 else place % 50,
        "strangers": lambda place, side: 2 * (place % 40) + side,
        "duplicates": lambda place, _: place // 2 % 30,
        "nulls": lambda place, _: None if place % 4 else place % 8,
    }[shape]
    when = (lambda place: place // 2 * 2) if shape == "duplicates" else (lambda place: place + place * 7 % 4)
    left: list[Record] = [
        {"ts": when(place), "k": number(place, 0), "s": "a", "f": None, "v": place // 2 % 5} for place in range(300)
    ]
    right: list[Record] = [
        {"ts": when(place) + 1, "k": number(place, 1), "s": "b", "g": 0.5, "w": place // 2 % 7} for place in range(300)
    ]
    match = Interval(Duration(-6), Duration(9), "left")
    for where in (False, True):
        spec = spec_of(how, emits, match, (("k",), ("k",)), where=where, delay=SHORT)
        assert_same_as_in_duckdb(spec, left, right, bundles(left, right, [(17, 40), (31, 0), (60, 60)]))


def assert_same_as_in_duckdb(
    spec: IntervalJoinSpec, left: list[Record], right: list[Record], steps: Sequence[JoinStep]
) -> None:
    """All rows, as a multiset; no record was late."""
    base = database()
    base.register("l", pa.Table.from_pylist([*map(dict, left)], schema=LEFT_COLUMNS))
    base.register("r", pa.Table.from_pylist([*map(dict, right)], schema=RIGHT_COLUMNS))
    query = sql(spec)
    expected = sorted(told(row) for row in base.sql(query).to_arrow_table().to_pylist())
    outcomes = embedded(spec, steps)
    assert not [letter for outcome in outcomes for letter in outcome.dead_letters]
    assert rows_of(outcomes) == expected, query


@cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def sql(spec: IntervalJoinSpec) -> str:
    """The batch join of the tables `l` and `r`."""
    match, how = spec.match, spec.how
    low = ">=" if match.closed in ("both", "left") else ">"
    high = "<=" if match.closed in ("both", "right") else "<"
    pairs = [*zip(spec.left.keys, spec.right.keys, strict=True)]
    conditions = [f"l.{own} = r.{other}" for own, other in pairs]
    conditions += [f"r.ts {low} l.ts + {match.lower.micros}", f"r.ts {high} l.ts + {match.upper.micros}"]
    if spec.where is not None:
        conditions.append("l.v < r.w")
    on = " AND ".join(conditions)
    if how.of_left_only:
        word = "" if how is JoinType.SEMI else "NOT "
        return f"SELECT * FROM l WHERE {word}EXISTS (SELECT 1 FROM r WHERE {on})"
    merged = dict(pairs)
    # a left row that is there may have a null key: then the right one is no part of the row, and null too
    left = [
        f"coalesce(l.{name}, r.{merged[name]}) AS {name}" if name in merged else f"l.{name}"
        for name in LEFT_COLUMNS.names
    ]
    right = [
        f"r.{name} AS {spec.right_name(name, LEFT_COLUMNS.names)}"
        for name in RIGHT_COLUMNS.names
        if name not in spec.right.keys
    ]
    return f"SELECT {', '.join([*left, *right])} FROM l {how.value.upper()} JOIN r ON {on}"
