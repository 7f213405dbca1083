"""Joins by windows that count, read slowly from the law: every row is kept, with its position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.join.sides import Holds, JoinRow, SideInput, less, same_key
from fanlight.testing.oracle.join.window import WindowJoinOracle
from fanlight.testing.script import Record


@dataclass(slots=True)
class OracleKey:
    """How many records of each side a key has had, and how many of its windows have left."""

    key: tuple[Any, ...]
    left: int = 0
    right: int = 0
    gone: int = 0


class CountJoinOracle(WindowJoinOracle):
    """One run of a join by windows that count, in one shard; `step` takes it further."""

    def __init__(
        self, spec: WindowJoinSpec, left: Sequence[str], right: Sequence[str], condition: Holds | None = None
    ) -> None:
        super().__init__(spec, left, right, condition)
        self.known: list[OracleKey] = []
        self.place: dict[int, tuple[OracleKey, int]] = {}
        """Of each row, by its arrival: its key, and its position from 1."""
        kind = spec.match.counting
        assert kind is not None
        self.size = kind.size

    def _changed(self, one: SideInput, side: Side, record: Record) -> Reason | None:
        if self._judged(one) == END_OF_TIME:
            return Reason.EXPIRED
        key = self._key_of(tuple(record[name] for name in side.keys))
        if one is self.left:
            key.left += 1
        else:
            key.right += 1
        position = key.left if one is self.left else key.right
        if (position - 1) // self.size < key.gone:
            return Reason.EXPIRED
        one.rows.append(JoinRow(record[side.time], self.came, record))
        self.place[self.came] = key, position
        self.fresh.add(self.came)
        return None

    def _key_of(self, values: tuple[Any, ...]) -> OracleKey:
        """The key with these values; one with a null equals no other."""
        for known in self.known:
            if all(same_key(one, other) for one, other in zip(known.key, values, strict=True)):
                return known
        self.known.append(OracleKey(values))
        return self.known[-1]

    def _leaving(self) -> list[Record]:
        found: list[Record] = []
        if self.spec.mode is EmissionMode.EAGER and self.spec.how is not JoinType.ANTI:
            rows = [row for side in (self.left, self.right) for row in side.rows if not row.is_done]
            for number in sorted({self._number(row) for row in rows}):
                found += self._fresh(*self._sorted(number, [row for row in rows if self._number(row) == number]))
        leaving: dict[int, list[JoinRow]] = {}
        for key in self.known:
            while (held := self._rows_of(key, key.gone)) and self._is_complete(key, held):
                leaving.setdefault(key.gone, []).extend(held)
                key.gone += 1
        for number in sorted(leaving):
            for row in leaving[number]:
                row.is_done = True
            found += self._whole(*self._sorted(number, leaving[number]))
        return found

    def _number(self, row: JoinRow) -> int:
        """The number of the window of a row."""
        return (self.place[row.came][1] - 1) // self.size

    def _sorted(self, number: int, rows: list[JoinRow]) -> tuple[Window, list[JoinRow], list[JoinRow]]:
        """A window, and its rows of both sides in their order."""
        rows = sorted(rows, key=lambda row: (self.place[row.came][1], row.came))
        lefts, rights = ([row for row in rows if row in side.rows] for side in (self.left, self.right))
        return Window(number * self.size + 1, (number + 1) * self.size + 1), lefts, rights

    def _rows_of(self, key: OracleKey, number: int) -> list[JoinRow]:
        """The rows of a key that are in its window of this number."""
        return [
            row
            for row in (*self.left.rows, *self.right.rows)
            if self.place[row.came][0] is key and self._number(row) == number
        ]

    def _is_complete(self, key: OracleKey, rows: list[JoinRow]) -> bool:
        if any(value is None for value in key.key):
            return True
        full = (key.gone + 1) * self.size
        if all(
            count >= full or self._judging(side) == END_OF_TIME
            for count, side in ((key.left, self.left), (key.right, self.right))
        ):
            return True
        kept = self.spec.retention
        assert kept is not None
        if kept.time.is_forever:
            return False
        horizon = less(min(self._judging(self.left), self._judging(self.right)), kept.time.micros)
        return horizon != START_OF_TIME and all(row.time < horizon for row in rows)
