"""Aggregating joins against their oracle and DuckDB: the same aggregates of the same matches, whatever comes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model import aggregates as fl
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.interval import Interval
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Several, WatermarkStrategy
from fanlight.testing.oracle.join.aggregated import AggregatedJoinOracle
from fanlight.testing.script import Record
from fanlight.testing.strategies.joins import (
    KEYS,
    LEFT,
    LEFT_COLUMNS,
    RIGHT,
    RIGHT_COLUMNS,
    matches,
    near,
    records,
    scripts,
    strategies,
)

from .join_runs import embedded, rows_of
from .laws import brief, halved
from .test_as_of import asked
from .test_join import assert_same
from .test_join_duckdb import DELAY, SHORT, bundles, nearly_in_order

TYPES = (JoinType.INNER, JoinType.LEFT)
SOME = (
    ("n", fl.count()),
    ("values", fl.count("p.w")),
    ("total", fl.sum("w")),
    ("high", fl.max("p.w")),
    ("last", fl.last("w")),
    ("all", fl.list("p.s")),
    ("middle", fl.median("w")),
)
"""Counts, sums, extremes, and those that need the rows themselves; columns by their name, and by that of their side."""


def spec_of(
    how: JoinType, match: Interval, keys: Any, watermark: WatermarkStrategy, lateness: int = 0
) -> AggregatedJoinSpec:
    sides = (Side(name, "ts", TimeUnit.MICROSECONDS, own) for name, own in zip((LEFT, RIGHT), keys, strict=True))
    return AggregatedJoinSpec(*sides, match, SOME, how, Duration(lateness), watermark)


@pytest.mark.parametrize("how", TYPES, ids=lambda how: how.value)
@halved
@given(
    match=matches(),
    keys=st.sampled_from(KEYS),
    left=strategies(),
    right=strategies(),
    idle=st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)),
    lateness=st.sampled_from([0, 0, 3]),
    data=st.data(),
    restarts=st.sets(st.integers(0, 7)),
)
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    how: JoinType,
    match: Interval,
    keys: Any,
    left: Any,
    right: Any,
    idle: Duration | None,
    lateness: int,
    data: st.DataObject,
    restarts: set[int],
) -> None:
    spec = spec_of(how, match, keys, Several(((RIGHT, right), (LEFT, left)), Combine.MIN, idle), lateness)
    steps = data.draw(scripts(spec))
    oracle = AggregatedJoinOracle(spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names)
    assert_same(embedded(spec, steps, restarts), [oracle.step(step) for step in steps])


@pytest.mark.parametrize("how", TYPES, ids=lambda how: how.value)
@brief
@given(
    left=st.lists(records(LEFT_COLUMNS, near()), max_size=14),
    right=st.lists(records(RIGHT_COLUMNS, near()), max_size=14),
    match=matches(),
    keys=st.sampled_from(KEYS),
    shifts=st.none() | st.lists(st.integers(0, SHORT), min_size=1, max_size=7),
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4),
)
def test_duckdb_aggregates_the_same_whatever_the_order_and_the_cuts(
    how: JoinType,
    left: list[Record],
    right: list[Record],
    match: Interval,
    keys: Any,
    shifts: list[int] | None,
    sizes: list[tuple[int, int]],
) -> None:
    if shifts is not None:
        left, right = nearly_in_order(left, shifts), nearly_in_order(right, shifts[::-1])
    followed = BoundedDisorder(Duration(DELAY if shifts is None else SHORT))
    spec = spec_of(how, match, keys, Several(((RIGHT, followed), (LEFT, followed))))
    spec = AggregatedJoinSpec(spec.left, spec.right, match, SOME[:4], how, watermark=spec.watermark)
    on = [f"l.{own} = r.{other}" for own, other in zip(*keys, strict=True)]
    on.append(f"r.ts BETWEEN l.ts + {match.least} AND l.ts + {match.most}")
    own = ", ".join(f"any_value(l.{name}) AS {name}" for name in LEFT_COLUMNS.names)
    query = (
        f"SELECT {own}, count(r.came) AS n, count(r.w) AS values, sum(r.w)::BIGINT AS total, max(r.w) AS high "
        f"FROM l {'JOIN' if how is JoinType.INNER else 'LEFT JOIN'} r ON {' AND '.join(on)} GROUP BY l.came"
    )
    assert rows_of(embedded(spec, bundles(left, right, [*sizes, (1, 1)]))) == asked(query, left, right)
