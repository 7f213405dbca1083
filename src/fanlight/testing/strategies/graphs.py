"""Hypothesis strategies for pipelines of several stages: two to four of them, and a script for the first.

A stage reads what the one before gives: its keys, its aggregates and the bounds and times of its windows. So each is
drawn over the columns that are there by then. What is computed on the way is exact, because later stages group by it;
the last stage computes anything.

Records come from one input, or from several with a watermark each, and any stage may have a condition.

Where a calendar is among the stages, all of it is moved to where clocks are changed, see `strategies.calendar`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.changes import Changes
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import Closing
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several, WatermarkStrategy
from fanlight.model.triggers import AtExpiry, AtWatermark
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.oracle.graph import as_input
from fanlight.testing.oracle.union import INPUT
from fanlight.testing.script import Condition, InputScript, Step
from fanlight.testing.strategies import calendar as strategies_calendar
from fanlight.testing.strategies.kinds import EVENT, calendars, countings, cumulatings, sessions, slidings
from fanlight.testing.strategies.row_stages import over_stages, sort_stages, unique_stages
from fanlight.testing.strategies.scripts import DISORDER, scripts
from fanlight.testing.strategies.specs import (
    TIMES,
    among,
    clocked,
    common_triggers,
    durations,
    lasting_triggers,
    latenesses,
    semantics,
    triggers,
    windows,
)
from fanlight.testing.strategies.stage_columns import SOURCE, Columns, computed, keys, named, onward

UNITED = ("web", "shop")
"""The inputs of a union."""

MOST_STAGES = 4
_WINDOWS = "windows"
_STAGES = (_WINDOWS, _WINDOWS, _WINDOWS, "sort", "over", "unique")
_CALM = (_WINDOWS, _WINDOWS, _WINDOWS, "sort", "over")
"""Of rows that come at one time, which is unique depends on the order in which they came."""
_QUIET = WindowSpec("ts", Tumbling(Duration(1)), (("n", agg.count()),))
"""Scripts are drawn for a spec that waits for no signal: nobody gives one to a pipeline."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A pipeline of several stages, the condition of each, and the steps for its first."""

    specs: tuple[StreamSpec, ...]
    steps: tuple[Step, ...]
    conditions: tuple[Condition | None, ...] = ()
    inputs: dict[str, InputScript] = field(default_factory=dict)
    """What each of several inputs brings; the steps are made of it. Empty if there is one input only."""


@st.composite
def graphs(
    draw: DrawFn, *, told: bool = False, calm: bool = False, retracting: bool = False, united: bool = False
) -> Graph:
    """Stages and a script.

    With `told` the script says the watermark; otherwise it follows the records, and every step has some. In a calm
    graph all records are inside the delay of the first stage, and its last rows do not depend on the bundles. With
    `retracting` windows too may follow a stage that takes rows back; a sort always may. With `united` there are
    several inputs.
    """
    strategy = draw(_united(calm=calm) if united else _strategies(told=told, calm=calm))
    stages = draw(st.lists(st.sampled_from(_CALM if calm else _STAGES), min_size=2, max_size=MOST_STAGES))
    specs: list[StreamSpec] = []
    conditions: list[Condition | None] = []
    columns = {**SOURCE, INPUT: "text"} if united else SOURCE
    given: dict[str, Any] = {"time": "ts", "unit": TimeUnit.MICROSECONDS, "watermark": strategy, "lateness": None}
    for stage, after in zip(stages, [*stages[1:], None], strict=True):
        brings = retracting and after == _WINDOWS and draw(st.booleans())
        spec: StreamSpec
        match stage:
            case "sort":
                spec = draw(sort_stages(columns, given))
            case "over":
                last, corrects = after is None, after in (None, "sort")
                spec = draw(over_stages(columns, given, last=last, corrects=corrects, calm=calm))
            case "unique":
                spec = draw(unique_stages(columns, given))
            case _:
                spec = draw(_aggregations(columns, given, after=after, calm=calm, brings=brings))
        specs.append(spec)
        conditions.append(draw(_conditions(columns, given.get("changes"))))
        if after is not None:
            changes = spec.continuation.changes
            columns, given = onward(spec, columns), {**as_input(spec), "changes": changes}
    if isinstance(strategy, Several):
        inputs = draw(_input_scripts(calm=calm))
        return _placed(Graph(tuple(specs), (), tuple(conditions), inputs))
    steps = draw(scripts(_QUIET, calm=calm))
    return _placed(Graph(tuple(specs), tuple(steps if told else _sourced(steps, calm=calm)), tuple(conditions)))


