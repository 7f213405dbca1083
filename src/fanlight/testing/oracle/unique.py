"""Deduplication, read slowly from the law: every record is compared with all that are kept or wait."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.testing.script import DeadLetter, Record, Step, same

Came = tuple[int, int, Record]
"""A record: its time, the how manieth it was, itself."""


@dataclass(frozen=True, slots=True)
class UniqueOutcome:
    """What one step of deduplication gave: rows and dead letters in their order, counts, the watermark handed on.

    `accepted` is below zero where more rows were found to be repeated than came.
    """

    rows: tuple[Record, ...]
    dead_letters: tuple[DeadLetter, ...]
    records_in: int
    accepted: int
    duplicates: int
    watermark: int


class UniqueOracle:
    """One run of deduplication, in one shard; `step` takes it further.

    >>> from fanlight.model.time.duration import Duration
    >>> oracle = UniqueOracle(UniqueSpec("ts", ("id",), ("id",), Duration(10)))
    >>> oracle.step(Step(records=({"ts": 5, "id": 1}, {"ts": 15, "id": 1}, {"ts": 16, "id": 1}))).rows
    ({'ts': 5, 'id': 1}, {'ts': 16, 'id': 1})
    """

    def __init__(self, spec: UniqueSpec) -> None:
        """A run of `spec`; its watermark is told, or follows the greatest time."""
        strategy = spec.watermark
        if not isinstance(strategy, Explicit | BoundedDisorder) or (
            isinstance(strategy, BoundedDisorder) and strategy.every is not None
        ):
            raise SpecError(f"oracle of unique_by: {strategy} is not read here. Use Explicit, or BoundedDisorder.")
        self.spec = spec
        self.strategy = strategy
        self.within = spec.within.micros
        self.held: list[Came] = []
        """The records that are remembered, or those that wait."""
        self.came = 0
        self.watermark = START_OF_TIME
        self.clock = START_OF_TIME
        self.greatest = START_OF_TIME

    def step(self, step: Step) -> UniqueOutcome:
        """One step of the law, in its order: the clock, the records, the watermark, what leaves."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        letters: list[DeadLetter] = []
        taken: list[Record] = []
        for record in step.records:
            self.came += 1
            reason = self._judge(record)
            if reason is not None:
                letters.append((reason, record))
            elif self.spec.keep is Keep.LAST or not self._is_kept(record):
                self.held.append((record[self.spec.time], self.came, record))
                taken.append(record)
        repeated = len(step.records) - len(letters) - len(taken)
        self.watermark = max(self.watermark, self._next(step))
        if self.spec.keep is Keep.FIRST:
            self.held = [one for one in self.held if one[0] + 2 * self.within >= self.watermark]
            leaving = taken
        else:
            leaving, others = self._complete()
            repeated += others
        accepted = len(step.records) - len(letters) - repeated
        told = self.watermark
        if START_OF_TIME < told < END_OF_TIME:
            told = max(told - self.within, START_OF_TIME)
        return UniqueOutcome(tuple(leaving), tuple(letters), len(step.records), accepted, repeated, told)

    def _judge(self, record: Record) -> Reason | None:
        time: int | None = record[self.spec.time]
        if time is None:
            return Reason.NULL_TIME
        if not EARLIEST <= time <= LATEST:
            return Reason.TIME_OUT_OF_RANGE
        ahead = self.spec.ahead
        if ahead is not None and self.clock != START_OF_TIME and time > self.clock + ahead.micros:
            return Reason.TOO_FAR_AHEAD
        self.greatest = max(self.greatest, time)
        allowed = self.within if self.spec.keep is Keep.FIRST else 0
        return Reason.EXPIRED if time + allowed < self._judged_by() else None

    def _is_kept(self, record: Record) -> bool:
        """Whether a record of the same id is remembered in whose reach this one is."""
        own = record[self.spec.time]
        return any(self._is_same(record, one) and abs(own - time) <= self.within for time, _, one in self.held)

    def _complete(self) -> tuple[list[Record], int]:
        """Remove the groups that are complete: the last row of each, in order, and how many others there were."""
        groups = self._groups()
        complete = [group for group in groups if group[0][0] + self.within < self.watermark]
        self.held = [one for group in groups if group[0][0] + self.within >= self.watermark for one in group]
        leaving = sorted((group[-1] for group in complete), key=_order)
        return [record for _, _, record in leaving], sum(map(len, complete)) - len(leaving)

    def _groups(self) -> list[list[Came]]:
        """All that waits, in groups: each has the rows of its id up to `within` after its first."""
        groups: list[list[Came]] = []
        for one in sorted(self.held, key=_order):
            for group in groups:
                if self._is_same(one[2], group[0][2]) and one[0] <= group[0][0] + self.within:
                    group.append(one)
                    break
            else:
                groups.append([one])
        return groups

    def _is_same(self, one: Record, other: Record) -> bool:
        return all(same(one[name], other[name]) for name in self.spec.identity)

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


def _order(one: Came) -> tuple[int, int]:
    """By time, then as they came."""
    return one[:2]
