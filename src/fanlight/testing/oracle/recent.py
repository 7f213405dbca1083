"""The temporal filter, read slowly from the law: each step looks through all rows that are shown."""

from __future__ import annotations

from fanlight.errors import SpecError
from fanlight.model.firing import Op
from fanlight.model.reason import Reason
from fanlight.model.recent import RecentSpec
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.oracle.changes import is_delete, operation, without_operation
from fanlight.testing.oracle.sort import SortOutcome
from fanlight.testing.script import DeadLetter, Record, Step, same

Shown = tuple[int, int, Record]
"""A row: its time, the how manieth record it was, itself."""


class RecentOracle:
    """One run of a temporal filter, in one shard; `step` takes it further.

    >>> from fanlight.model.time.duration import Duration
    >>> oracle = RecentOracle(RecentSpec("ts", (), Duration(10)))
    >>> oracle.step(Step(records=({"ts": 5}, {"ts": 15}))).rows
    ({'ts': 5, 'op': '+I'}, {'ts': 15, 'op': '+I'})
    >>> oracle.step(Step(watermark=16)).rows
    ({'ts': 5, 'op': '-D'},)
    """

    def __init__(self, spec: RecentSpec) -> None:
        """A run of `spec`; its watermark is told, or follows the greatest time."""
        strategy = spec.watermark
        if not isinstance(strategy, Explicit | BoundedDisorder) or (
            isinstance(strategy, BoundedDisorder) and strategy.every is not None
        ):
            raise SpecError(f"oracle of recent: {strategy} is not read here. Use Explicit, or BoundedDisorder.")
        self.spec = spec
        self.strategy = strategy
        self.within = spec.within.micros
        self.shown: list[Shown] = []
        self.came = 0
        self.watermark = START_OF_TIME
        self.clock = START_OF_TIME
        self.greatest = START_OF_TIME

    def step(self, step: Step) -> SortOutcome:
        """One step of the law, in its order: the clock, the records, the watermark, what is taken back."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        letters: list[DeadLetter] = []
        rows: list[Record] = []
        for record in step.records:
            self.came += 1
            reason = self._judge(record) or self._show(record)
            if reason is not None:
                letters.append((reason, record))
            else:
                rows.append(record if self.spec.changes is not None else {**record, self.spec.op: Op.INSERT.code})
        self.watermark = max(self.watermark, self._next(step))
        rows += self._taken_back()
        came = len(step.records)
        return SortOutcome(tuple(rows), tuple(letters), came, came - len(letters), self.watermark)

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
        if self.spec.changes is not None and operation(self.spec.changes, record) is None:
            return Reason.NO_SUCH_OPERATION
        return Reason.EXPIRED if time + self.within < self._judged_by() else None

    def _show(self, record: Record) -> Reason | None:
        """Show the row of a record, or take away the one that it deletes."""
        changes, time = self.spec.changes, record[self.spec.time]
        row = record if changes is None else without_operation(changes, record)
        if changes is None or not is_delete(changes, record):
            self.shown.append((time, self.came, row))
            return None
        for place, (other_time, _, other) in enumerate(self.shown):
            if time == other_time and all(same(row[name], other[name]) for name in changes.unique or row):
                del self.shown[place]
                return None
        return Reason.NO_SUCH_ROW

    def _taken_back(self) -> list[Record]:
        """The rows that are too old now, by time, then as they came; at the end of time none is, and none is kept."""
        if self.watermark >= END_OF_TIME:
            self.shown = []
            return []
        gone = sorted((one for one in self.shown if one[0] + self.within < self.watermark), key=lambda one: one[:2])
        self.shown = [one for one in self.shown if one[0] + self.within >= self.watermark]
        return [{**row, self.spec.op: Op.DELETE.code} for _, _, row in gone]

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
