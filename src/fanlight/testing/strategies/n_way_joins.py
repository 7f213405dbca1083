"""Hypothesis strategies for n-way joins: specs of two to four inputs, and scripts for all of them.

What is drawn of an input is what is drawn of a side of a join of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Several
from fanlight.testing.oracle.join.n_way import NWayStep
from fanlight.testing.oracle.join.sides import Holds
from fanlight.testing.script import Record
from fanlight.testing.strategies.joins import (
    CONDITIONS,
    KEYS,
    LEFT_COLUMNS,
    RIGHT_COLUMNS,
    matches,
    near,
    records,
    strategies,
)

NAMES = ("o", "p", "s", "t")
"""The lead, and up to three others."""
LEAST = 2
"""As many inputs as a join has at least."""
WHOLE: tuple[Any, Callable[[Record], bool | None]] = (
    pc.field("p.w") <= pc.field("w_s"),
    lambda row: None if row["w"] is None or row["w_s"] is None else row["w"] <= row["w_s"],
)
"""A condition over a combination as the engine reads it, and as the oracle does."""
MODES = (EmissionMode.EAGER, EmissionMode.ON_CLOSE)


@dataclass(frozen=True, slots=True)
class NWayPipeline:
    """What to run, and what to run it on."""

    spec: NWayJoinSpec
    conditions: dict[str, Holds]
    condition: Callable[[Record], bool | None] | None
    steps: list[NWayStep]


def columns_of(name: str) -> pa.Schema:
    """The columns of an input: those of a left side for the lead, those of a right side for others, in any order."""
    if name == NAMES[2]:
        return pa.schema(list(RIGHT_COLUMNS)[::-1])
    return LEFT_COLUMNS if name == NAMES[0] else RIGHT_COLUMNS


@st.composite
def n_way_specs(
    draw: DrawFn, inputs: Sequence[int] = (2, 3, 3, 4), modes: Sequence[EmissionMode] = MODES
) -> tuple[NWayJoinSpec, dict[str, Holds]]:
    """A join of so many inputs that leaves in one of these modes, and what its conditions say, by input."""
    names = NAMES[: draw(st.sampled_from(inputs))]
    how = draw(st.sampled_from([JoinType.INNER, JoinType.LEFT]))
    has_whole = how is JoinType.INNER and len(names) > LEAST and draw(st.booleans())
    own, other = draw(st.sampled_from(KEYS))
    said = {name: draw(st.sampled_from(_conditions(name))) for name in names[1:]}
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    spec = NWayJoinSpec(
        (Side(names[0], "ts", TimeUnit.MICROSECONDS, own), *(_other(name, other) for name in names[1:])),
        tuple(draw(matches()) for _ in names[1:]),
        tuple(None if one is None else one[0] for one in said.values()),
        Where(WHOLE[0]) if has_whole else None,
        how,
        draw(st.sampled_from(modes)),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        Several(tuple((name, draw(strategies())) for name in (*names[1:], names[0])), idle=idle),
        draw(st.none() | st.integers(0, 20).map(Duration)),
    )
    return spec, {name: one[1] for name, one in said.items() if one is not None}


@st.composite
def n_way_pipelines(
    draw: DrawFn, inputs: Sequence[int] = (2, 3, 3, 4), modes: Sequence[EmissionMode] = MODES
) -> NWayPipeline:
    """A join of so many inputs, and a script for it: steps of any sort, and the end; an input may end before."""
    spec, conditions = draw(n_way_specs(inputs, modes))
    names = [side.name for side in spec.sides]
    watermarks = st.one_of(near(), near(), near(), st.just(END_OF_TIME))
    step = st.builds(
        NWayStep,
        st.fixed_dictionaries({name: st.lists(records(columns_of(name)), max_size=5).map(tuple) for name in names}),
        st.dictionaries(st.sampled_from(names), watermarks, max_size=len(names)),
        st.none() | st.integers(0, 8),
    )
    condition = None if spec.where is None else WHOLE[1]
    return NWayPipeline(spec, conditions, condition, [*draw(st.lists(step, max_size=6)), NWayStep(end=True)])


def _other(name: str, keys: tuple[str, ...]) -> Side:
    return Side(name, "ts", TimeUnit.MICROSECONDS, keys)


def _conditions(name: str) -> list[tuple[Where, Holds] | None]:
    """The conditions of a join of two whose right side is called so."""
    _, _, less, _, other_time = CONDITIONS
    assert less is not None
    assert other_time is not None
    apart = pc.field(f"ts_{name}") != pc.field("ts")
    return [None, None, (Where(less[0]), less[1]), (Where(apart), other_time[1])]
