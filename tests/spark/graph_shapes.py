"""Pipelines of two to four stages: every kind of stage after every other, with keys that change on the way.

Some have two inputs, and some conditions. As in `shapes`, each takes the next choice of every list, at a pace of its
own, so that they are the same everywhere.
What a stage computes does not depend on the order of its records: on Spark the rows of a step come from many shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import fanlight as fl
from fanlight.model.aggregates import Aggregate
from fanlight.model.triggers import Trigger
from fanlight.model.windows.kind import WindowKind
from fanlight.testing.script import Condition

from .shapes import DELAY, SCHEMA, bundles

COUNT = 40

FIRST: tuple[WindowKind | None, ...] = (
    fl.tumbling("10 seconds"),
    fl.hopping("20 seconds", every="5 seconds"),
    fl.session("1800 milliseconds"),
    None,
    fl.cumulating("30 seconds", step="10 seconds"),
    fl.sliding("4 seconds"),
    fl.tumbling("7 seconds", offset="3 seconds"),
    fl.calendar("day", zone="America/St_Johns"),
    fl.session("6 seconds", max_duration="12 seconds", max_count=4),
)
"""The windows of the first stage; None sorts."""

LATER: tuple[WindowKind | None, ...] = (
    fl.tumbling("20 seconds"),
    fl.session("6 seconds"),
    None,
    fl.hopping("30 seconds", every="10 seconds"),
    fl.sliding("10 seconds", anchor="both"),
    fl.tumbling("15 seconds", offset="-5 seconds"),
    fl.cumulating("60 seconds", step="20 seconds"),
    fl.sliding("7 seconds", anchor="forward"),
)

KEYS: tuple[tuple[str, ...], ...] = (
    ("text",),
    ("flag", "day"),
    (),
    ("price",),
    ("text", "flag"),
    ("raw",),
    ("number",),
)

KEPT = ("all", "none", "first", "more", "other")
"""Which keys a later stage has: those before it, none, the first of them, one more, another one."""


@dataclass(frozen=True, slots=True)
class Firing:
    """When the windows of a stage fire, and what they carry."""

    trigger: Trigger | None = None
    lateness: str | None = None
    word: str = "accumulating"


ON_THE_WAY = (
    Firing(word="discarding"),
    Firing(fl.at_watermark(), "40 seconds", "discarding"),
    Firing(fl.at_expiry(), "10 seconds"),
    Firing(fl.at_watermark(early=fl.after(2), late=fl.after(1)), "12 seconds", "discarding"),
    Firing(fl.repeat(fl.after(3)), "forever", "discarding"),
    Firing(fl.at_watermark(early=fl.after(1), late=None), "0 seconds", "discarding"),
)
"""Whose rows stay, so that any stage can follow."""

ONCE = (Firing(lateness="0 seconds"), Firing(fl.at_expiry(), "10 seconds"), Firing(fl.at_expiry()))
"""The same for windows that come and go with their records."""

AT_THE_END = (
    Firing(),
    Firing(fl.at_watermark(early=fl.after(1), late=fl.after(1)), None, "retracting"),
    Firing(fl.at_watermark(), "1 minute"),
    Firing(fl.at_expiry()),
    Firing(fl.at_watermark(early=fl.after(2)), "forever", "retracting"),
)


@dataclass(frozen=True, slots=True)
class GraphShape:
    """A pipeline of several stages, and the name a test calls it by."""

    number: int
    name: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs; none, if it has only one."""
        return ("even", "odd") if self.number % 3 == 1 else ()

    @property
    def schema(self) -> pa.Schema:
        """The columns of its records."""
        return SCHEMA

    @property
    def bundles(self) -> list[pa.Table]:
        """What comes in each micro-batch."""
        return bundles()

    @property
    def conditions(self) -> tuple[Condition | None, ...]:
        """The condition of each stage: of the first on what the records bring, of the others on what was counted."""
        stages = range(1, _count(self.number) + 1)
        return tuple(self._condition(stage) if (self.number + stage) % 4 == 0 else None for stage in stages)

    def _condition(self, stage: int) -> Condition | None:
        before = _kind(self.number, stage - 1)
        if stage == 1 or before is None:  # a sort hands on what came to it, and that may be anything
            return Condition("v", 3) if stage == 1 else None
        return Condition(f"n{stage - 1}", 2 if stage == 2 else 1)  # of few rows a later one would leave none

    def over(self, *sources: Any) -> Any:
        """The pipeline over a source, or over one for each of its inputs."""
        number, count = self.number, _count(self.number)
        streams = [fl.stream(source, time="ts", delay=fl.Duration(DELAY), ahead=None, unit="us") for source in sources]
        result: Any = fl.union(**dict(zip(self.inputs, streams, strict=True))) if self.inputs else streams[0]
        keys = _next(KEYS, number)
        columns = ["text", "flag", "day", "price", "raw", "number", "v"]
        for stage in range(1, count + 1):
            if stage > 1:
                keys = _keys(_next(KEPT, number + stage), keys, columns)
            kind, condition = _kind(number, stage), self.conditions[stage - 1]
            kept = result if condition is None else result.where(fl.col(condition.column) >= condition.least)
            keyed = kept.key_by(*keys) if keys else kept
            if kind is None:
                result = keyed.sort()
                continue
            result = _fired(keyed, kind, number + stage, last=stage == count).agg(**_aggregates(stage, columns))
            columns = [*keys, f"n{stage}", f"total{stage}", f"most{stage}"]
        return result


def _fired(stream: Any, kind: WindowKind, number: int, *, last: bool) -> Any:
    firing: Firing = _next(AT_THE_END if last else ON_THE_WAY if kind.is_aligned else ONCE, number)
    said = {} if firing.lateness is None else {"lateness": firing.lateness}
    windowed = stream.window(kind, **said)
    windowed = windowed if firing.trigger is None else windowed.trigger(firing.trigger)
    if not kind.is_aligned and firing.word == "accumulating":
        return windowed.retracting()
    return {"discarding": windowed.discarding, "retracting": windowed.retracting}.get(
        firing.word, windowed.accumulating
    )()


def _aggregates(stage: int, columns: list[str]) -> dict[str, Aggregate]:
    """A count, a sum and a maximum, of what the stage before has counted and summed up."""
    value = next((name for name in columns if name.startswith("total")), "v")
    other = next((name for name in columns if name[0] == "n" and name[1:].isdigit()), "v")
    return {f"n{stage}": fl.count(), f"total{stage}": fl.sum(value), f"most{stage}": fl.max(other)}


def _keys(kept: str, keys: tuple[str, ...], columns: list[str]) -> tuple[str, ...]:
    match kept:
        case "none":
            return ()
        case "first":
            return keys[:1]
        case "more":
            return (*keys, *[name for name in columns if name not in keys][:1])
        case "other":
            return (columns[-2],)
    return keys


def _kind(number: int, stage: int) -> WindowKind | None:
    kind: WindowKind | None = _next(FIRST, number + number // 3) if stage == 1 else _next(LATER, number + 3 * stage)
    return kind


def _count(number: int) -> int:
    return 2 + number // 3 % 3


def _next(choices: tuple[Any, ...], number: int) -> Any:
    return choices[number % len(choices)]


def _named(number: int) -> str:
    kind = _kind(number, 1)
    return f"{number:02d}-{_count(number)}-stages-{'sort' if kind is None else type(kind).__name__.lower()}"


GRAPHS = [GraphShape(number, _named(number)) for number in range(COUNT)]
