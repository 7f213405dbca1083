"""Normalize, read slowly: the live rows are a list, and each change looks through all of it."""

from __future__ import annotations

from fanlight.model.firing import Op
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.changes import is_delete, operation, without_operation
from fanlight.testing.oracle.sort import SortOutcome, WaitingRows
from fanlight.testing.script import DeadLetter, Record, Step


class NormalizeOracle:
    """One run of normalizing, in one shard, whose caller says the watermark; `step` takes it further.

    >>> from fanlight.model.changes import Changes
    >>> oracle = NormalizeOracle(NormalizeSpec("ts", ("id",), Changes("op", ("id",))))
    >>> came = {"ts": 1, "id": 7, "op": "+I"}, {"ts": 5, "id": 7, "op": "+I"}
    >>> [(row["op"], row["ts"]) for row in oracle.step(Step(records=came)).rows]
    [('+I', 1), ('-U', 1), ('+U', 5)]
    """

    def __init__(self, spec: NormalizeSpec) -> None:
        self.spec = spec
        self.live = WaitingRows(unique=spec.changes.unique)
        self.watermark = START_OF_TIME

    def step(self, step: Step) -> SortOutcome:
        """One step of the law: the changes, then the watermark."""
        rows: list[Record] = []
        letters: list[DeadLetter] = []
        for record in step.records:
            reason = self._judge(record) or self._change(record, rows)
            if reason is not None:
                letters.append((reason, record))
        told = START_OF_TIME if step.watermark is None else step.watermark
        self.watermark = max(self.watermark, END_OF_TIME if step.end else told)
        self.live.rows = [row for row in self.live.rows if not step.end and not self._is_past(row[0])]
        came = len(step.records)
        return SortOutcome(tuple(rows), tuple(letters), came, came - len(letters), self.watermark)

    def _judge(self, record: Record) -> Reason | None:
        if record[self.spec.time] is None:
            return Reason.NULL_TIME
        if operation(self.spec.changes, record) is None:
            return Reason.NO_SUCH_OPERATION
        return Reason.EXPIRED if self._is_past(record[self.spec.time]) else None

    def _is_past(self, time: int) -> bool:
        return not self.spec.keep.is_forever and time + self.spec.keep.micros < self.watermark

    def _change(self, record: Record, rows: list[Record]) -> Reason | None:
        """Make one change, and say what it does in full."""
        changes, time = self.spec.changes, record[self.spec.time]
        row, deletes = without_operation(changes, record), is_delete(changes, record)
        old = self._taken(time, row) if deletes or changes.unique else None
        if old is not None:
            rows.append(self._said(record, old, Op.DELETE if deletes else Op.RETRACT))
        if deletes:
            return Reason.NO_SUCH_ROW if old is None else None
        rows.append(self._said(record, row, Op.INSERT if old is None else Op.UPDATE))
        self.live.rows.append((time, row))
        return None

    def _taken(self, time: int, row: Record) -> Record | None:
        """Remove and return the live row that a change takes back."""
        before = list(self.live.rows)
        if not self.live.delete(time, row):
            return None
        (_, gone), *_ = [timed for timed in before if not any(timed is other for other in self.live.rows)]
        return gone

    def _said(self, record: Record, row: Record, op: Op) -> Record:
        """A row with its operation, its columns in the order of the changes."""
        return {name: op.code if name == self.spec.changes.op else row[name] for name in record}
