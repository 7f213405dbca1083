"""Whether rows that came out are the rows that were expected.

An expected row asserts the attributes it lists and no others; a row that does not say `retract` is no retraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.firing import Op
from fanlight.testing.vectors.aggregates import MESSAGES, VALUE
from fanlight.testing.vectors.observe import OP, Row

Expected = Mapping[str, Any]

ORDERS = ("exact", "any", "per_window")

_TIMES = ("ts", "window_start", "window_end", "pane")
_FOLLOWS = ("window_start", "window_end", "pane", "early", "late", "first", "firing", "op")
"""Attributes that follow from others, and would only lengthen a message."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How rows are compared: in which order, and whether lists in them have one."""

    order: str = "any"
    unordered_lists: bool = False

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise VectorError(f"`row_order` ({self.order!r}) must be one of {', '.join(ORDERS)}.")

    def differences(self, expected: Sequence[Expected], actual: Sequence[Row]) -> list[str]:
        """What is wrong with `actual`; nothing if it is what was expected.

        >>> Comparison("exact").differences([{"v": 1}, {"v": 2}], [{"v": 1}, {"v": 3}])
        ['row 1: expected {v: 2}, got {v: 3}']
        """
        if self.order == "exact":
            return self._in_order(expected, actual)
        missing, extra = self._unmatched(expected, actual)
        problems = [f"missing {_text(row, row)}" for row in missing] + [f"unexpected {_text(row)}" for row in extra]
        if not problems and self.order == "per_window" and not self._interleaves(expected, actual):
            rows = ", ".join(_text(row) for row in actual)
            problems = [f"the right rows, but in another order within a window: {rows}"]
        return problems

    def agrees(self, expected: Expected, actual: Row) -> bool:
        """Whether a row is what was expected of it; a null where a pane was deleted is a tombstone."""
        if actual.get(OP) == Op.DELETE.code and VALUE in expected and expected[VALUE] is None:
            expected = {**{name: of for name, of in expected.items() if name != VALUE}, "retract": True}
        asserted = {"retract": False, **expected}
        return all(self._same(name, value, actual) for name, value in asserted.items())

    def _same(self, name: str, expected: Any, row: Row) -> bool:
        if name == "retract":
            return bool(expected) == bool(row.get(name, False))
        if name not in row:
            return False
        if name == "window":
            return _same_window(expected, row[name])
        if name in _TIMES and not isinstance(expected, list):
            return _same_time(expected, row[name])
        if row[name] is None and row.get(MESSAGES) == 0 and expected in (0, []):
            return True  # of no messages an aggregate is null, as in SQL; the peers say their zero
        return same(expected, row[name], unordered=self.unordered_lists)

    def _in_order(self, expected: Sequence[Expected], actual: Sequence[Row]) -> list[str]:
        problems = [
            f"row {place}: expected {_text(wanted, wanted)}, got {_text(got, wanted)}"
            for place, (wanted, got) in enumerate(zip(expected, actual, strict=False))
            if not self.agrees(wanted, got)
        ]
        problems += [f"missing {_text(row, row)}" for row in expected[len(actual) :]]
        problems += [f"unexpected {_text(row)}" for row in actual[len(expected) :]]
        return problems

    def _unmatched(self, expected: Sequence[Expected], actual: Sequence[Row]) -> tuple[list[Expected], list[Row]]:
        """The expected rows and the actual rows that no pairing of the two can bring together.

        Rows may assert little, so one actual row can suit several expected ones: pairs found earlier move aside
        (augmenting paths) before an expected row counts as missing. Most rows stand where they are expected, so each
        is looked for from there on.
        """
        places, taken = range(len(actual)), dict[int, int]()

        @cache
        def suits(wanted: int, place: int) -> bool:
            return self.agrees(expected[wanted], actual[place])

        def place_for(wanted: int, tried: set[int]) -> bool:
            for place in (*places[wanted:], *places[:wanted]):
                if place not in tried and suits(wanted, place):
                    tried.add(place)
                    if place not in taken or place_for(taken[place], tried):
                        taken[place] = wanted
                        return True
            return False

        missing = [row for wanted, row in enumerate(expected) if not place_for(wanted, set())]
        return missing, [row for place, row in enumerate(actual) if place not in taken]

    def _interleaves(self, expected: Sequence[Expected], actual: Sequence[Row]) -> bool:
        """Whether the expected rows, in order, can be read off the panes, each pane in its own order."""
        panes: dict[str, list[Row]] = {}
        for row in actual:
            panes.setdefault(repr((row.get("k"), row.get("window"))), []).append(row)
        queues = list(panes.values())
        reached = {(0,) * len(queues)}
        for wanted in expected:
            reached = {
                (*heads[:place], heads[place] + 1, *heads[place + 1 :])
                for heads in reached
                for place, queue in enumerate(queues)
                if heads[place] < len(queue) and self.agrees(wanted, queue[heads[place]])
            }
        return bool(reached)


def same(expected: Any, actual: Any, *, unordered: bool = False) -> bool:
    """Whether two values are equal: numbers by their exact decimal value, lists as multisets where they are unordered.

    >>> same(11.1, Decimal("11.10")), same([1, 2], [2, 1]), same([1, 2], [2, 1], unordered=True)
    (True, False, True)
    """
    if isinstance(expected, list) and isinstance(actual, list):
        return _same_lists(expected, actual, unordered=unordered)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(same(expected[name], actual[name]) for name in expected)
    if _is_number(expected) and _is_number(actual):
        left, right = Decimal(str(expected)), Decimal(str(actual))
        return left == right or (left.is_nan() and right.is_nan())
    return type(expected) is type(actual) and bool(expected == actual)


def _same_lists(expected: list[Any], actual: list[Any], *, unordered: bool) -> bool:
    if len(expected) != len(actual):
        return False
    if not unordered:
        return all(same(left, right) for left, right in zip(expected, actual, strict=True))
    rest = list(actual)
    for value in expected:
        place = next((place for place, other in enumerate(rest) if same(value, other)), None)
        if place is None:
            return False
        rest.pop(place)
    return True


def _same_window(expected: Any, actual: Any) -> bool:
    """The global window has no start to speak of; a window that ends is told by both ends."""
    if not isinstance(expected, list) or len(expected) != 2:
        raise VectorError(f"`window` ({expected!r}) must be its start and its end.")
    starts_anywhere = actual == ["-inf", "inf"]
    return _same_time(expected[1], actual[1]) and (starts_anywhere or _same_time(expected[0], actual[0]))


def _same_time(expected: Any, actual: Any) -> bool:
    return str(expected) == str(actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _text(row: Mapping[str, Any], like: Mapping[str, Any] | None = None) -> str:
    """A row on one line; only what `like` asserts, so that the two can be read side by side."""
    names = [name for name in row if name not in _FOLLOWS] if like is None else [name for name in like if name in row]
    if not row.get("retract", True):
        names = [name for name in names if name != "retract"]
    elif "retract" in row and "retract" not in names:
        names.append("retract")
    return "{" + ", ".join(f"{name}: {_value(row[name])}" for name in names) + "}"


def _value(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)
