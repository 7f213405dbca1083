"""A pipeline in words, stage by stage: what it reads, when it fires, what it keeps and for how long."""

from __future__ import annotations

from functools import singledispatch

from fanlight.model.cogroup import CogroupSpec
from fanlight.model.firing import FiringTime
from fanlight.model.join.spec import JoinSpec
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

Lines = list[tuple[str, str]]
"""A word, and what is to be said under it."""


def explained(lines: Lines) -> str:
    """Lines as text, their words in one column."""
    width = max(len(word) for word, _ in lines)
    return "\n".join(f"{word.ljust(width)}  {text}" for word, text in lines)


@singledispatch
def stage_lines(spec: StreamSpec, before: StreamSpec | None = None) -> Lines:
    """What is to be said of one stage, wherever it runs; `before` is the stage whose results it reads."""
    keys = ", ".join(f"`{name}`" for name in spec.keys) or "none: one group"
    return [("keys", keys), ("time", _time(spec)), ("watermark", _watermark(spec, before)), *spec.told]


@stage_lines.register
def partition_lines(spec: WindowedOverSpec, before: StreamSpec | None = None) -> Lines:
    """What is to be said of `over` inside windows: it takes what these say as it comes, whatever the time."""
    keys = ", ".join(f"`{name}`" for name in spec.keys) or "none: one group"
    return [("keys", keys), ("watermark", _watermark(spec, before)), *spec.told]


@stage_lines.register
def window_lines(spec: WindowSpec, before: StreamSpec | None = None) -> Lines:
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
def join_lines(spec: JoinSpec, before: StreamSpec | None = None) -> Lines:
    """What is to be said of a join: keys and times are those of its sides."""
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    keys = ", ".join(f"`{own}` of {spec.left.name} = `{other}` of {spec.right.name}" for own, other in pairs)
    units = ("" if side.unit is None else f" in {side.unit.value}" for side in (spec.left, spec.right))
    times = [f"`{side.time}` of {side.name}{unit}" for side, unit in zip((spec.left, spec.right), units, strict=True)]
    return [
        ("keys", keys or "none: times alone count"),
        ("time", f"{' and '.join(times)}, event time{_ahead(spec)}"),
        ("watermark", _watermark(spec, before)),
        *spec.told,
    ]


@stage_lines.register
def window_join_lines(spec: WindowJoinSpec, before: StreamSpec | None = None) -> Lines:
    """What is to be said of a join by window: its windows too."""
    keys, *others = join_lines(spec, before)
    late = f", lateness {spec.lateness}" if spec.lateness.micros else ""
    return [keys, ("windows", f"{words(to_document(spec.match.window))}{late}"), *others]


@stage_lines.register
def cogroup_lines(spec: CogroupSpec, before: StreamSpec | None = None) -> Lines:
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


def _watermark(spec: StreamSpec, before: StreamSpec | None) -> str:
    if spec.domain is TimeDomain.PROCESSING:
        return "the clock"
    if spec.domain is TimeDomain.ARRIVAL:
        return "the next place"
    return _followed(spec.watermark) if before is None else _handed_on(before)


def _handed_on(before: StreamSpec) -> str:
    """The watermark that a stage hands on, in words."""
    held = _SOME_TIME - before.hands_on(_SOME_TIME)
    return f"that of the stage before{f', less {Duration(held)}' if held else ''}"


def _followed(strategy: WatermarkStrategy) -> str:
    match strategy:
        case BoundedDisorder(delay=delay, per_record=per_record):
            return f"{delay} behind the greatest time seen{', record by record' if per_record else ''}"
        case FixedDistance(distance=distance):
            return f"{distance} behind the clock"
        case Explicit():
            return "as the caller says"
        case Several(inputs=inputs, combine=combine, ready=ready):
            from_ = {name: f", once it has reached {as_text(time)}" for name, time in ready}
            each = ", ".join(f"{name} ({_followed(one)}{from_.get(name, '')})" for name, one in inputs)
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
