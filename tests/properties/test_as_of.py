"""As-of joins against their oracle and DuckDB: the same rows, whatever comes and however it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.join.as_of import TYPES, AsOf, AsOfJoinSpec, as_of
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.retention import retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.as_of import AsOfJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome, JoinStep
from fanlight.testing.script import Record
from fanlight.testing.strategies.as_of import AsOfPipeline, as_of_matches, as_of_pipelines
from fanlight.testing.strategies.joins import KEYS, LEFT, LEFT_COLUMNS, RIGHT, RIGHT_COLUMNS, near, records

from .join_runs import embedded, rows_of, told
from .laws import brief, halved
from .test_join import assert_same
from .test_join_duckdb import CONDITION, DELAY, SHORT, bundles, database, nearly_in_order


def by_law(pipeline: AsOfPipeline) -> list[JoinOutcome]:
    """What the oracle gives, step by step."""
    oracle = AsOfJoinOracle(pipeline.spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names, pipeline.condition)
    return [oracle.step(step) for step in pipeline.steps]


@pytest.mark.parametrize("how", TYPES, ids=lambda how: how.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 7)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    how: JoinType, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(as_of_pipelines(how))
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(as_of_pipelines())
def test_nothing_that_leaves_is_late_for_the_next_stage(pipeline: AsOfPipeline) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    before = START_OF_TIME
    for outcome in by_law(pipeline):
        assert all(row["ts"] >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME


class TestAgainstDuckDB:
    """What leaves over the whole run is the batch join, however records arrive and are cut."""

    @pytest.mark.parametrize("how", TYPES, ids=lambda how: how.value)
    @brief
    @given(
        left=st.lists(records(LEFT_COLUMNS, near()), max_size=14),
        right=st.lists(records(RIGHT_COLUMNS, near()), max_size=14),
        match=as_of_matches(),
        keys=st.sampled_from(KEYS),
        where=st.booleans(),
        shifts=st.none() | st.lists(st.integers(0, SHORT), min_size=1, max_size=7),
        sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4),
    )
    def test_the_nearest_row_leaves_whatever_the_order_and_the_cuts(
        self,
        how: JoinType,
        left: list[Record],
        right: list[Record],
        match: AsOf,
        keys: Any,
        where: bool,
        shifts: list[int] | None,
        sizes: list[tuple[int, int]],
    ) -> None:
        """The candidates of each left row, numbered by how far they are."""
        if shifts is not None:
            left, right = nearly_in_order(left, shifts), nearly_in_order(right, shifts[::-1])
        delay = DELAY if shifts is None else SHORT
        spec = spec_of(how, match, keys, where=where and not match.is_unlimited, delay=delay)
        found = rows_of(on_time(spec, bundles(left, right, [*sizes, (1, 1)])))
        assert found == asked(by_rank(spec), left, right)

    @pytest.mark.parametrize("how", [JoinType.INNER, JoinType.LEFT], ids=lambda how: how.value)
    @pytest.mark.parametrize("shape", ["hot", "strangers", "nulls"])
    def test_its_own_asof_join(self, shape: str, how: JoinType) -> None:
        """Three hundred rows a side, no two right rows of a key at one time, which its ASOF would choose among."""
        number = {
            "hot": lambda place, _: 7 if place % 10 else place % 50,
            "strangers": lambda place, side: 2 * (place % 40) + side,
            "nulls": lambda place, _: None if place % 4 else place % 8,
        }[shape]
        left: list[Record] = [
            {"ts": place + place * 7 % 4, "k": number(place, 0), "s": "a", "f": None, "v": place}
            for place in range(300)
        ]
        right: list[Record] = [
            {"ts": place + 1, "k": number(place, 1), "s": "b", "g": 0.5, "w": place} for place in range(300)
        ]
        spec = spec_of(how, as_of().within(retention()), (("k",), ("k",)), where=False, delay=SHORT)
        word = "ASOF LEFT JOIN" if how is JoinType.LEFT else "ASOF JOIN"
        query = f"SELECT {columns(spec)} FROM l {word} r ON l.k = r.k AND l.ts >= r.ts"
        found = rows_of(on_time(spec, bundles(left, right, [(17, 40), (31, 0), (60, 60)])))
        assert found == asked(query, left, right)


def spec_of(how: JoinType, match: AsOf, keys: Any, *, where: bool, delay: int) -> AsOfJoinSpec:
    assert CONDITION is not None
    followed = BoundedDisorder(Duration(delay))
    return AsOfJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, keys[0]),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, keys[1]),
        match,
        how,
        Where(CONDITION[0]) if where else None,
        watermark=Several(((RIGHT, followed), (LEFT, followed))),
    )


def on_time(spec: AsOfJoinSpec, steps: Sequence[JoinStep]) -> list[JoinOutcome]:
    """What the engine gives; no record was late."""
    outcomes = embedded(spec, steps)
    assert not [letter for outcome in outcomes for letter in outcome.dead_letters]
    return outcomes


def asked(query: str, left: list[Record], right: list[Record]) -> list[str]:
    """What DuckDB answers; `came` numbers the rows of a side as they came."""
    base = database()
    for name, rows, schema in (("l", left, LEFT_COLUMNS), ("r", right, RIGHT_COLUMNS)):
        table = pa.Table.from_pylist([*map(dict, rows)], schema=schema)
        base.register(name, table.append_column("came", pa.array(range(len(rows)), pa.int64())))
    return sorted(told(row) for row in base.sql(query).to_arrow_table().to_pylist())


def columns(spec: AsOfJoinSpec) -> str:
    """The columns of a joined row."""
    left = [f"l.{name}" for name in LEFT_COLUMNS.names]
    right = [
        f"r.{name} AS {spec.right_name(name, LEFT_COLUMNS.names)}"
        for name in RIGHT_COLUMNS.names
        if name not in spec.right.keys
    ]
    return ", ".join([*left, *right])


def by_rank(spec: AsOfJoinSpec) -> str:
    """Each left row with its first candidate: by distance, before rather than after, the last to come."""
    match = spec.match
    on = [f"l.{own} = r.{other}" for own, other in zip(spec.left.keys, spec.right.keys, strict=True)]
    on += {"backward": ["r.ts <= l.ts"], "forward": ["r.ts >= l.ts"], "nearest": ["true"]}[match.direction]
    on += [] if match.allow_exact else ["r.ts <> l.ts"]
    on += [] if match.is_unlimited else [f"abs(r.ts - l.ts) <= {match.tolerance.micros}"]
    on += [] if spec.where is None else ["l.v < r.w"]
    first = (
        "SELECT l.came AS l, arg_min(r.came, (abs(r.ts - l.ts), r.ts > l.ts, -r.came)) AS r "
        f"FROM l JOIN r ON {' AND '.join(on)} GROUP BY l.came"
    )
    if spec.how.of_left_only:
        word = "" if spec.how is JoinType.SEMI else "NOT "
        names = ", ".join(LEFT_COLUMNS.names)
        return f"SELECT {names} FROM l WHERE came {word}IN (SELECT l FROM ({first}))"
    word = "LEFT JOIN" if spec.how is JoinType.LEFT else "JOIN"
    return f"SELECT {columns(spec)} FROM l {word} ({first}) AS f ON f.l = l.came {word} r ON r.came = f.r"
