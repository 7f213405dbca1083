"""Hypothesis strategies: specs and whole pipelines small enough to read when one of them fails.

Durations are a few microseconds; `strategies_scripts` draws the records, `strategies_kinds` the other kinds of window.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import Closing, LateBy, LateSessions, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, FixedDistance, WatermarkStrategy
from fanlight.model.triggers import (
    After,
    AfterDelay,
    AllOf,
    AnyOf,
    AtExpiry,
    AtWatermark,
    Every,
    InOrder,
    Never,
    OnSignal,
    Repeat,
    Trigger,
    Until,
)
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.script import Step
from fanlight.testing.strategies.scripts import UNUSABLE, scripts

T = TypeVar("T")

Pipeline = tuple[WindowSpec, list[Step]]
"""What to run, and what to run it on."""

COLUMNS = ("ts", "k", "v", "f", "b")
"""The columns of every record."""

AGGREGATES: tuple[Aggregate, ...] = (
    *(agg.count(), agg.count("v"), agg.count("f")),
    *(agg.sum("v"), agg.sum("f"), agg.avg("v"), agg.avg("f")),
    *(agg.min("v"), agg.min("f"), agg.max("v"), agg.max("f")),
    *(agg.variance("v"), agg.variance("f", population=True), agg.stddev("f"), agg.stddev("v", population=True)),
    *(agg.first("v"), agg.first("f"), agg.first("k"), agg.last("v"), agg.last("f"), agg.last("k")),
    *(agg.any("b"), agg.all("b")),
    *(agg.list("v"), agg.list("f"), agg.list("k"), agg.list("v", by_arrival=True)),
    *(agg.median("v"), agg.median("f"), agg.quantile("f", 0.25), agg.quantile("v", 0.9)),
    *(agg.count_distinct("v"), agg.count_distinct("f"), agg.count_distinct("k")),
    *(agg.top("v", 2), agg.top("f", 3), agg.top("k", 1)),
)

TIMES = (TimeDomain.EVENT, TimeDomain.PROCESSING)
"""The domains in which time is time, not a place in the stream."""


def durations(least: int = 1, most: int = 20) -> SearchStrategy[Duration]:
    """A few microseconds."""
    return st.integers(least, most).map(Duration)


def windows(domains: Sequence[TimeDomain] = TIMES, *, gaps: bool = True) -> SearchStrategy[WindowKind]:
    """Tumbling, hopping (also where `every` does not divide `size`, and with gaps) and global windows.

    `strategies_kinds` draws the other kinds.
    """
    domain = one_domain(domains)
    offset = durations(-9, 9)
    tumbling = st.builds(Tumbling, durations(), offset, domain)
    hopping = st.builds(_hopping, durations(2), durations(2), offset, domain, st.sampled_from([False, False, gaps]))
    return among(tumbling, tumbling, hopping, hopping, st.builds(Global, domain))


def one_domain(domains: Sequence[TimeDomain]) -> SearchStrategy[TimeDomain]:
    """One of several domains; the event domain thrice as often, because only there can records be late."""
    return st.sampled_from([one for one in domains for _ in range(3 if one is TimeDomain.EVENT else 1)])


def among(*choices: SearchStrategy[T]) -> SearchStrategy[T]:
    """One of several; unlike `one_of`, a choice that stands twice is made twice as often."""
    return st.sampled_from(choices).flatmap(lambda chosen: chosen)


def _hopping(one: Duration, other: Duration, offset: Duration, domain: TimeDomain, gaps: bool) -> Hopping:
    short, long = sorted((one, other))
    return Hopping(short, long, offset, domain, gaps=True) if gaps else Hopping(long, short, offset, domain)


@cache
def triggers(max_depth: int = 3) -> SearchStrategy[Trigger]:
    """Any trigger, up to `max_depth` triggers deep."""
    if max_depth <= 1:
        return st.one_of(_leaves(), st.just(AtWatermark()), st.just(AtWatermark(late=None)))
    part = triggers(max_depth - 1)
    several = st.lists(part, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        triggers(1),
        st.builds(AtWatermark, st.none() | part, st.none() | part),
        st.builds(Repeat, part),
        st.builds(Until, part, part),
        *(st.builds(kind, several) for kind in (AnyOf, AllOf, InOrder)),
    )


@cache
def lasting_triggers(max_depth: int = 3) -> SearchStrategy[Trigger]:
    """Triggers that do not finish before their window expires, so that no record finds a finished pane."""
    forever = st.one_of(st.just(AtExpiry()), st.just(Never()), _periods(), st.just(OnSignal()), st.just(AtWatermark()))
    if max_depth <= 1:
        return forever
    part = triggers(max_depth - 1)
    return st.one_of(
        forever,
        st.builds(AtWatermark, st.none() | part, part),
        st.builds(Repeat, part),
        st.tuples(part, lasting_triggers(max_depth - 1)).map(InOrder),
    )


def common_triggers() -> SearchStrategy[Trigger]:
    """What most pipelines say: the watermark, with early and late firings by count or period."""
    count = st.integers(1, 3).map(After)
    return st.builds(AtWatermark, st.none() | count | _periods(), count | st.just(None))


def _leaves() -> SearchStrategy[Trigger]:
    return st.one_of(
        st.integers(1, 4).map(After),
        durations(1, 12).map(AfterDelay),
        _periods(),
        st.sampled_from([AtExpiry(), OnSignal(), Never()]),
    )


def _periods() -> SearchStrategy[Trigger]:
    return st.builds(Every, durations(1, 12), st.sampled_from(TIMES))


@cache
def semantics() -> SearchStrategy[Semantics]:
    """The peers' presets, and answers that no peer gives together."""
    any_answers = st.builds(
        Semantics,
        closes_after_end=st.booleans(),
        expires_after_horizon=st.booleans(),
        late_by=st.sampled_from(LateBy),
        late_sessions=st.sampled_from(LateSessions),
        session_end_is_inclusive=st.booleans(),
        delay_is_strict=st.booleans(),
        event_timer_is_strict=st.booleans(),
        on_time=st.sampled_from(OnTime),
        closing=st.sampled_from(Closing),
        refires=st.booleans(),
        holds=st.booleans(),
        clock_instant_is_over=st.booleans(),
        earliest_start=st.none() | st.integers(-10, 20),
    )
    return st.sampled_from(list(Semantics.PRESETS.values())) | any_answers


