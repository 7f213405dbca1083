"""Hypothesis strategies: specs, records and scripts small enough to read when one of them fails.

Times and durations are a few microseconds, so that ends, ticks and delays meet often. Every record has the same shape:
`{"ts": int | None, "k": str | None, "v": int | None, "f": float | None, "b": bool | None}`. Floats are quarters: their
sums are exact in every order, so only what divides or takes roots needs a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import Closing, LateBy, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import EARLIEST, END_OF_TIME, LATEST
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
from fanlight.model.watermarks import BoundedDisorder, Explicit, FixedDistance, WatermarkStrategy
from fanlight.model.windows import Global, Hopping, TimeDomain, Tumbling, WindowKind
from fanlight.testing.script import Record, Step

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

MOST_STEPS, MOST_IN_BUNDLE = 8, 5
"""At most forty records."""

STRIDE, DISORDER = 10, 12
"""How far event time moves on from one step to the next, and how far a record may be from where it stands."""

UNUSABLE = (None, EARLIEST - 1, LATEST + 1)
"""Times that no window can use."""


def durations(least: int = 1, most: int = 20) -> SearchStrategy[Duration]:
    """A few microseconds."""
    return st.integers(least, most).map(Duration)


def windows(domains: Sequence[TimeDomain] = tuple(TimeDomain), *, gaps: bool = True) -> SearchStrategy[WindowKind]:
    """Tumbling, hopping (also where `every` does not divide `size`, and with gaps) and global windows."""
    # The event domain stands thrice: only there can records be late.
    domain = st.sampled_from([one for one in domains for _ in range(3 if one is TimeDomain.EVENT else 1)])
    offset = durations(-9, 9)
    tumbling = st.builds(Tumbling, durations(), offset, domain)
    hopping = st.builds(_hopping, durations(2), durations(2), offset, domain, st.sampled_from([False, False, gaps]))
    return _among(tumbling, tumbling, hopping, hopping, st.builds(Global, domain))


def _among(*choices: SearchStrategy[T]) -> SearchStrategy[T]:
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
    return st.builds(Every, durations(1, 12), st.sampled_from(TimeDomain))


@cache
def semantics() -> SearchStrategy[Semantics]:
    """The peers' presets, and answers that no peer gives together."""
    any_answers = st.builds(
        Semantics,
        closes_after_end=st.booleans(),
        expires_after_horizon=st.booleans(),
        late_by=st.sampled_from(LateBy),
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
    return _among(st.just(Duration(0)), durations(1, 12), durations(1, 12), st.just(Duration.FOREVER))


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

    `specs(window=windows([TimeDomain.EVENT]), lateness=Duration(5))` fixes the lateness and draws the rest. Windows of
    processing time have no lateness, whatever is given.
    """
    free: dict[str, SearchStrategy[Any]] = {
        "window": windows(),
        "aggregates": aggregates(),
        "keys": st.sampled_from([("k",), ("k",), (), ("k", "b")]),
        "trigger": _among(common_triggers(), common_triggers(), lasting_triggers(), triggers()),
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
    in_processing_time = fields["window"].domain is TimeDomain.PROCESSING
    return WindowSpec(time="ts", **{**fields, **({"lateness": Duration(0)} if in_processing_time else {})})


@cache
def records(
    *, around: int = 0, least: int = 0, most: int = MOST_IN_BUNDLE, unusable: bool = True
) -> SearchStrategy[tuple[Record, ...]]:
    """A bundle whose times lie close to `around`; `unusable` allows times that are null or out of range."""
    record = st.fixed_dictionaries(
        {
            "ts": st.integers(-DISORDER, DISORDER + (len(UNUSABLE) if unusable else 0)).map(partial(_time, around)),
            "k": st.sampled_from(["a", "b", None]),
            "v": st.integers(-4, 9).map(lambda n: None if n == 9 else n),
            "f": st.sampled_from([0.25, None, -1.5, 2.0, 7.75, math.nan]),
            "b": st.sampled_from([True, False, None]),
        }
    )
    return st.lists(record, min_size=least, max_size=most).map(tuple)


def _time(around: int, n: int) -> int | None:
    return around + n if n <= DISORDER else UNUSABLE[n - DISORDER - 1]


@st.composite
def scripts(draw: DrawFn, spec: WindowSpec, *, calm: bool = False) -> list[Step]:
    """Steps for `spec` that mix bundles, watermarks, clocks and signals, and then end the input.

    Event time wanders forward; records, and now and then a watermark or a clock, step back. In a calm script every
    time is usable, no signal finishes a trigger, and no watermark jumps to the end of time.
    """
    has_signal = _mentions_signal(spec.trigger)
    steps: list[Step] = []
    place = clock = 0
    for _ in range(draw(st.integers(2, MOST_STEPS))):
        place += draw(st.integers(0, STRIDE))
        clock += draw(st.integers(-2, STRIDE))
        has_records = draw(st.sampled_from([True, True, True, False]))
        steps.append(
            Step(
                records=draw(records(around=place, least=1, unusable=not calm)) if has_records else (),
                watermark=draw(
                    st.none() | st.integers(-DISORDER, DISORDER + (not calm)).map(partial(_watermark, place))
                ),
                clock=draw(st.sampled_from([None, clock])),
                signal=draw(st.sampled_from([None, True, False])) if has_signal else None,
                finish=draw(st.booleans()) if has_signal and not calm else False,
            )
        )
    return [*steps, Step(end=True)]


def _watermark(place: int, n: int) -> int:
    """Somewhere close; once in a while the source says that nothing more will come."""
    return place + n if n <= DISORDER else END_OF_TIME


def _mentions_signal(trigger: Trigger) -> bool:
    return isinstance(trigger, OnSignal) or any(_mentions_signal(part) for part in trigger.parts)


def pipelines(**fields: Any) -> SearchStrategy[Pipeline]:
    """A spec and a script for it; `fields` as in `specs`."""
    return _with_script(specs(**fields))


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
    return _with_script(specs(**{**calm, **fields}), calm=True)


@st.composite
def _with_script(draw: DrawFn, some: SearchStrategy[WindowSpec], *, calm: bool = False) -> Pipeline:
    spec = draw(some)
    return spec, draw(scripts(spec, calm=calm))


def _calm(answers: Semantics) -> Semantics:
    closing = Closing.IF_NEW if answers.closing is Closing.NEVER else answers.closing
    return replace(answers, closing=closing, earliest_start=None)


@st.composite
def cut(draw: DrawFn, stream: Sequence[Record]) -> list[tuple[Record, ...]]:
    """Any cut of a stream into bundles that are not empty, the order kept."""
    inner = range(1, len(stream))
    marks = sorted(draw(st.sets(st.sampled_from(inner)))) if inner else []
    return [tuple(stream[a:b]) for a, b in zip([0, *marks], [*marks, len(stream)], strict=True) if a < b]


def shuffled(stream: Sequence[Record]) -> SearchStrategy[list[Record]]:
    """Any order of arrival."""
    return st.permutations(stream)


@st.composite
def rearranged(draw: DrawFn, steps: Sequence[Step]) -> list[Step]:
    """The same records in any order of arrival and any cut, between the same watermarks, clocks and signals."""
    stream = draw(shuffled([record for step in steps for record in step.records]))
    bundles = draw(cut(stream))
    controls = [replace(step, records=()) for step in steps if not step.end]
    is_bundle = draw(st.permutations([True] * len(bundles) + [False] * len(controls)))
    bundle, control = iter(bundles), iter(controls)
    merged = [Step(records=next(bundle)) if taken else next(control) for taken in is_bundle]
    return [*merged, Step(end=True)]
