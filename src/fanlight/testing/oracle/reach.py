"""How far time has come, and what that means for a window: closed, expired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, later
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.session import Session
from fanlight.model.windows.window import Window
from fanlight.testing.script import Key


@dataclass(frozen=True, slots=True)
class Reach:
    """How far time has come; at the end of the input everything is over, whatever its lateness.

    Where each key counts its own records, `positions` holds the next position of each.
    """

    watermark: int = START_OF_TIME
    ended: bool = False
    positions: Mapping[Key, int] | None = None

    def of(self, key: Key) -> Reach:
        """How far it has come for the windows of one key."""
        if self.positions is None or self.ended:
            return self
        return Reach(self.positions.get(key, 1))


def closed(spec: WindowSpec, window: Window, reach: Reach) -> bool:
    """Whether the window is closed; one over positions is when its last has come, whatever the semantics say."""
    if reach.watermark == END_OF_TIME:
        return True
    return _past(reach.watermark, window.end, strictly=_strictly(spec, spec.semantics.closes_after_end))


def expired(spec: WindowSpec, window: Window, reach: Reach) -> bool:
    """Whether the window has expired. Windows over positions know no lateness."""
    if reach.ended:
        return True
    counts = isinstance(spec.window, Counting)
    if spec.lateness.is_forever and not counts:
        return False
    if reach.watermark == END_OF_TIME:
        return True
    horizon = later(window.end, 0 if counts else spec.lateness.micros)
    return _past(reach.watermark, horizon, strictly=_strictly(spec, spec.semantics.expires_after_horizon))


def too_far_back(spec: WindowSpec, time: int, reach: Reach) -> bool:
    """Whether a record is late by its own time, where the semantics judge by that. A position is not."""
    if spec.semantics.late_by is not LateBy.RECORD or isinstance(spec.window, Counting):
        return False
    return reach.ended or (not spec.lateness.is_forever and time < reach.watermark - spec.lateness.micros)


def _past(watermark: int, instant: int, *, strictly: bool) -> bool:
    return watermark > instant if strictly else watermark >= instant


def _strictly(spec: WindowSpec, said: bool) -> bool:
    match spec.window:
        case Counting():
            return False
        case Session():
            return said or spec.semantics.session_end_is_inclusive
    return said