def aggregates(
    columns: Collection[str] = COLUMNS, *, by_arrival: bool = True, most: int = 4
) -> SearchStrategy[tuple[tuple[str, Aggregate], ...]]:
    """A few named aggregates over `columns`; `by_arrival` allows those that depend on the order of arrival."""
    pool = [
        one
        for one in AGGREGATES
        if (one.column is None or one.column in columns) and (by_arrival or one != agg.list("v", by_arrival=True))
    ]
    some = st.lists(st.sampled_from(pool), min_size=1, max_size=most)
    return some.map(lambda chosen: tuple((f"a{place}", one) for place, one in enumerate(chosen)))


def latenesses() -> SearchStrategy[Duration]:
    """None, some, or forever."""
    return among(st.just(Duration(0)), durations(1, 12), durations(1, 12), st.just(Duration.FOREVER))


def watermarks() -> SearchStrategy[WatermarkStrategy]:
    """The strategies of one input."""
    pause = st.none() | durations(1, 12)
    return st.one_of(
        st.just(Explicit()),
        st.builds(BoundedDisorder, durations(0, 8), st.booleans(), pause),
        st.builds(FixedDistance, durations(0, 8)),
    )


def specs(**fields: Any) -> SearchStrategy[WindowSpec]:
    """Any spec over the common record shape; a field may be given as a value or as a strategy of its own.

    `specs(window=windows([TimeDomain.EVENT]), lateness=Duration(5))` fixes the lateness and draws the rest. Only
    windows of event time have a lateness, windows whose records have no owner do not discard, and only kinds that it
    concerns have an earliest start, whatever is given.
    """
    free: dict[str, SearchStrategy[Any]] = {
        "window": windows(),
        "aggregates": aggregates(),
        "keys": st.sampled_from([("k",), ("k",), (), ("k", "b")]),
        "trigger": among(common_triggers(), common_triggers(), lasting_triggers(), triggers()),
        "accumulation": st.sampled_from(Accumulation),
        "updated_only": st.sampled_from([False, False, True]),
        "lateness": latenesses(),
        "watermark": watermarks(),
        "semantics": semantics(),
        "firing_time": st.sampled_from(FiringTime),
        "tick": st.sampled_from([Duration(1), Duration(3)]),
    }
    given = {name: value if isinstance(value, SearchStrategy) else st.just(value) for name, value in fields.items()}
    return st.fixed_dictionaries({**free, **given}).map(_spec)


