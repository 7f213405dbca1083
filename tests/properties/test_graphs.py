"""Pipelines of several stages against their oracle: the same rows, letters and counts, stage by stage."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.spec import OverSpec
from fanlight.model.reason import Reason
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.model.unique import UniqueSpec
from fanlight.model.windows.session import Session
from fanlight.testing.graph_player import play_chain, play_runs
from fanlight.testing.oracle import row_stages  # noqa: F401 -- registers its stages
from fanlight.testing.oracle.graph import GraphOutcome, Row, as_input, run_graph
from fanlight.testing.oracle.union import union_steps
from fanlight.testing.script import Condition, Firing, Step, same
from fanlight.testing.strategies.graphs import Graph, graphs
from fanlight.testing.strategies.scripts import recut

from .laws import ROUNDING, SCHEMA, letter, patient, same_firing

pytestmark = pytest.mark.slow

many = settings(patient, max_examples=2 * settings().max_examples if settings().max_examples < 1_000 else 2_000)
"""Graphs have more to draw than one stage: a hundred of each kind by default."""


def assert_same(specs: tuple[StreamSpec, ...], ours: list[GraphOutcome], law: list[GraphOutcome]) -> None:
    """Step by step the same rows of the last stage; of every stage the same letters and counts, and they add up."""
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        for place in range(len(specs)):
            where = f"step {step}, stage {place + 1}"
            ours_here, by_law = mine[place], right[place]
            told, written = (sorted(map(letter, one.dead_letters)) for one in (ours_here, by_law))
            assert told == written, f"{where}: {told} != {written}"
            assert ours_here.counts == by_law.counts, where
            assert ours_here.counts.adds_up, where
        assert same_rows(mine[-1].rows, right[-1].rows), (
            f"step {step}\nengine: {mine[-1].rows}\noracle: {right[-1].rows}"
        )


def same_rows(mine: tuple[Row, ...], right: tuple[Row, ...]) -> bool:
    return len(mine) == len(right) and all(same_row(a, b) for a, b in zip(mine, right, strict=True))


def same_row(mine: Row, right: Row) -> bool:
    if isinstance(mine, Firing) and isinstance(right, Firing):
        return same_firing(mine, right)
    return same(mine, right, tolerance=ROUNDING)


@many
@given(graphs())
def test_runs_do_what_the_oracle_says(graph: Graph) -> None:
    ours = play_runs(graph.specs, graph.steps, SCHEMA, graph.conditions)
    assert_same(graph.specs, ours, run_graph(graph.specs, graph.steps, graph.conditions))


@many
@given(graphs(united=True))
def test_several_inputs_do_what_the_oracle_says(graph: Graph) -> None:
    ours = play_runs(graph.specs, (), SCHEMA, graph.conditions, graph.inputs)
    assert_same(graph.specs, ours, run_graph(graph.specs, united_steps(graph), graph.conditions))


def united_steps(graph: Graph) -> list[Step]:
    strategy = graph.specs[0].watermark
    assert isinstance(strategy, Several)
    return union_steps(strategy, graph.inputs)


@many
@given(graphs(told=True), st.sets(st.integers(0, 8)))
def test_stages_in_one_shard_do_what_the_oracle_says_with_restarts_in_between(graph: Graph, restarts: set[int]) -> None:
    ours = play_chain(graph.specs, graph.steps, SCHEMA, graph.conditions, restore_before=restarts)
    assert_same(graph.specs, ours, run_graph(graph.specs, graph.steps, graph.conditions))


@patient
@given(graphs(told=True))
def test_a_stage_that_corrects_as_long_as_the_one_before_loses_no_correction(graph: Graph) -> None:
    outcomes = run_graph(graph.specs, graph.steps, graph.conditions)
    for place, (before, spec) in enumerate(pairwise(graph.specs), start=1):
        by_event = isinstance(spec, WindowSpec) and spec.domain is TimeDomain.EVENT
        if by_event and not cuts(before) and spec.lateness >= as_input(before)["lateness"]:
            reasons = [reason for outcome in outcomes for reason, _ in outcome[place].dead_letters]
            assert Reason.EXPIRED not in reasons


def cuts(spec: StreamSpec) -> bool:
    """Whether a window may end before the watermark that its records were in time for: a session that is cut."""
    return isinstance(spec, WindowSpec) and isinstance(spec.window, Session) and spec.window.has_limits


@patient
@given(st.data())
def test_no_cut_into_bundles_changes_the_rows_in_the_end(data: st.DataObject) -> None:
    """Inside the delay nothing is late, in any stage."""
    graph = data.draw(graphs(calm=True))
    cut = [step for step in data.draw(recut(graph.steps)) if step.records or step.end]
    ours = play_runs(graph.specs, cut, SCHEMA, graph.conditions)
    whole = [Step(records=tuple(r for s in graph.steps for r in s.records)), Step(end=True)]
    law = run_graph(graph.specs, whole, graph.conditions)
    mine, right = (sorted((row for outcome in run for row in outcome[-1].rows), key=spelled) for run in (ours, law))
    assert same_rows(tuple(mine), tuple(right)), f"\nengine: {mine}\noracle: {right}"
    assert not any(stage.dead_letters for outcome in ours for stage in outcome)


def spelled(row: Row) -> str:
    """What to order rows by, whenever they left: their window and key, or all that is in them."""
    return repr((row.window, row.key)) if isinstance(row, Firing) else repr(sorted(row.items()))


@pytest.mark.filterwarnings("ignore:.*all records came as one bundle")  # a script of one step is one bundle on purpose
@patient
@given(graphs())
def test_the_words_of_a_pipeline_declare_these_stages_and_count_the_same(graph: Graph) -> None:
    """What a stage reads, when it is late and how it counts need not be said: the stage before decides."""
    batches = [pa.RecordBatch.from_pylist([*map(dict, s.records)], schema=SCHEMA) for s in graph.steps if s.records]
    strategy = graph.specs[0].watermark
    assert isinstance(strategy, BoundedDisorder)
    tick = graph.specs[0].tick if isinstance(graph.specs[0], WindowSpec) else "1 us"
    clocks = iter([step.clock for step in graph.steps if step.records])
    clock = None if not batches or graph.steps[0].clock is None else lambda: next(clocks)
    assume(clock is not None or not batches or not any(spec.needs_clock for spec in graph.specs))  # it is refused
    result: Any = fl.stream(
        batches, time="ts", unit="us", watermark=strategy, tick=tick, ahead=None, clock=clock, schema=SCHEMA
    )
    for spec, condition in zip(graph.specs, graph.conditions, strict=True):
        result = declared(result, spec, condition)
    assert [stage.spec for stage in result.stages] == [replace(spec) for spec in graph.specs]
    ours = play_runs(graph.specs, graph.steps, SCHEMA, graph.conditions)
    for place, stage in enumerate(result.stages):
        letters = sum(len(outcome[place].dead_letters) for outcome in ours)
        assert letters == len(stage.own_dead_letters) == stage.accounting.dead_letters
        assert stage.accounting.adds_up
    assert len(result.dead_letters) == sum(len(stage.own_dead_letters) for stage in result.stages)


def declared(stream: Any, spec: StreamSpec, condition: Condition | None) -> Any:
    """The stage as somebody writes it; lateness is said only where it is another than that of the stage before."""
    kept = stream if condition is None else stream.where(fl.col(condition.column) >= condition.least)
    keyed = kept.key_by(*spec.keys) if spec.keys else kept
    if isinstance(spec, UniqueSpec):
        return keyed.unique_by(*spec.ids, within=spec.within, keep=spec.keep.value)
    if isinstance(spec, OverSpec):
        return declared_over(keyed, spec)
    if isinstance(spec, SortSpec):
        return keyed.sort(*spec.ties, order="total" if spec.total else "shard")
    assert isinstance(spec, WindowSpec)
    default = as_input(stream.spec)["lateness"] if isinstance(stream, fl.RowResult) else None
    said = {} if spec.lateness == default else {"lateness": spec.lateness}
    windowed = keyed.window(spec.window, **said).trigger(spec.trigger, updated_only=spec.updated_only)
    windowed = replace(windowed, accumulation=spec.accumulation).semantics(spec.semantics)
    return windowed.stamped(spec.firing_time).agg(**dict(spec.aggregates))


def declared_over(stream: Any, spec: OverSpec) -> Any:
    """The stage with a frame for each new column; order and `forget` are said with the first."""
    forget = "never" if spec.forget is not None and spec.forget.is_forever else spec.forget
    said: dict[str, Any] = {"order": spec.order, "forget": forget}
    result = stream.as_stream() if isinstance(stream, fl.RowResult) else stream  # an `over` would share its pass
    for one in spec.new_columns:
        result = result.over(one.frame, **said).add(**{one.name: one.function})
        said = {}
    if spec.mode is EmissionMode.RETRACTING:
        return result.retracting(retention=spec.retention)
    return result.eager() if spec.mode is EmissionMode.EAGER else result
