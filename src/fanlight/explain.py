"""A pipeline in words, stage by stage: what it reads, when it fires, what it keeps and for how long.

What is said is said here; `display` shows it as HTML and as a picture, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from types import MappingProxyType

from fanlight.model.cogroup import CogroupSpec
from fanlight.model.firing import FiringTime
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import to_document, words
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import as_text
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, FixedDistance, Several, WatermarkStrategy
from fanlight.model.triggers import AtWatermark

_SOME_TIME = 10**15
"""Any time that is no end of time: what a stage hands on less is the same at all of them."""

_NO_STAGES: Mapping[str, StreamSpec] = MappingProxyType({})
Lines = list[tuple[str, str]]
"""A word, and what is to be said under it."""
Before = StreamSpec | Mapping[str, StreamSpec] | None
"""The stage whose results another one reads; where there are several inputs, those that are stages, by name."""


def explained(lines: Lines) -> str:
    """Lines as text, their words in one column."""
    width = max(len(word) for word, _ in lines)
    return "\n".join(f"{word.ljust(width)}  {text}" for word, text in lines)


@dataclass(frozen=True, slots=True)
class ToldInput:
    """One input of a stage, as a picture of the plan shows it."""

    name: str
    """Empty, if there is only one."""
    what: str
    after: str
    """What is done to its records first; empty, if nothing is."""
    watermark: str
    before: ToldStage | None = None
    """The stage whose results it brings."""


@dataclass(frozen=True, slots=True)
class ToldStage:
    """What is said of a stage and of what it reads: text, HTML and the picture are made of it."""

    spec: StreamSpec
    runs: str
    """Where it runs."""
    reads: str
    inputs: tuple[ToldInput, ...]
    said: Lines
    """Everything else."""
    exchange: str = ""
    """How records travel to it; empty, if they do not."""

    @property
    def chain(self) -> Iterator[ToldStage]:
        """The stages that its records pass, and itself, the last."""
        for one in self.inputs:
            if one.before is not None:
                yield from one.before.chain
        yield self

    @property
    def text(self) -> str:
        """The pipeline as text."""
        prepared = [("after", one.after) for one in self.inputs if one.after]
        before = [line for one in self.inputs if one.before is not None for line in (one.before.text, "")]
        return "\n".join([*before, explained([("runs", self.runs), ("reads", self.reads), *prepared, *self.said])])


def told_input(spec: StreamSpec, name: str, what: str, after: str, before: ToldStage | None) -> ToldInput:
    """What is said of one input of a stage, with the watermark that it brings."""
    strategies = dict(spec.watermark.inputs) if isinstance(spec.watermark, Several) else {}
    if before is not None:
        return ToldInput(name, what, after, _handed_on(before.spec), before)
    follows = _followed(strategies[name]) if name in strategies else _watermark(spec, None)
    return ToldInput(name, what, after, follows)


@singledispatch
def stage_lines(spec: StreamSpec, before: Before = None) -> Lines:
    """What is to be said of one stage, wherever it runs; `before` is the stage whose results it reads."""
    keys = ", ".join(f"`{name}`" for name in spec.keys) or "none: one group"
    return [("keys", keys), ("time", _time(spec)), ("watermark", _watermark(spec, before)), *spec.told]


@stage_lines.register
def partition_lines(spec: WindowedOverSpec, before: Before = None) -> Lines:
    """What is to be said of `over` inside windows: it takes what these say as it comes, whatever the time."""
    keys = ", ".join(f"`{name}`" for name in spec.keys) or "none: one group"
    return [("keys", keys), ("watermark", _watermark(spec, before)), *spec.told]


@stage_lines.register
def window_lines(spec: WindowSpec, before: Before = None) -> Lines:
    """What is to be said of a windowed aggregate.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> print(explained(stage_lines(WindowSpec("ts", tumbling("1 min"), (("n", count()),)))))
    keys       none: one group
    windows    tumbling 1 min
    time       `ts`, event time, whole numbers in us
    watermark  0 s behind the greatest time seen
    fires      once for each pane, when its window closes
    gives      n = count
    keeps      partial aggregates by slice, until the last window of a slice has expired
    """
    return [
        ("keys", ", ".join(f"`{name}`" for name in spec.keys) or "none: one group"),
        ("windows", _windows(spec)),
        ("time", _time(spec)),
        ("watermark", _watermark(spec, before)),
        ("fires", _fires(spec)),
        ("gives", words(to_document(spec.aggregates))),
        ("keeps", "; ".join(_kept(spec))),
    ]


@stage_lines.register
def join_lines(spec: SidedSpec, before: Before = None) -> Lines:
    """What is to be said of a join: keys and times are those of its sides."""
    keys = (
        " = ".join(f"`{key}` of {side.name}" for key, side in zip(same, spec.sides, strict=True))
        for same in zip(*(side.keys for side in spec.sides), strict=True)
    )
    units = ("" if side.unit is None else f" in {side.unit.value}" for side in spec.sides)
    times = [f"`{side.time}` of {side.name}{unit}" for side, unit in zip(spec.sides, units, strict=True)]
    return [
        ("keys", ", ".join(keys) or "none: times alone count"),
        ("time", f"{' and '.join(times)}, event time{_ahead(spec)}"),
        ("watermark", _watermark(spec, before)),
        *spec.told,
    ]


@stage_lines.register
def window_join_lines(spec: WindowJoinSpec, before: Before = None) -> Lines:
    """What is to be said of a join by window: its windows too."""
    keys, *others = join_lines(spec, before)
    late = f", lateness {spec.lateness}" if spec.lateness.micros else ""
    return [keys, ("windows", f"{words(to_document(spec.match.window))}{late}"), *others]


@stage_lines.register
def cogroup_lines(spec: CogroupSpec, before: Before = None) -> Lines:
    """What is to be said of a cogroup: which inputs must have records for a window."""
    *others, keeps = window_lines(spec, before)
    return [*others, ("needs", f"records of {' and '.join(spec.needs)} in a window"), keeps]


def _windows(spec: WindowSpec) -> str:
    said = words(to_document(spec.window))
    return said if not spec.lateness.micros else f"{said}, lateness {spec.lateness}"


def _time(spec: StreamSpec) -> str:
    if spec.domain is TimeDomain.PROCESSING:
        return "the clock when a record comes"
    if spec.position is not None:
        return f"the position in `{spec.position}`"
    if spec.domain is TimeDomain.ARRIVAL:
        return "the place of a record in the stream"
    unit = "" if spec.unit is None else f", whole numbers in {spec.unit.value}"
    return f"`{spec.time}`, event time{unit}{_ahead(spec)}"


def _ahead(spec: StreamSpec) -> str:
    return "" if spec.ahead is None else f"; more than {spec.ahead} ahead of the clock is a dead letter"


def _watermark(spec: StreamSpec, before: Before) -> str:
    if spec.domain is TimeDomain.PROCESSING:
        return "the clock"
    if spec.domain is TimeDomain.ARRIVAL:
        return "the next place"
    if before is None or isinstance(before, Mapping):
        return _followed(spec.watermark, before or _NO_STAGES)
    return _handed_on(before)


def _handed_on(before: StreamSpec) -> str:
    """The watermark that a stage hands on, in words."""
    held = _SOME_TIME - before.hands_on(_SOME_TIME)
    return f"that of the stage before{f', less {Duration(held)}' if held else ''}"


def _followed(strategy: WatermarkStrategy, befores: Mapping[str, StreamSpec] = _NO_STAGES) -> str:
    match strategy:
        case BoundedDisorder(delay=delay, per_record=per_record):
            return f"{delay} behind the greatest time seen{', record by record' if per_record else ''}"
        case FixedDistance(distance=distance):
            return f"{distance} behind the clock"
        case Explicit():
            return "as the caller says"
        case Several(inputs=inputs, combine=combine, ready=ready):
            from_ = {name: f", once it has reached {as_text(time)}" for name, time in ready}
            each = ", ".join(
                f"{name} ({_handed_on(befores[name]) if name in befores else _followed(one)}{from_.get(name, '')})"
                for name, one in inputs
            )
            return f"the {'least' if combine.value == 'min' else 'greatest'} of {each}"


def _fires(spec: WindowSpec) -> str:
    if spec.fires_once:
        return f"once for each pane, when its window {'closes' if isinstance(spec.trigger, AtWatermark) else 'expires'}"
    said = words(to_document(spec.trigger))
    changed = ", only if the values changed" if spec.updated_only else ""
    stamped = "" if spec.firing_time is FiringTime.END else f", stamped with the {spec.firing_time.value} record"
    return f"{said}, {spec.accumulation.value}{changed}{stamped}"


def _kept(spec: WindowSpec) -> list[str]:
    """What state there is, and how long it stays."""
    expires = "has expired" if not spec.lateness.is_forever else "expires, which it never does: this grows"
    if not spec.window.is_aligned:
        found = [f"{spec.window.kept_as}, until it {expires}"]
    elif spec.keeps_panes:
        found = [f"a row for each pane (key and window), until its window {expires}"]
    else:
        found = [f"partial aggregates by slice, until the last window of a slice {expires}"]
    if spec.needs_messages:
        found.append("the records themselves, because an aggregate or retention needs them")
    if spec.retention is not None:
        found.append(f"expired windows for reading: {words(to_document(spec.retention))}")
    return found