@st.composite
def _input_scripts(draw: DrawFn, *, calm: bool) -> dict[str, InputScript]:
    """What each input brings. Either all have clocks, which need not agree, or none has."""
    sourced = [_sourced(draw(scripts(_QUIET, calm=calm)), calm=calm)[:-1] for _ in UNITED]
    has_clocks = all(steps and steps[0].clock is not None for steps in sourced)
    found = {}
    for name, steps in zip(UNITED, sourced, strict=True):
        clocks = [step.clock for step in steps if has_clocks and step.clock is not None]
        found[name] = InputScript(tuple(step.records for step in steps), tuple(clocks))
    return found


def _united(*, calm: bool) -> SearchStrategy[Several]:
    """A delay for each input; the least of their watermarks, or now and then the greatest, and without idle ones."""
    delays = st.just(Duration(2 * DISORDER)) if calm else durations(0, 12)
    each = st.tuples(*(st.tuples(st.just(name), st.builds(BoundedDisorder, delays)) for name in UNITED))
    combined = st.just(Combine.MIN) if calm else st.sampled_from([Combine.MIN, Combine.MIN, Combine.MAX])
    return st.builds(Several, each, combined, st.none() if calm else st.none() | durations(1, 12))


def _conditions(columns: Columns, changes: Changes | None) -> SearchStrategy[Condition | None]:
    """A condition that leaves some out, or none. Of changes, only those say all of their row that are consistent."""
    asked = {"text": st.sampled_from(["a", "b", "shop", "web"]), "whole": st.integers(-3, 3)}
    some = [st.builds(Condition, st.just(name), asked[holds]) for name, holds in columns.items() if holds in asked]
    if not some or (changes is not None and not changes.consistent):
        return st.none()
    return st.sampled_from([False, False, True]).flatmap(lambda has: among(*some) if has else st.none())


def _strategies(*, told: bool, calm: bool) -> SearchStrategy[WatermarkStrategy]:
    if told:
        return st.just(Explicit())
    if calm:
        return st.just(BoundedDisorder(Duration(2 * DISORDER)))
    return st.builds(BoundedDisorder, durations(0, 12), st.booleans())


@st.composite
def _aggregations(
    draw: DrawFn, columns: Columns, given: Mapping[str, Any], *, after: str | None, calm: bool, brings: bool
) -> WindowSpec:
    """Windows of any kind that can stand here, over the columns that are there.

    `after` says which stage follows; `brings` asks for changes as windows take them.
    """
    last, changes = after is None, given.get("changes")
    window, default = draw(_shared() if changes else _kinds(columns, last=last, calm=calm)), given["lateness"]
    spec: dict[str, Any] = {
        **{name: given[name] for name in ("time", "unit", "watermark")},
        "changes": changes,
        "window": window,
        "keys": draw(keys(columns)),
        "aggregates": named(draw(computed(columns, exact=not last, calm=calm)), columns),
        "trigger": draw(among(common_triggers(), common_triggers(), lasting_triggers(), triggers())),
        "accumulation": draw(st.sampled_from(Accumulation)),
        "updated_only": draw(st.sampled_from([False, False, True])),
        "lateness": draw(latenesses() if default is None else st.just(default) | latenesses()),
        "semantics": replace(draw(semantics()), earliest_start=None),
        "firing_time": draw(st.sampled_from(FiringTime)),
        "tick": given["tick"] if "tick" in given else draw(st.sampled_from([Duration(1), Duration(3)])),
    }
    if window.domain is not TimeDomain.EVENT or calm:
        spec["lateness"] = Duration(0)
    if calm:
        return _once(_patient(spec))
    if changes or brings:
        return _retracting(spec, last=last)
    return _declarable(spec) if last else _followable(spec, changes=after == "sort")


def _kinds(columns: Columns, *, last: bool, calm: bool) -> SearchStrategy[WindowKind]:
    """Kinds whose results have a time; at the end of a pipeline also those whose results have none."""
    domains = EVENT if calm else TIMES
    cut = windows(domains, gaps=not calm).filter(lambda kind: last or kind.has_ends)
    slid = among(*(slidings(anchor, domains) for anchor in Anchor))
    own = among(sessions(domains), sessions(domains, limits="b" in columns), slid)  # a flag may end a session
    counted = [among(*map(countings, Scope))] if last and not calm else []
    return among(own, own, cumulatings(domains), calendars(domains), *counted, cut, cut, cut)


def _shared() -> SearchStrategy[WindowKind]:
    """Windows of event time that all keys share: those that take changes."""
    return among(cumulatings(EVENT), calendars(EVENT), windows(EVENT).filter(lambda kind: kind.has_ends))


