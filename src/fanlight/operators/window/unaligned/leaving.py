"""When messages leave the live ones with their windows, and which window they then stay with, by kind of window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode_together
from fanlight.kernels.search_key_time import first_rows
from fanlight.kernels.slicing.periodic import Periodic
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.sliding import Sliding
from fanlight.operators.window.messages import keys_of
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.end_buckets import USUAL_WIDTH, width_for

_POSITIONS = 1024
"""How many positions of keys share a slice, at least."""


class Left(NamedTuple):
    """Which messages leave, and the window that each stays with: a row of `windows`, or -1."""

    out: Bools
    owners: Ints
    windows: Content


class Leaving(Protocol):
    """What a kind of window says of messages."""

    @property
    def width(self) -> int:
        """How many places share a slice."""

    def places(self, expired: Content, step: StepTime) -> tuple[int, int] | None:
        """The first and last place of messages that can leave in this step; None if none can."""

    def left(self, messages: pa.RecordBatch, expired: Content, readable: Content) -> Left:
        """What becomes of these messages, given the windows that expired in this step and all readable ones."""


@dataclass(frozen=True, slots=True)
class WithSession:
    """A message is in one session, and leaves with it."""

    plan: Plan
    width: int = USUAL_WIDTH

    def places(self, expired: Content, step: StepTime) -> tuple[int, int] | None:
        """Between the bounds of the sessions that expire."""
        return _spanned(expired)

    def left(self, messages: pa.RecordBatch, expired: Content, readable: Content) -> Left:
        """The messages of the sessions that expire; where sessions are cut, two of them may share a time."""
        if expired.members is None:
            owners = newest(self.plan, expired, messages)
        else:
            owners = of_members(messages, *expired.members)
        return Left(owners >= 0, owners, expired)


@dataclass(frozen=True, slots=True)
class WithPositions:
    """A message leaves with the last window that contains its position."""

    plan: Plan
    width: int
    cut: Periodic

    def places(self, expired: Content, step: StepTime) -> tuple[int, int] | None:
        """Between the bounds of the windows that are full."""
        return _spanned(expired)

    def left(self, messages: pa.RecordBatch, expired: Content, readable: Content) -> Left:
        """The messages whose last window is full."""
        owners = newest(self.plan, expired, messages)
        rows, _, ends = self.cut.windows_of(messages.column("time").to_numpy())
        last = np.full(len(messages), NO_WINDOW)
        np.maximum.at(last, rows, ends)
        out: Bools = (owners >= 0) & (expired.windows[owners] == last)
        return Left(out, owners, expired)


@dataclass(slots=True)
class WithSliding:
    """A message stays while a record to come could define a window that contains it, then with its last window."""

    plan: Plan
    width: int
    length: int
    through: int = EARLIEST
    """The last time that every window of has expired."""

    def places(self, expired: Content, step: StepTime) -> tuple[int, int] | None:
        """All times that every window of has expired."""
        self.through = LATEST if step.expired == EVERY_WINDOW else step.expired - self.length
        return None if step.expired == step.expired_before else (EARLIEST, self.through)

    def left(self, messages: pa.RecordBatch, expired: Content, readable: Content) -> Left:
        """The messages of these times."""
        out: Bools = messages.column("time").to_numpy() <= self.through
        return Left(out, newest(self.plan, readable, messages), readable)


@singledispatch
def leaving_of(_kind: WindowKind, plan: Plan) -> Leaving:
    """What a kind of window says of messages: as sessions do, unless another is registered."""
    return WithSession(plan)


@leaving_of.register
def _(kind: Counting, plan: Plan) -> Leaving:
    return WithPositions(plan, max(kind.size, _POSITIONS), Periodic.cut(kind.size, kind.every, 1, None))


@leaving_of.register
def _(kind: Sliding, plan: Plan) -> Leaving:
    return WithSliding(plan, width_for(kind.difference.micros), kind.difference.micros + plan.spec.tick.micros)


def newest(plan: Plan, windows: Content, messages: pa.RecordBatch) -> Ints:
    """The window with the latest start that contains each message, or -1.

    Windows of one length, and windows that do not overlap, end in the order they start in.
    """
    assert windows.starts is not None  # unaligned windows store their starts
    if not len(windows.windows) or not len(messages):
        return np.full(len(messages), -1)
    _, ours, theirs = encode_together(windows.keys, len(windows.windows), keys_of(plan, messages), len(messages))
    order, codes, starts = sort_by_key_time(ours, windows.starts)
    places = messages.column("time").to_numpy()
    at = first_rows(codes, starts, theirs, places + 1) - 1
    near = order[np.maximum(at, 0)]
    inside = (at >= 0) & (ours[near] == theirs) & (windows.windows[near] > places)
    return np.where(inside, near, -1)


def of_members(messages: pa.RecordBatch, arrivals: Ints, windows: Ints) -> Ints:
    """The window that has each message, or -1, given the arrival numbers of the messages that windows have."""
    if not len(arrivals):
        return np.full(len(messages), -1)
    order = np.argsort(arrivals)
    wanted = messages.column("arrival").to_numpy()
    at = order[np.minimum(np.searchsorted(arrivals[order], wanted), len(order) - 1)]
    return np.where(arrivals[at] == wanted, windows[at], -1)


def _spanned(expired: Content) -> tuple[int, int] | None:
    if not len(expired.windows):
        return None
    assert expired.starts is not None
    return int(expired.starts.min()), int(expired.windows.max())
