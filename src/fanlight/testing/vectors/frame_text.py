"""Frames as the format writes them: `rows 3 preceding..current`, `range 2 preceding..10 preceding`, a mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.time.duration import ZERO, Duration
from fanlight.testing.vectors.milliseconds import length

_BOUND = r"current|(?:\d+|unbounded) (?:preceding|following)"
_FRAME = re.compile(rf"(?P<unit>rows|range) (?P<start>{_BOUND})\.\.(?P<end>{_BOUND})(?P<exclude> exclude current)?")


def frame_of(frame: Mapping[str, Any] | None) -> Frame:
    """The frame of a case; without one, all rows of one time are in each other's."""
    if frame is None:
        return RangeFrame()
    unbounded = frame.get("preceding") == "unbounded"
    match frame.get("unit"):
        case "rows":
            return RowFrame(preceding=None if unbounded else int(frame["preceding"]), following=int(frame["following"]))
        case "range":
            before = Duration.FOREVER if unbounded else length(frame["preceding"])
            return RangeFrame(preceding=before, following=length(frame["following"]))
        case "session":
            return SessionFrame(gap=length(frame["gap"]))
    raise VectorError(f"over: frames by {frame.get('unit')} are not known.")


def frame_in(text: str) -> Frame:
    """The frame that a column says.

    >>> frame_in("rows 1 preceding..10 preceding")
    RowFrame(excludes_current=False, preceding=1, following=-10)
    >>> str(frame_in("range 10 following..2 following"))
    'no row'
    """
    found = _FRAME.fullmatch(text)
    if found is None:
        raise VectorError(f"over: the frame {text!r} cannot be read.")
    without, start, end = found["exclude"] is not None, _after(found["start"]), _after(found["end"])
    if found["unit"] == "rows":
        return RowFrame(without, None if start is None else -start, end)
    return RangeFrame(
        without,
        Duration.FOREVER if start is None else _turned(length(start)),
        Duration.FOREVER if end is None else length(end),
    )


def _after(bound: str) -> int | None:
    """How far after the row a bound is; None if it has none."""
    if bound == "current":
        return 0
    number, side = bound.split()
    if number == "unbounded":
        return None
    return int(number) if side == "following" else -int(number)


def _turned(duration: Duration) -> Duration:
    return Duration(-duration.micros) if duration.micros else ZERO
