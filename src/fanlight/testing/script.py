"""A run, written down: the steps that go in and the firings and dead letters that come out.

Whatever runs a spec — the oracle, the embedded engine, Spark — takes the same `Step`s and gives the same
`Transcript`, so two of them can be laid side by side. Times are whole microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fanlight.model.firing import Op, Timing
from fanlight.model.reason import Reason
from fanlight.model.windows.window import Window

Record = Mapping[str, Any]
"""One row: plain Python values; the time column holds microseconds or None."""

Key = tuple[Any, ...]
"""The values of the key columns, in the order the spec names them; see `as_key`."""

DeadLetter = tuple[Reason, Record]
"""Why a record could not be used, and the record."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step takes in; any of it may be missing.

    `signal` switches the caller's signal on or off, and `None` leaves it as it was; `finish` makes it say that
    the triggers it fires are finished, until the next switch. `end` is the end of the input.

    >>> Step(records=({"ts": 1, "v": 7},), watermark=10)
    Step(records=({'ts': 1, 'v': 7},), watermark=10, clock=None, signal=None, finish=False, end=False)
    """

    records: tuple[Record, ...] = ()
    watermark: int | None = None
    clock: int | None = None
    signal: bool | None = None
    finish: bool = False
    end: bool = False


@dataclass(frozen=True, slots=True)
class InputScript:
    """What one of several inputs brings: a bundle in each step, until it ends."""

    bundles: tuple[tuple[Record, ...], ...]
    clocks: tuple[int, ...] = ()
    """The clock of each bundle; none, if no clock is told."""

    def bundle(self, place: int) -> tuple[Record, ...] | None:
        """The bundle of a step; None if the input has ended."""
        return self.bundles[place] if place < len(self.bundles) else None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of `where`: a column compared with a value. What is null is not true.

    >>> [Condition("v", least=2).holds({"v": v}) for v in (1, 2, None)]
    [False, True, False]
    """

    column: str
    least: Any

    def holds(self, record: Record) -> bool:
        """Whether it is true of a record."""
        value = record[self.column]
        return value is not None and bool(value >= self.least)


@dataclass(frozen=True, slots=True)
class Firing:
    """One output row: a pane's values and what the row says about itself."""

    key: Key
    window: Window
    values: dict[str, Any]
    op: Op
    timing: Timing
    number: int
    revision: int
    is_last: bool
    time: int | None


@dataclass(frozen=True, slots=True)
class ValueLetter:
    """A firing that did not leave, because its type cannot hold a value of it: that one is text."""

    key: Key
    window: Window
    values: dict[str, Any]
    out_of_range: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the records that came; and beside them, of firings."""

    records_in: int = 0
    accepted: int = 0
    duplicates: int = 0
    dead_letters: int = 0
    filtered: int = 0
    dropped: int = 0
    missed_windows: int = 0
    values_out_of_range: int = 0

    @property
    def adds_up(self) -> bool:
        """The law of accounting: in = accepted + duplicates + dead letters + filtered + dropped."""
        used = self.accepted + self.duplicates + self.dead_letters
        return self.records_in == used + self.filtered + self.dropped

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.records_in + other.records_in,
            self.accepted + other.accepted,
            self.duplicates + other.duplicates,
            self.dead_letters + other.dead_letters,
            self.filtered + other.filtered,
            self.dropped + other.dropped,
            self.missed_windows + other.missed_windows,
            self.values_out_of_range + other.values_out_of_range,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one step gave: firings in their order, dead letters in order of arrival.

    The numbers are counted by whoever ran the step, each for itself, so that the law of accounting can fail.
    """

    firings: tuple[Firing, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    records_in: int = 0
    accepted: int = 0
    duplicates: int = 0
    missed_windows: int = 0
    value_letters: tuple[ValueLetter, ...] = ()
    filtered: int = 0
    dropped: int = 0

    @property
    def counts(self) -> Counts:
        """What became of the step's records."""
        return Counts(
            self.records_in,
            self.accepted,
            self.duplicates,
            len(self.dead_letters),
            self.filtered,
            self.dropped,
            self.missed_windows,
            len(self.value_letters),
        )


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a whole run gave, step by step."""

    outcomes: list[Outcome]

    @property
    def firings(self) -> list[Firing]:
        """All firings, in the order they left."""
        return [firing for outcome in self.outcomes for firing in outcome.firings]

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """All dead letters, in the order they came."""
        return [letter for outcome in self.outcomes for letter in outcome.dead_letters]

    @property
    def counts(self) -> Counts:
        """What became of all records."""
        return sum((outcome.counts for outcome in self.outcomes), Counts())

    def last_firings(self) -> dict[tuple[Key, Window], Firing]:
        """The last row of each pane, without those that were taken back: what a table of results ends up with."""
        stands: dict[tuple[Key, Window], Firing] = {}
        for firing in self.firings:
            if firing.op is Op.DELETE:
                stands.pop((firing.key, firing.window), None)
            elif firing.op is not Op.RETRACT:
                stands[firing.key, firing.window] = firing
        return stands


def as_key(values: Iterable[Any]) -> Key:
    """A key whose NaNs are all the same object, so that equal groups are equal tuples.

    >>> as_key(["a", float("nan")]) == as_key(["a", float("nan")])
    True
    """
    return tuple(math.nan if _is_nan(value) else value for value in values)


def same(left: Any, right: Any, *, tolerance: float = 0.0) -> bool:
    """Whether two values are equal when nulls and NaNs equal themselves, also inside lists and dicts.

    `tolerance` is relative, for floats whose additions were made in another order.

    >>> same({"v": [1.0, float("nan"), None]}, {"v": [1.0, float("nan"), None]})
    True
    """
    if _is_nan(left) or _is_nan(right):
        return _is_nan(left) and _is_nan(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k], tolerance=tolerance) for k in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, tolerance=tolerance) for a, b in pairs)
    if tolerance and isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)
    return bool(left == right)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