def _retracting(spec: dict[str, Any], *, last: bool) -> WindowSpec:
    """The spec of a stage that takes changes, or brings such as windows take: each row is taken back as it was."""
    said = {**spec, "firing_time": FiringTime.END}
    if not last or spec["accumulation"] is Accumulation.DISCARDING:
        said["accumulation"] = Accumulation.RETRACTING
    return _declarable(said)


def _declarable(spec: dict[str, Any]) -> WindowSpec:
    """The spec, or the nearest one that is not refused."""
    window, said = spec["window"], spec
    has_owners = not (isinstance(window, Sliding) or (isinstance(window, Session) and window.has_limits))
    if not has_owners and spec["accumulation"] is Accumulation.DISCARDING:
        said = {**said, "accumulation": Accumulation.RETRACTING}
    if isinstance(window, Counting) and window.per is Scope.KEY:
        said = {**said, "trigger": clocked(spec["trigger"])}
    return WindowSpec(**said)


def _followable(spec: dict[str, Any], *, changes: bool) -> WindowSpec:
    """The nearest spec that can be followed. Without `changes` rows stay: a pane discards, or fires once.

    Windows that come and go with their records are taken back.
    """
    if not spec["window"].is_aligned:
        made = _declarable({**spec, "accumulation": Accumulation.RETRACTING})
        return _stamped(made) if made.fires_once or changes else _once(spec)
    return _stamped(WindowSpec(**(spec if changes else {**spec, "accumulation": Accumulation.DISCARDING})))


def _once(spec: dict[str, Any]) -> WindowSpec:
    """The spec with a trigger that fires once, when its window closes, or is final where there is lateness."""
    rules = spec["semantics"]
    rules = replace(rules, closing=Closing.IF_NEW, expires_after_horizon=rules.closes_after_end)
    trigger = AtExpiry() if spec["lateness"].micros else AtWatermark()
    once = {"semantics": rules, "trigger": trigger, "accumulation": Accumulation.ACCUMULATING, "updated_only": False}
    return _stamped(WindowSpec(**{**spec, **once}))


def _patient(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec whose sessions, where they touch, wait until no record can come that meets them."""
    window = spec["window"]
    if not (isinstance(window, Session) and window.touching):
        return spec
    return {**spec, "semantics": replace(spec["semantics"], session_end_is_inclusive=True)}


def _stamped(spec: WindowSpec) -> WindowSpec:
    """The spec, stamped with a record only where windows have a greatest length."""
    return spec if spec.window.span is not None else replace(spec, firing_time=FiringTime.END)


def _sourced(steps: list[Step], *, calm: bool) -> list[Step]:
    """The steps that a source can say: each has records, and all have a clock or none has."""
    clocked = not calm and steps[0].clock is not None
    clock = steps[0].clock or 0
    found = []
    for step in steps[:-1]:
        clock = max(clock, clock if step.clock is None else step.clock)
        if step.records:
            found.append(Step(records=step.records, clock=clock if clocked else None))
    return [*found, steps[-1]]


def _placed(graph: Graph) -> Graph:
    """The graph where clocks are changed, if it has a calendar: a few microseconds become hours or days."""
    found = [spec.window for spec in graph.specs if isinstance(spec, WindowSpec) and isinstance(spec.window, Calendar)]
    if not found:
        return graph
    origin, pace = strategies_calendar.ORIGINS[found[0].zone], strategies_calendar.PACES[found[0].unit]
    specs = tuple(_slower(spec, pace) for spec in graph.specs)
    steps = tuple(strategies_calendar.moved(step, origin, pace) for step in graph.steps)
    inputs = {name: _moved(script, origin, pace) for name, script in graph.inputs.items()}
    return replace(graph, specs=specs, steps=steps, inputs=inputs)


def _moved(script: InputScript, origin: int, pace: int) -> InputScript:
    """What an input brings, moved like the steps of a script."""
    bundles = tuple(strategies_calendar.moved(Step(records=one), origin, pace).records for one in script.bundles)
    clocks = [strategies_calendar.moved(Step(clock=one), origin, pace).clock for one in script.clocks]
    return InputScript(bundles, tuple(one for one in clocks if one is not None))


def _slower(value: Any, pace: int) -> Any:
    """A spec with every duration in it longer, but for the tick, which is how exact times are."""
    if isinstance(value, Duration):
        return value if value.is_forever else Duration(value.micros * pace)
    if isinstance(value, tuple):
        return tuple(_slower(one, pace) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    said = {one.name: getattr(value, one.name) for one in fields(value) if one.name != "tick"}
    return replace(value, **{name: _slower(one, pace) for name, one in said.items()})
