"""What every trigger answers, for all panes at once.

A trigger's tree is the same for every pane of a spec; only its state differs, and that is a row of columns. So each
answer is a vector and each change is made under a mask: the whole algebra runs without a loop over panes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.panes import Signal

State = dict[str, NDArray[Any]]
"""The state columns of all panes, by name."""

UNSET = START_OF_TIME
NOT_DUE = END_OF_TIME


@dataclass(frozen=True, slots=True)
class News:
    """What a bundle brought: how many records each pane got, the clock they came at, the least of their times."""

    counts: Ints
    clock: Timestamp
    least: Ints


@dataclass(frozen=True, slots=True)
class Now:
    """The moment triggers are asked about."""

    closed: Bools
    expired: Bools
    watermark: Timestamp
    clock: Timestamp
    signal: Signal


class Node(ABC):
    """One trigger of the tree. `name` tells its columns from those of the others."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        """The state columns: name to (dtype, value in a new pane)."""
        return {}

    def told(self, state: State, mask: Bools, news: News) -> None:
        """Records came to the panes of `mask`."""

    @abstractmethod
    def ready(self, state: State, now: Now) -> Bools:
        """Which panes this trigger would fire."""

    def fired(self, state: State, mask: Bools, now: Now) -> None:
        """The panes of `mask` fire; only panes that are ready are in it."""

    def reset(self, state: State, mask: Bools) -> None:
        """Start again in the panes of `mask`."""

    def merged(self, state: State, groups: Groups, closed: Bools) -> State:
        """One pane's state for each group of panes that become one; `closed` says whose windows are closed.

        A group without panes gets the state of a new one.
        """
        return {}

    def done(self, state: State) -> Bools:
        """Which panes this trigger has finished in."""
        return np.zeros(length(state), np.bool_)

    def due(self, state: State) -> tuple[Ints, Ints]:
        """When the next timer of each pane is due: by the clock, by the watermark."""
        never = np.full(length(state), NOT_DUE)
        return never, never


class Finishing(Node):
    """A trigger that can finish, and remembers it in a column."""

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        return {f"{self.name}.done": ("bool", 0)}

    def done(self, state: State) -> Bools:
        return state[f"{self.name}.done"]

    def merged(self, state: State, groups: Groups, closed: Bools) -> State:
        done = np.zeros(groups.count, np.bool_)
        done[groups.codes[self.done(state)]] = True
        return {f"{self.name}.done": done}

    def finish(self, state: State, mask: Bools) -> None:
        """Finished in the panes of `mask`."""
        state[f"{self.name}.done"][mask] = True

    def reset(self, state: State, mask: Bools) -> None:
        state[f"{self.name}.done"][mask] = False


def is_due(timer: Any, reached: Timestamp) -> Any:
    """Whether the moment of a timer, or of each of many, has been reached; NOT_DUE is not even at the end of time."""
    return timer <= min(reached, NOT_DUE - 1)


def length(state: State) -> int:
    """How many panes a state has."""
    return len(state["pending"])


def least(moments: Ints, groups: Groups) -> Ints:
    """The least moment of each group that is set at all; UNSET where none is."""
    found = np.full(groups.count, NOT_DUE)
    np.minimum.at(found, groups.codes, np.where(moments == UNSET, NOT_DUE, moments))
    return np.where(found == NOT_DUE, UNSET, found)
