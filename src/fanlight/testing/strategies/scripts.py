"""Hypothesis strategies for what goes in: records, scripts, and the same records cut and ordered otherwise.

Times are a few microseconds, so that ends, ticks and delays meet often. Every record has the same shape:
`{"ts": int | None, "k": str | None, "v": int | None, "f": float | None, "b": bool | None}`. Floats are quarters: their
sums are exact in every order, so only what divides or takes roots needs a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.model.triggers import OnSignal, Trigger
from fanlight.testing.script import Record, Step

MOST_STEPS, MOST_IN_BUNDLE = 8, 5
"""At most forty records."""

STRIDE, DISORDER = 10, 12
"""How far event time moves on from one step to the next, and how far a record may be from where it stands."""

UNUSABLE = (None, EARLIEST - 1, LATEST + 1)
"""Times that no window can use."""


@cache
def records(
    *, around: int = 0, least: int = 0, most: int = MOST_IN_BUNDLE, unusable: tuple[int | None, ...] = UNUSABLE
) -> SearchStrategy[tuple[Record, ...]]:
    """A bundle whose times lie close to `around`, or are one of the `unusable`."""
    record = st.fixed_dictionaries(
        {
            "ts": st.integers(-DISORDER, DISORDER + len(unusable)).map(partial(_time, around, unusable)),
            "k": st.sampled_from(["a", "b", None]),
            "v": st.integers(-4, 9).map(lambda n: None if n == 9 else n),
            "f": st.sampled_from([0.25, None, -1.5, 2.0, 7.75, math.nan]),
            "b": st.sampled_from([True, False, None]),
        }
    )
    return st.lists(record, min_size=least, max_size=most).map(tuple)


def _time(around: int, unusable: tuple[int | None, ...], n: int) -> int | None:
    return around + n if n <= DISORDER else unusable[n - DISORDER - 1]


@st.composite
def scripts(
    draw: DrawFn, spec: WindowSpec, *, calm: bool = False, unusable: tuple[int | None, ...] = UNUSABLE
) -> list[Step]:
    """Steps for `spec` that mix bundles, watermarks, clocks and signals, and then end the input.

    Event time wanders forward; records, and now and then a watermark or a clock, step back. In a calm script every
    time is usable, no signal finishes a trigger, and no watermark jumps to the end of time.
    """
    unusable = () if calm else unusable
    has_signal = _mentions_signal(spec.trigger)
    steps: list[Step] = []
    place, clock = 0, draw(st.sampled_from([0, -2 * STRIDE]))  # before 1970 too
    for _ in range(draw(st.integers(2, MOST_STEPS))):
        place += draw(st.integers(0, STRIDE))
        clock += draw(st.integers(-2, STRIDE))
        has_records = draw(st.sampled_from([True, True, True, False]))
        steps.append(
            Step(
                records=draw(records(around=place, least=1, unusable=unusable)) if has_records else (),
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


@st.composite
def cut(draw: DrawFn, stream: Sequence[Record]) -> list[tuple[Record, ...]]:
    """Any cut of a stream into bundles that are not empty, the order kept."""
    inner = range(1, len(stream))
    marks = sorted(draw(st.sets(st.sampled_from(inner)))) if inner else []
    return [tuple(stream[a:b]) for a, b in zip([0, *marks], [*marks, len(stream)], strict=True) if a < b]


def shuffled(stream: Sequence[Record]) -> SearchStrategy[list[Record]]:
    """Any order of arrival."""
    return st.permutations(stream)


def rearranged(steps: Sequence[Step]) -> SearchStrategy[list[Step]]:
    """The same records in any order of arrival and any cut, between the same watermarks, clocks and signals."""
    return shuffled(_stream(steps)).flatmap(lambda stream: _between(stream, steps))


def recut(steps: Sequence[Step]) -> SearchStrategy[list[Step]]:
    """The same records in their order and in any cut, between the same watermarks, clocks and signals."""
    return _between(_stream(steps), steps)


def _stream(steps: Sequence[Step]) -> list[Record]:
    return [record for step in steps for record in step.records]


@st.composite
def _between(draw: DrawFn, stream: Sequence[Record], steps: Sequence[Step]) -> list[Step]:
    bundles = draw(cut(stream))
    controls = [replace(step, records=()) for step in steps if not step.end]
    is_bundle = draw(st.permutations([True] * len(bundles) + [False] * len(controls)))
    bundle, control = iter(bundles), iter(controls)
    merged = [Step(records=next(bundle)) if taken else next(control) for taken in is_bundle]
    return [*merged, Step(end=True)]