def _spec(fields: dict[str, Any]) -> WindowSpec:
    window = fields["window"]
    if window.domain is not TimeDomain.EVENT:
        fields = {**fields, "lateness": Duration(0)}
    has_owners = not (isinstance(window, Sliding) or (isinstance(window, Session) and window.has_limits))
    if not has_owners and fields["accumulation"] is Accumulation.DISCARDING:
        fields = {**fields, "accumulation": Accumulation.RETRACTING}
    if isinstance(window, Counting) and window.per is Scope.KEY:
        fields = {**fields, "trigger": clocked(fields["trigger"])}
    if not window.heeds_earliest_start:
        fields = {**fields, "semantics": replace(fields["semantics"], earliest_start=None)}
    return WindowSpec(time="ts", **fields)


def clocked(trigger: Trigger) -> Trigger:
    """The trigger with every period counted by the clock: keys that count for themselves share no watermark."""
    match trigger:
        case Every(period=period):
            return Every(period)
        case AtWatermark(early=early, late=late):
            return AtWatermark(early and clocked(early), late and clocked(late))
        case AnyOf() | AllOf() | InOrder():
            return replace(trigger, triggers=tuple(clocked(part) for part in trigger.parts))
        case Repeat() | Until():
            return type(trigger)(*(clocked(part) for part in trigger.parts))
    return trigger


def pipelines(**fields: Any) -> SearchStrategy[Pipeline]:
    """A spec and a script for it; `fields` as in `specs`."""
    return with_script(specs(**fields))


def calm_pipelines(**fields: Any) -> SearchStrategy[Pipeline]:
    """Pipelines without dead letters, whose last firings must not depend on arrival order or on bundles.

    The watermark is explicit and everything stays inside lateness; no trigger finishes early, nothing pending is
    forgotten, every record has a window, and no aggregate looks at the order of arrival.
    """
    calm: dict[str, Any] = {
        "window": windows([TimeDomain.EVENT], gaps=False),
        "aggregates": aggregates(by_arrival=False),
        "trigger": lasting_triggers(),
        "accumulation": Accumulation.ACCUMULATING,
        "lateness": st.sampled_from([Duration.FOREVER, Duration(1_000)]),
        "watermark": Explicit(),
        "semantics": semantics().map(_calm),
    }
    return with_script(specs(**{**calm, **fields}), calm=True)


@st.composite
def with_script(
    draw: DrawFn,
    some: SearchStrategy[WindowSpec],
    *,
    calm: bool = False,
    unusable: tuple[int | None, ...] = UNUSABLE,
) -> Pipeline:
    """One of `some` specs, and a script for it."""
    spec = draw(some)
    return spec, draw(scripts(spec, calm=calm, unusable=unusable))


def _calm(answers: Semantics) -> Semantics:
    closing = Closing.IF_NEW if answers.closing is Closing.NEVER else answers.closing
    return replace(answers, closing=closing, earliest_start=None)
