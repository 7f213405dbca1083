"""The protocol of a running trigger, for all panes at once.

A trigger's tree is the same for every pane of a spec; only its state differs, and that is a row of columns. So each
answer is a vector and each change is made under a mask: the whole algebra runs without a loop over panes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanlight.kernels.grouping.groups import Bools, Groups, Ints
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.ingest.inputs import Signal

State = dict[str, NDArray[Any]]
"""The state columns of all panes, by name."""

UNSET = START_OF_TIME
NOT_DUE = END_OF_TIME


@dataclass(frozen=True, slots=True)
class News:
    """What a bundle brought to panes: the number of records of each, the clock, and their least time."""

    counts: Ints
    clock: Timestamp
    least: Ints


@dataclass(frozen=True, slots=True)
class Now:
    """The time at which triggers are evaluated."""

    closed: Bools
    expired: Bools
    watermark: Timestamp
    clock: Timestamp
    signal: Signal


class Node(ABC):
    """One trigger of the tree. `name` keeps its state columns apart from those of the others."""

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

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        """Merge the state of old panes into that of new ones: each group of `olds` becomes one pane of `into`.

        `closed` marks panes whose windows are closed. A group without old panes gets the state of a new pane.
        """

    def done(self, state: State) -> Bools:
        """In which panes this trigger has finished."""
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

    def merge(self, olds: State, groups: Groups, closed: Bools, into: State) -> None:
        done = np.zeros(groups.count, np.bool_)
        done[groups.codes[self.done(olds)]] = True
        into[f"{self.name}.done"] = done

    def finish(self, state: State, mask: Bools) -> None:
        """Finished in the panes of `mask`."""
        state[f"{self.name}.done"][mask] = True

    def reset(self, state: State, mask: Bools) -> None:
        state[f"{self.name}.done"][mask] = False


def is_due(timer: Any, reached: Timestamp) -> Any:
    """Whether a timer is due, for one or for each of many; NOT_DUE is never due, not even at the end of time."""
    return timer <= min(reached, NOT_DUE - 1)


def length(state: State) -> int:
    """How many panes a state has."""
    return len(state["pending"])


def least(moments: Ints, groups: Groups) -> Ints:
    """The least time of each group, among those that are set; UNSET if none is."""
    found = np.full(groups.count, NOT_DUE)
    np.minimum.at(found, groups.codes, np.where(moments == UNSET, NOT_DUE, moments))
    return np.where(found == NOT_DUE, UNSET, found)
