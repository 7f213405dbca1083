"""`top` and `fill` against their oracles, over windows of every kind, with restarts in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates.ranked import TopRows
from fanlight.model.fill import FillSpec, FillWith
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.order_by import OrderBy
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.watermarks import Explicit
from fanlight.model.top import ROWS, TopSpec
from fanlight.model.triggers import AtExpiry, AtWatermark
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.global_window import Global
from fanlight.testing.graph_player import play_chain
from fanlight.testing.oracle.fill import FillStage
from fanlight.testing.oracle.graph import GraphOracle, GraphOutcome, run_graph
from fanlight.testing.oracle.top import TopStage
from fanlight.testing.script import Step, same
from fanlight.testing.strategies.calendar import PACES
from fanlight.testing.strategies.kinds import EVENT, KINDS
from fanlight.testing.strategies.specs import durations

from .laws import ROUNDING, SCHEMA, halved, letter

ORACLES = {TopSpec: TopStage, FillSpec: FillStage}
WRAPPED = SCHEMA.append(pa.field("record", pa.struct(list(SCHEMA))))
"""A record, and beside it the same as one struct."""

Drawn = tuple[tuple[StreamSpec, ...], list[Step]]

orders: SearchStrategy[tuple[OrderBy, ...]] = st.lists(
    st.builds(OrderBy, st.sampled_from(["v", "f", "k", "b", "ts"]), st.booleans()),
    min_size=1,
    max_size=3,
    unique_by=lambda by: by.column,
).map(tuple)


def quiet(steps: list[Step]) -> list[Step]:
    """The steps without the caller's signal: nobody gives one to a pipeline of several stages."""
    return [replace(step, signal=None, finish=False) for step in steps]


@st.composite
def tops(draw: DrawFn) -> Drawn:
    """Windows of any kind that find the first rows, and the top over them."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    top = TopRows("record", draw(st.integers(1, 4)), draw(orders))
    windows, steps = draw(
        kind.pipelines(
            aggregates=((ROWS, top),),
            accumulation=st.sampled_from([Accumulation.ACCUMULATING, Accumulation.RETRACTING]),
            firing_time=FiringTime.END,
            watermark=Explicit(),
        )
    )
    if windows.replaces:
        windows = replace(windows, accumulation=Accumulation.RETRACTING)
    told = [
        replace(s, records=tuple({**r, "record": {name: r[name] for name in SCHEMA.names}} for r in s.records))
        for s in quiet(steps)
    ]
    return (windows, TopSpec(windows, windows.keys)), told


@st.composite
def fills(draw: DrawFn) -> Drawn:
    """Windows that follow one another and fire once, and what fills their gaps."""
    some = (agg.count(), agg.sum("v"), agg.avg("f"), agg.last("k"), agg.max("b"), agg.list("v"), agg.max("f"))
    taken = draw(st.lists(st.sampled_from(some), min_size=1, max_size=4))
    waits = draw(st.booleans())
    windows, steps = draw(
        KINDS[draw(st.sampled_from(["plain", "calendar"]))]
        .pipelines(
            window=st.deferred(lambda: st.sampled_from(["plain", "plain", "calendar"]).flatmap(event_windows)),
            aggregates=tuple((f"a{place}", one) for place, one in enumerate(taken)),
            trigger=AtExpiry() if waits else AtWatermark(),
            lateness=st.sampled_from([Duration(0), Duration(5)]) if waits else Duration(0),
            firing_time=FiringTime.END,
            watermark=Explicit(),
        )
        .filter(lambda drawn: drawn[0].fires_once)
    )
    pace = PACES[windows.window.unit] if isinstance(windows.window, Calendar) else 1
    longest = draw(st.none() | durations(1, 30))
    longest = None if longest is None else Duration(longest.micros * pace)
    return (windows, FillSpec(windows, draw(st.sampled_from(FillWith)), longest, windows.keys)), quiet(steps)


def event_windows(name: str) -> SearchStrategy[Any]:
    return KINDS[name].windows(EVENT).filter(lambda kind: not isinstance(kind, Global))


def assert_same(ours: list[GraphOutcome], law: list[GraphOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        for place, (here, there) in enumerate(zip(mine, right, strict=True)):
            assert sorted(map(letter, here.dead_letters)) == sorted(map(letter, there.dead_letters)), (step, place)
            assert here.counts == there.counts, (step, place)
            assert here.counts.adds_up
        rows = [[*map(dict, side[-1].rows)] for side in (mine, right)]  # type: ignore[arg-type]
        assert same(*rows, tolerance=ROUNDING), f"step {step}\nengine: {rows[0]}\noracle: {rows[1]}"


@halved
@given(tops(), st.sets(st.integers(0, 8)))
def test_the_first_rows_leave_as_the_oracle_says_with_restarts_in_between(drawn: Drawn, restarts: set[int]) -> None:
    specs, steps = drawn
    assert_same(play_chain(specs, steps, WRAPPED, restore_before=restarts), run_graph(specs, steps))


@halved
@given(fills(), st.sets(st.integers(0, 8)))
def test_gaps_are_filled_as_the_oracle_says_with_restarts_in_between(drawn: Drawn, restarts: set[int]) -> None:
    specs, steps = drawn
    assert_same(play_chain(specs, steps, SCHEMA, restore_before=restarts), run_graph(specs, steps))


@halved
@given(tops())
def test_changes_of_ranks_add_up_to_what_windows_would_say_at_once(drawn: Drawn) -> None:
    """Each row takes back what stands, and what stands in the end are the ranks of the last firings."""
    (windows, top), steps = drawn
    assert isinstance(top, TopSpec)
    assert isinstance(windows, WindowSpec)
    stands: dict[str, Any] = {}
    for outcome in play_chain((windows, top), steps, WRAPPED):
        for row in map(dict, outcome[-1].rows):  # type: ignore[arg-type]
            op = row.pop("op", "+I")
            place = repr([row[name] for name in top.unique])
            if op in ("-U", "-D"):
                assert same(stands.pop(place), row)
            else:
                assert place not in stands
                stands[place] = row
    ranks: dict[str, list[int]] = {}
    for row in stands.values():
        pane = repr([row[name] for name in top.unique if name != "rank"])
        ranks.setdefault(pane, []).append(row["rank"])
    assert all(sorted(found) == [*range(1, len(found) + 1)] for found in ranks.values())


@halved
@given(tops() | fills())
def test_nothing_that_leaves_on_time_is_late_for_the_next_stage(drawn: Drawn) -> None:
    """A row is judged by the watermark that was handed on before its step; corrections are as late as windows are."""
    specs, steps = drawn
    windows, after = specs
    assert isinstance(windows, WindowSpec)
    if windows.domain not in EVENT or windows.window.span is None or windows.lateness.is_forever:
        return
    onward = after.continuation
    graph, handed_on = GraphOracle(specs), START_OF_TIME
    for step in steps:
        rows = graph.step(step)[-1].rows
        for row in graph.stages[-1].records(rows):
            assert row[onward.time] >= handed_on - onward.lateness.micros
        handed_on = graph.stages[-1].hands_on()
        assert handed_on == after.hands_on(graph.stages[-1].watermark)  # type: ignore[attr-defined]
