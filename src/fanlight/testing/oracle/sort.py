"""Sort, read slowly from the law: rows wait in a list, and each step looks through all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.firing import Op
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.oracle.changes import operation, without_operation
from fanlight.testing.oracle.order import null_last
from fanlight.testing.script import DeadLetter, Record, Step, same

TimedRow = tuple[int, Record]
"""A row and its time."""


@dataclass(slots=True)
class WaitingRows:
    """Rows that are not complete, in the order they came.

    `ties` are the columns that order rows of one time; `unique` are those that tell a row from all others, or none.
    """

    ties: Sequence[str] = ()
    unique: Sequence[str] = ()
    rows: list[TimedRow] = field(default_factory=list)

    def change(self, op: str, time: int, row: Record) -> bool:
        """Apply one change; whether a delete found its row."""
        if op in (Op.RETRACT.code, Op.DELETE.code):
            return self.delete(time, row)
        if self.unique:
            self.delete(time, row)
        self.rows.append((time, row))
        return True

    def delete(self, time: int, row: Record) -> bool:
        """Take the oldest row that is the same; whether there is one."""
        for place, (other_time, other) in enumerate(self.rows):
            if self._is_same(time, row, other_time, other):
                del self.rows[place]
                return True
        return False

    def peek(self, watermark: int) -> int | None:
        """The least time of a complete row; None if there is no such row."""
        return min((time for time, _ in self.rows if time < watermark), default=None)

    def take(self, watermark: int) -> list[TimedRow]:
        """Remove the complete rows, in order. Python's sort leaves equal rows in the order they came."""
        complete = [timed for timed in self.rows if timed[0] < watermark]
        self.rows = [timed for timed in self.rows if timed[0] >= watermark]
        return sorted(complete, key=self._order)

    def _order(self, timed: TimedRow) -> tuple[int, list[Any]]:
        time, row = timed
        return time, [null_last(row[name]) for name in self.ties]

    def _is_same(self, time: int, row: Record, other_time: int, other: Record) -> bool:
        if self.unique:
            return all(same(row[name], other[name]) for name in self.unique)
        return time == other_time and same(dict(row), dict(other))


@dataclass(frozen=True, slots=True)
class SortOutcome:
    """What one step of sort gave: rows and dead letters in their order, and the watermark handed on."""

    rows: tuple[Record, ...]
    dead_letters: tuple[DeadLetter, ...]
    records_in: int
    accepted: int
    watermark: int


class SortOracle:
    """One run of sort, in one shard; `step` takes it further.

    >>> oracle = SortOracle("ts")
    >>> oracle.step(Step(records=({"ts": 5}, {"ts": 2}, {"ts": 3}), watermark=5)).rows
    ({'ts': 2}, {'ts': 3})
    >>> oracle.step(Step(records=({"ts": 4},), end=True)).dead_letters
    ((<Reason.EXPIRED: 'expired'>, {'ts': 4}),)
    """

    def __init__(
        self,
        time: str,
        ties: Sequence[str] = (),
        watermark: Explicit | BoundedDisorder | None = None,
        ahead: int | None = None,
        changes: Changes | None = None,
    ) -> None:
        """`time` is the column of times; `ahead` how far, in microseconds, one may be ahead of the clock.

        With `changes` records are changes, and what leaves has no operation.
        """
        if isinstance(watermark, BoundedDisorder) and watermark.every is not None:
            raise SpecError("oracle of sort: a watermark that is told `every` so often is not read here. Leave it out.")
        self.time = time
        self.strategy = watermark or Explicit()
        self.ahead = ahead
        self.changes = changes
        self.waiting = WaitingRows(ties, () if changes is None else changes.unique)
        self.watermark = START_OF_TIME
        self.clock = START_OF_TIME
        self.greatest = START_OF_TIME

    def step(self, step: Step) -> SortOutcome:
        """One step of the law, in its order: the clock, the records, the watermark, what leaves."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        letters: list[DeadLetter] = []
        for record in step.records:
            reason = self._judge(record) or self._change(record)
            if reason is not None:
                letters.append((reason, record))
        self.watermark = max(self.watermark, self._next(step))
        rows = tuple(row for _, row in self.waiting.take(self.watermark))
        came = len(step.records)
        return SortOutcome(rows, tuple(letters), came, came - len(letters), self.watermark)

    def _judge(self, record: Record) -> Reason | None:
        time: int | None = record[self.time]
        if time is None:
            return Reason.NULL_TIME
        if not EARLIEST <= time <= LATEST:
            return Reason.TIME_OUT_OF_RANGE
        if self.ahead is not None and self.clock != START_OF_TIME and time > self.clock + self.ahead:
            return Reason.TOO_FAR_AHEAD
        self.greatest = max(self.greatest, time)
        if self.changes is not None and operation(self.changes, record) is None:
            return Reason.NO_SUCH_OPERATION
        return Reason.EXPIRED if time < self._judged_by() else None

    def _change(self, record: Record) -> Reason | None:
        """Let a record wait, or make the change that it is to the rows that wait."""
        if self.changes is None:
            self.waiting.change(Op.INSERT.code, record[self.time], record)
            return None
        op, row = operation(self.changes, record), without_operation(self.changes, record)
        assert op is not None
        return None if self.waiting.change(op.code, record[self.time], row) else Reason.NO_SUCH_ROW

    def _judged_by(self) -> int:
        """The watermark before the step; with a per-record strategy the record itself, and those before it, count."""
        if isinstance(self.strategy, BoundedDisorder) and self.strategy.per_record:
            return max(self.watermark, self.greatest - self.strategy.delay.micros)
        return self.watermark

    def _next(self, step: Step) -> int:
        if step.end:
            return END_OF_TIME
        told = START_OF_TIME if step.watermark is None else step.watermark
        if isinstance(self.strategy, BoundedDisorder) and self.greatest != START_OF_TIME:
            return max(told, self.greatest - self.strategy.delay.micros)
        return told
