"""The field `window`, read as a kind of window of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fanlight.errors import VectorError
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Assign, Custom
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.derived import GAP
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment
from fanlight.testing.vectors.peers import peer_of

_TOUCHING = ("flink", "kafka", "spark")
"""Peers whose sessions merge when they are exactly one gap apart."""


def window_of(vector: Vector) -> WindowKind:
    """The kind of window, on the clock the vector names."""
    kind = vector.mapping("window").get("kind")
    if kind not in _READERS:
        raise NotAdoptedError(f"{kind} windows are not built yet")
    return _READERS[kind](_Declared(vector))


class _Declared:
    """The fields of a window as written."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.fields: Mapping[str, Any] = vector.mapping("window")
        self.domain = TimeDomain(self.fields.get("time", "event"))

    def needed(self, field: str) -> Any:
        value = self.fields.get(field)
        if value is None:
            raise VectorError(f"`window` has no `{field}`; a window of this kind needs one.")
        return value

    @property
    def scope(self) -> Scope:
        """Positions are counted for each key; where there is none, over the stream."""
        return Scope.KEY if self.vector.get("key") else Scope.STREAM


def _tumbling(window: _Declared) -> WindowKind:
    return Tumbling(length(window.needed("size")), length(window.fields.get("offset", 0)), window.domain)


def _hopping(window: _Declared) -> WindowKind:
    size, slide = length(window.needed("size")), length(window.needed("slide"))
    return Hopping(size, slide, length(window.fields.get("offset", 0)), window.domain, gaps=slide > size)


def _cumulating(window: _Declared) -> WindowKind:
    size, step = length(window.needed("size")), length(window.needed("step"))
    return Cumulating(size, step, length(window.fields.get("offset", 0)), window.domain)


def _session(window: _Declared) -> WindowKind:
    touching = bool(window.fields.get("merge_touching", peer_of(window.vector) in _TOUCHING))
    if window.fields.get("gap_rule") is not None:
        return Session(gap_from=GAP, touching=touching, domain=window.domain)
    return Session(length(window.needed("gap")), touching=touching, domain=window.domain)


def _sliding(anchor: Anchor) -> Callable[[_Declared], WindowKind]:
    return lambda window: Sliding(length(window.needed("diff")), anchor, window.domain)


def _counting(every: str) -> Callable[[_Declared], WindowKind]:
    return lambda window: Counting(int(window.needed("size")), int(window.needed(every)), window.scope)


def _unlimited(window: _Declared) -> WindowKind:
    return Custom(_from(moment(window.fields.get("start", 0))), window.domain)


def _from(start: Timestamp) -> Assign:
    """One window that starts, and does not end; what comes before it is in none."""

    def assign(times: Any, _: Any) -> tuple[Any, ...]:
        rows = np.flatnonzero(times >= start)
        return rows, np.full(len(rows), start), np.full(len(rows), END_OF_TIME)

    return assign


_READERS: dict[Any, Callable[[_Declared], WindowKind]] = {
    "fixed": _tumbling,
    "tumbling": _tumbling,
    "sliding": _hopping,
    "hopping": _hopping,
    "global": lambda window: Global(window.domain),
    "cumulate": _cumulating,
    "session": _session,
    "sliding_kafka": _sliding(Anchor.BOTH),
    "sliding_forward": _sliding(Anchor.FORWARD),
    "sliding_trailing": _sliding(Anchor.TRAILING),
    "count_tumbling": _counting("size"),
    "count_sliding": _counting("slide"),
    "unlimited": _unlimited,
}
