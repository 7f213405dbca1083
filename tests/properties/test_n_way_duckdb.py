"""N-way joins against DuckDB: what leaves over the whole run is the batch join of the lead with each other input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.n_way import NWayStep
from fanlight.testing.script import Record
from fanlight.testing.strategies.joins import KEYS, matches, near, records
from fanlight.testing.strategies.n_way_joins import MODES, NAMES, columns_of

from .join_runs import told
from .laws import brief
from .n_way_runs import n_way
from .test_join_duckdb import CONDITION, DELAY, SHORT, database, nearly_in_order

HOWS = (JoinType.INNER, JoinType.LEFT)
each_join = pytest.mark.parametrize(
    ("how", "mode"), [(how, mode) for how in HOWS for mode in MODES], ids=lambda word: word.value
)


def spec_of(
    how: JoinType, mode: EmissionMode, found: Sequence[Interval], keys: Any, *, where: bool, delay: int
) -> NWayJoinSpec:
    names = NAMES[: len(found) + 1]
    assert CONDITION is not None
    conditions = (Where(CONDITION[0]) if where else None, *(None for _ in found[1:]))
    late = BoundedDisorder(Duration(delay))
    return NWayJoinSpec(
        tuple(Side(name, "ts", TimeUnit.MICROSECONDS, keys[name != NAMES[0]]) for name in names),
        tuple(found),
        conditions,
        None,
        how,
        mode,
        watermark=Several(tuple((name, late) for name in (*names[1:], names[0]))),
    )


def bundles(rows: dict[str, list[Record]], sizes: Sequence[tuple[int, ...]]) -> list[NWayStep]:
    """Steps with so many records of each input, again and again, until all have come; and the end."""
    steps = []
    while any(rows.values()):
        each = dict(zip(rows, sizes[len(steps) % len(sizes)], strict=False))
        steps.append(NWayStep({name: tuple(rows[name][:many]) for name, many in each.items()}))
        rows = {name: rows[name][many:] for name, many in each.items()}
    return [*steps, NWayStep(end=True)]


@each_join
@brief
@given(
    rows=st.fixed_dictionaries({name: st.lists(records(columns_of(name), near()), max_size=9) for name in NAMES}),
    found=st.lists(matches(), min_size=1, max_size=3),
    keys=st.sampled_from(KEYS),
    where=st.booleans(),
    shifts=st.none() | st.lists(st.integers(0, SHORT), min_size=1, max_size=7),
    sizes=st.lists(st.tuples(*[st.integers(0, 4)] * 4), max_size=4),
)
def test_the_batch_join_leaves_whatever_the_order_and_the_cuts(
    how: JoinType,
    mode: EmissionMode,
    rows: dict[str, list[Record]],
    found: list[Interval],
    keys: Any,
    where: bool,
    shifts: list[int] | None,
    sizes: list[tuple[int, ...]],
) -> None:
    """Records come as they were drawn and the delay covers all, or nearly in order with a short delay."""
    spec = spec_of(how, mode, found, keys, where=where, delay=DELAY if shifts is None else SHORT)
    rows = {side.name: rows[side.name] for side in spec.sides}
    if shifts is not None:
        rows = {
            name: nearly_in_order(own, shifts[place % len(shifts) :]) for place, (name, own) in enumerate(rows.items())
        }
    assert_same_as_in_duckdb(spec, rows, bundles(rows, [*sizes, (1, 1, 1, 1)]))


@each_join
@pytest.mark.parametrize("shape", ["hot", "strangers", "missing"])
def test_shapes_of_keys(shape: str, how: JoinType, mode: EmissionMode) -> None:
    """Two hundred rows an input: one key has most, few keys are common, one input has no match for most."""
    number = {
        "hot": lambda place, _: 7 if place % 10 else place % 50,
        "strangers": lambda place, side: (1 + side) * (place % 40),
        "missing": lambda place, side: place % 30 if side < 2 else 29,
    }[shape]
    rows: dict[str, list[Record]] = {}
    for side, name in enumerate(NAMES[:3]):
        floats, values = ("f", "v") if side == 0 else ("g", "w")
        rows[name] = [
            {"ts": place + side + place * 7 % 4, "k": number(place, side), "s": "a", floats: None, values: place % 5}
            for place in range(200)
        ]
    spec = spec_of(
        how, mode, [Interval(Duration(-3), Duration(6), "left")] * 2, (("k",), ("k",)), where=True, delay=SHORT
    )
    assert_same_as_in_duckdb(spec, rows, bundles(rows, [(17, 40, 9), (31, 0, 31), (60, 60, 60)]))


def assert_same_as_in_duckdb(spec: NWayJoinSpec, rows: dict[str, list[Record]], steps: Sequence[NWayStep]) -> None:
    """All rows, as a multiset; no record was late."""
    base = database()
    for name, own in rows.items():
        base.register(name, pa.Table.from_pylist([*map(dict, own)], schema=columns_of(name)))
    query = sql(spec)
    expected = sorted(told(row) for row in base.sql(query).to_arrow_table().to_pylist())
    outcomes = n_way(spec, steps)
    assert not [letter for outcome in outcomes for letter in outcome.dead_letters]
    assert sorted(told(row) for outcome in outcomes for row in outcome.rows) == expected, query


def sql(spec: NWayJoinSpec) -> str:
    """The batch join of the lead with each other input, one after the other."""
    lead, parts = spec.lead.name, []
    taken = columns_of(lead).names
    shown = [f"{lead}.{name}" for name in taken]
    for side, match, where in zip(spec.others, spec.matches, spec.wheres, strict=True):
        name = side.name
        low = ">=" if match.closed in ("both", "left") else ">"
        high = "<=" if match.closed in ("both", "right") else "<"
        conditions = [f"{lead}.{own} = {name}.{other}" for own, other in zip(spec.lead.keys, side.keys, strict=True)]
        conditions.append(f"{name}.ts {low} {lead}.ts + {match.lower.micros}")
        conditions.append(f"{name}.ts {high} {lead}.ts + {match.upper.micros}")
        conditions += [f"{lead}.v < {name}.w"] if where is not None else []
        parts.append(f"{spec.how.value.upper()} JOIN {name} ON {' AND '.join(conditions)}")
        own = {
            column: spec.name_of(side, column, taken) for column in columns_of(name).names if column not in side.keys
        }
        shown += [f"{name}.{column} AS {called}" for column, called in own.items()]
        taken = [*taken, *own.values()]
    return f"SELECT {', '.join(shown)} FROM {lead} {' '.join(parts)}"
