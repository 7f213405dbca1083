"""Frames of a join, as Samza's join windows: what a record that comes finds of the other side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.join.interval import Interval
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.windows.counting import Scope

SMALL_ROWS = 1_000
"""A window of at most so many rows is small: it is scanned, and nobody looks its keys up."""
SMALL_RANGE = Duration.of("1 min")
"""A window over at most so much time is small."""


class Access(Enum):
    """How the window of a side is read.

    >>> Access("key")
    <Access.KEY: 'key'>
    """

    SLICE = "slice"
    """Rows lie as they came, or by time; the slice that can be in the window is scanned."""
    KEY = "key"
    """Rows lie by key; those of the keys that somebody asks for are looked up."""


@dataclass(frozen=True, slots=True)
class Unbounded(Frame):
    """The window of a side has all its rows, as long as they are retained.

    >>> str(unbounded())
    'all rows'
    """

    @property
    def is_unbounded(self) -> bool:
        """It starts with the first row."""
        return True

    def __str__(self) -> str:
        return "all rows"


def unbounded() -> Unbounded:
    """All rows of a side: `retention` of the join says how long they are kept.

    >>> import fanlight as fl
    >>> fl.frames(s=fl.unbounded(), o=fl.rows(3)).frame("s")
    Unbounded(excludes_current=False)
    """
    return Unbounded()


@dataclass(frozen=True, slots=True)
class Frames:
    """A record matches what the window of the other side holds when it comes.

        o, rows(3)       1  2  3  4  5
                               [─────]   ◄── a row of s that comes now finds 3, 4 and 5
        s, unbounded()   a  b  c
                         [─────]         ◄── the next row of o finds a, b and c

    >>> frames(s=unbounded(), o=RowFrame(preceding=3)).per
    <Scope.KEY: 'key'>
    """

    sides: tuple[tuple[str, Frame], ...]
    """The window of each side, by the name of its input."""
    per: Scope = Scope.KEY
    """Whether each key has a window of its own, or a side has one for all its rows."""
    within: Interval | None = None
    """How far apart in time rows of a pair may be: the windows of both sides are aligned by it."""
    read: tuple[tuple[str, Access], ...] = ()
    """How the windows of sides are read, where somebody has said it."""

    def __post_init__(self) -> None:
        for name, frame in self.sides:
            _require_frame(name, frame)
        names = [name for name, _ in self.sides]
        for name, _ in self.read:
            if name not in names:
                raise SpecError(
                    f"frames: `read` says how {name!r} is read, which is no side of these frames. Use one of "
                    f"{', '.join(map(repr, names))}."
                )

    def require_sides(self, left: str, right: str) -> None:
        """Refuse frames of other sides than these two."""
        names = sorted(name for name, _ in self.sides)
        if names != sorted((left, right)):
            raise SpecError(
                f"frames: these are the frames of {', '.join(map(repr, names)) or 'no side'}, and the sides are called "
                f"{left!r} and {right!r}. Give each its frame by its name, as in frames({left}=unbounded(), "
                f"{right}=rows(3))."
            )

    def frame(self, side: str) -> Frame:
        """The window of a side."""
        return dict(self.sides)[side]

    def __str__(self) -> str:
        return "; ".join(f"{name}: {_worded(frame)}" for name, frame in self.sides)


def frames(
    sides: Mapping[str, Frame] | None = None,
    /,
    *,
    per: Scope | Literal["key", "stream"] = Scope.KEY,
    within: Interval | None = None,
    read: Access | Literal["slice", "key"] | Mapping[str, Any] | None = None,
    **named: Frame,
) -> Frames:
    """A record matches the rows of its key that the window of the other side holds when it comes, each pair once.

    Sides are named as their streams are: `rows(n)` are the n newest, `range(t)` those of the last t, `unbounded()` all.
    Each key has its windows, or with `per="stream"` each side has one, as in Samza. `within` is an interval that rows
    of a pair must keep besides. `read` says how the windows are read (`"slice"` or `"key"`, of all sides or by name),
    where the choice that `explain` tells is not the one you want. A side that is called like one of these words is
    named in a mapping, which comes first.

    >>> import fanlight as fl
    >>> orders = fl.stream([{"ts": 1, "id": 7, "price": 3}], time="ts", unit="s", name="o").key_by("id")
    >>> ships = fl.stream([{"ts": 9, "id": 7, "cost": 1}], time="ts", unit="s", name="s").key_by("id")
    >>> both = fl.frames(s=fl.unbounded(), o=fl.rows(3))
    >>> ships.join(orders, both, retention=fl.retention("1 h")).table().select(["id", "price", "cost"]).to_pylist()
    [{'id': 7, 'price': 3, 'cost': 1}]
    """
    given = {**(sides or {}), **named}
    if within is not None and not isinstance(within, Interval):
        raise SpecError(f"frames: `within` ({within!r}) must be an interval, as in within=interval('-2 min', '0 s').")
    if read is None:
        said: dict[str, Access] = {}
    elif isinstance(read, Mapping):
        said = {name: choice(Access, one, "read") for name, one in read.items()}
    else:
        said = dict.fromkeys(given, choice(Access, read, "read"))
    return Frames(tuple(given.items()), choice(Scope, per, "per"), within, tuple(said.items()))


def newest_rows(frame: Frame) -> int | None:
    """How many rows a window has at most; None if it is not the number that bounds it."""
    return frame.preceding if isinstance(frame, RowFrame) else None


def newest_time(frame: Frame) -> int | None:
    """How far behind the newest time a window reaches, in microseconds; None if time does not bound it."""
    return None if not isinstance(frame, RangeFrame) or frame.is_unbounded else frame.preceding.micros


def is_small(frame: Frame) -> bool:
    """Whether a window is small enough to be scanned rather than looked up in."""
    if isinstance(frame, RowFrame):
        return frame.preceding is not None and frame.preceding <= SMALL_ROWS
    return isinstance(frame, RangeFrame) and not frame.is_unbounded and frame.preceding <= SMALL_RANGE


def _require_frame(name: str, frame: object) -> None:
    if not isinstance(frame, RowFrame | RangeFrame | Unbounded):
        raise SpecError(
            f"frames: the frame of {name!r} ({frame!r}) is none that a join has. Use rows(3), range('2 min') or "
            "unbounded()."
        )
    if isinstance(frame, Unbounded):
        return
    if frame.following not in (0, ZERO) or frame.excludes_current:
        raise SpecError(
            f"frames: the frame of {name!r} ({frame}) ends with the newest row of its side, and there is no row around "
            "which others could lie or that could be left out. Use rows(3) or range('2 min')."
        )
    if isinstance(frame, RowFrame) and frame.preceding is not None and frame.preceding < 1:
        raise SpecError(f"frames: rows({frame.preceding}) of {name!r} has no row, so nothing would match. Use rows(3).")
    if isinstance(frame, RangeFrame) and frame.preceding.micros < 0:
        raise SpecError(
            f"frames: range({frame.preceding}) of {name!r} starts after its newest row, so nothing would match. Use a "
            "duration from 0 up."
        )


def _worded(frame: Frame) -> str:
    if frame.is_unbounded:
        return "all rows"
    if isinstance(frame, RowFrame):
        return f"the {frame.preceding} newest"
    assert isinstance(frame, RangeFrame)
    return f"those of the last {frame.preceding}"
