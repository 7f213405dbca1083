"""What a picture says in words: a spec as its pipeline spells it, values as labels show them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from fanlight.model.cogroup import CogroupSpec
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.fill import FillSpec
from fanlight.model.firing import Accumulation
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import AsOf, AsOfJoinSpec
from fanlight.model.join.frames import Frames
from fanlight.model.join.interval import Interval
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spec import JoinSpec
from fanlight.model.over.spec import OverSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.recent import RecentSpec
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.model.top import TopSpec
from fanlight.model.triggers import AtWatermark
from fanlight.model.unique import UniqueSpec
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.session import Session
from fanlight.viz.merged import merged_inputs

_LONGEST = 48
_LONGEST_KEY = 16


def described(spec: StreamSpec) -> str:
    """What the pipeline asks for, in one line.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> described(WindowSpec(time="ts", window=tumbling("10 min"), aggregates=(("n", count()),)))
    'tumbling(10 min)'
    """
    if isinstance(spec, TopSpec | FillSpec):
        return f"{described(spec.windows)}, {_kind(spec)}"
    if isinstance(spec, JoinSpec):
        return joined_words(spec)
    inputs = " and ".join(merged_inputs(spec))
    said = [*([f"cogroup of {inputs}"] if inputs else []), _kind(spec)]
    if isinstance(spec, CogroupSpec):
        said.append(f"needs {' and '.join(spec.needs)}")
    if isinstance(spec, WindowSpec) and spec.lateness.micros:
        said.append(f"lateness {spec.lateness}")
    if isinstance(spec.watermark, BoundedDisorder) and spec.watermark.delay.micros:
        said.append(f"delay {spec.watermark.delay}")
    if isinstance(spec, WindowSpec):
        said += _firing(spec)
    return ", ".join(said)


def labelled(values: Mapping[str, Any]) -> str:
    """The values of a firing, by name.

    >>> labelled({"n": 3, "mean": 2.5000000001, "who": ["a", None]})
    'n=3 mean=2.5 who=[a, null]'
    """
    text = " ".join(f"{name}={_value(value)}" for name, value in values.items())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def in_full(values: Mapping[str, Any]) -> str:
    """The same, uncut, for tooltips."""
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def keyed(names: tuple[str, ...], key: tuple[Any, ...]) -> str:
    """What a lane is called."""
    if not names:
        return "all records"
    text = ", ".join(_value(value) for value in key)
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 1]}…"


def _value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}"
        case datetime():
            return f"{value:%H:%M:%S}"
        case list() | tuple():
            return f"[{', '.join(_value(part) for part in value)}]"
        case dict():
            return f"{{{', '.join(f'{name}={_value(part)}' for name, part in value.items())}}}"
    return str(value)


def joined_words(spec: JoinSpec) -> str:
    """What a join asks for, in one line."""
    match: Any = getattr(spec, "match", None)
    if isinstance(match, Interval):
        closed = "" if match.closed == "both" else f", closed={match.closed}"
        match = f"interval({match.lower}, {match.upper}{closed})"
    if isinstance(match, Frames):
        match = f"frames({match})"
    mode = getattr(spec, "mode", EmissionMode.ON_CLOSE)
    is_implied = mode is (EmissionMode.EAGER if spec.how is JoinType.INNER else EmissionMode.ON_CLOSE)
    aggregated = ", aggregates of the matches" if isinstance(spec, AggregatedJoinSpec) else ""
    said = [f"{spec.how.value} join of {spec.left.name} and {spec.right.name}", f"{spelled(match)}{aggregated}"]
    said += [] if is_implied or aggregated or isinstance(spec, AsOfJoinSpec) else [mode.value]
    said += [f"lateness {spec.lateness}"] if spec.lateness.micros else []
    return ", ".join(said)


def _firing(spec: WindowSpec) -> list[str]:
    trigger = [] if spec.trigger == AtWatermark() else [spelled(spec.trigger)]
    return trigger if spec.accumulation is Accumulation.ACCUMULATING else [*trigger, spec.accumulation.value]


def _kind(spec: StreamSpec) -> str:
    if isinstance(spec, SortSpec):
        said = [*map(repr, spec.ties), *(["order='total'"] if spec.total else [])]
        return f"sort({', '.join(said)})"
    if isinstance(spec, OverSpec):
        frames = f"over {'; '.join(dict.fromkeys(str(one.frame) for one in spec.new_columns))}"
        kept = "" if spec.retention is None else f", retention {spec.retention}"
        return frames if spec.mode is EmissionMode.ON_CLOSE else f"{frames}, {spec.mode.value}{kept}"
    if isinstance(spec, WindowedOverSpec):
        return f"{spelled(spec.window)}, over its rows {dict(spec.told)['order']}"
    if isinstance(spec, TopSpec):
        return f"top({spec.first.n}, by {', '.join(one.column for one in spec.first.order)})"
    if isinstance(spec, FillSpec):
        longest = "" if spec.longest is None else f", longest {spec.longest}"
        return f"fill({spec.how.value}{longest})"
    if isinstance(spec, UniqueSpec):
        return f"unique_by({', '.join(map(repr, spec.ids))}), within {spec.within}"
    if isinstance(spec, RecentSpec):
        return f"recent({spec.within})"
    if not isinstance(spec, WindowSpec):
        return type(spec).__name__
    kind = spec.window
    if isinstance(kind, Session) and kind.domain is TimeDomain.ARRIVAL and kind.gap is not None:
        return f"tuple_session({kind.gap.micros - 1})"
    if isinstance(kind, Global):
        return "global_window()"
    return spelled(kind)


def spelled(value: Any) -> str:
    """A value of the model as its constructor is called; what is left to the default is left out."""
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(spelled(part) for part in value)
    if callable(value) and not is_dataclass(value):
        return str(getattr(value, "__name__", value))
    if not is_dataclass(value) or isinstance(value, type | AsOf):
        return str(value)
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
    said = []
    for place, field in enumerate(fields(value)):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        part = getattr(value, field.name)
        is_implied = part is TimeDomain.ARRIVAL or (isinstance(value, Counting) and place == 1 and part == value.size)
        if part != default and not is_implied:
            is_named = place > 0 or isinstance(value, AtWatermark)
            said.append(f"{field.name}={spelled(part)}" if is_named else spelled(part))
    return f"{word}({', '.join(said)})"
