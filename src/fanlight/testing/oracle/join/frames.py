"""Joins by frames, read slowly from the law: all rows are kept, and each record looks at all of the other side."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.interval import Interval
from fanlight.model.join.sides import Side
from fanlight.model.over.frame import RangeFrame, RowFrame
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.triggers import Every
from fanlight.model.windows.counting import Scope
from fanlight.testing.oracle.join.sides import JoinOracle, JoinRow, less, same_key
from fanlight.testing.script import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Pair = tuple[JoinRow, JoinRow]


class FramesJoinOracle(JoinOracle[FramesJoinSpec]):
    """One run of a join by frames, in one shard; `step` takes it further.

    >>> from fanlight.model.join.frames import frames
    >>> from fanlight.model.over.frame import rows
    >>> from fanlight.model.retention import retention
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> told = several({"o": bounded_disorder("0 s"), "s": bounded_disorder("0 s")})
    >>> sides = Side("s", "ts"), Side("o", "at")
    >>> spec = FramesJoinSpec(*sides, frames(s=rows(1), o=rows(1)), retention(), watermark=told)
    >>> oracle = FramesJoinOracle(spec, ("ts",), ("at",))
    >>> oracle.step(JoinStep(left=({"ts": 9},), right=({"at": 3}, {"at": 4}))).rows
    ({'ts': 9, 'at': 4},)
    """

    def __init__(self, *said: Any, **more: Any) -> None:
        super().__init__(*said, **more)
        self.reached = {self.spec.left.name: START_OF_TIME, self.spec.right.name: START_OF_TIME}
        """The watermark that the window of each side goes by."""
        self.found: list[tuple[Pair, bool]] = []
        """The pairs of this step; and whether a late record made them."""
        self.held: dict[str, list[tuple[int, Record]]] = {"early": [], "late": []}
        """Rows that wait for the clock, with the clock at which they were made."""

    def _match(self) -> None:
        """Every record of this step looks at the window of the other side: right ones first."""
        spec, self.found = self.spec, []
        for side, one in ((spec.left, self.left), (spec.right, self.right)):
            own = self.together if one.watermark == END_OF_TIME else one.watermark
            self.reached[side.name] = max(self.reached[side.name], less(own, spec.lateness.micros))
        for right in [row for row in self.right.rows if row.came in self.fresh]:
            window = [row for row in self.left.rows if row.came not in self.fresh]
            for left in self._in_window(spec.left, window, right, spec.right):
                self._pair(left, right, late=right.time < self.right.watermark)
        for left in [row for row in self.left.rows if row.came in self.fresh]:
            for right in self._in_window(spec.right, self.right.rows, left, spec.left):
                self._pair(left, right, late=left.time < self.left.watermark)

    def _in_window(self, side: Side, rows: list[JoinRow], seeker: JoinRow, of: Side) -> list[JoinRow]:
        """The rows of a side that its window holds for a record of the other side, and that have its key."""
        spec, reached = self.spec, self.reached[side.name]
        frame = spec.match.frame(side.name)

        def has_key(row: JoinRow) -> bool:
            return all(
                same_key(row.record[own], seeker.record[other]) for own, other in zip(side.keys, of.keys, strict=True)
            )

        group = rows if spec.match.per is Scope.STREAM else [row for row in rows if has_key(row)]
        held = sorted(group, key=lambda row: row.came)
        if isinstance(frame, RowFrame) and frame.preceding is not None:
            held = held[-frame.preceding :]
        if isinstance(frame, RangeFrame) and not frame.is_unbounded:
            newest = max([reached, *(row.time for row in group)])
            held = [row for row in held if row.time >= less(newest, frame.preceding.micros)]
        if spec.retention is not None and not spec.retention.time.is_forever:
            held = [row for row in held if row.time >= less(reached, spec.retention.time.micros)]
        return [row for row in held if has_key(row)]

    def _pair(self, left: JoinRow, right: JoinRow, *, late: bool) -> None:
        within = self.spec.match.within
        if within is not None and not _is_within(within, right.time - left.time):
            return
        if self.condition is None or self.condition(left.record, right.record) is True:
            self.found.append(((left, right), late))

    def _leaving(self) -> list[Record]:
        ends = all(one.watermark == END_OF_TIME for one in (self.left, self.right))
        triggers = {"early": self.spec.early, "late": self.spec.late}
        rows = [row for name, trigger in triggers.items() for row in self._due(name, trigger, ends=ends)]
        for (left, right), is_late in sorted(self.found, key=lambda one: (one[0][0].order, one[0][1].order)):
            name = "late" if is_late else "early"
            if triggers[name] is None or ends:
                rows.append(self._joined(left, right))
            else:
                self.held[name].append((self.clock, self._joined(left, right)))
        return rows

    def _due(self, name: str, trigger: Every | None, *, ends: bool) -> list[Record]:
        """The rows that wait no longer: the clock has come to another period than that in which they were made."""
        if trigger is None:
            return []
        period, held = trigger.period.micros, self.held[name]
        due = [ends or self.clock // period > clock // period for clock, _ in held]
        self.held[name] = [one for one, leaves in zip(held, due, strict=True) if not leaves]
        return [row for (_, row), leaves in zip(held, due, strict=True) if leaves]

    def _joined(self, left: JoinRow | None, right: JoinRow | None) -> Record:
        row = super()._joined(left, right)
        if self.spec.stamp in ("least", "greatest"):
            pick = min if self.spec.stamp == "least" else max
            times = [one.time for one in (left, right) if one is not None]
            row = {**row, "joined_time": _EPOCH + timedelta(microseconds=pick(times))}
        return row

    def _handed_on(self) -> int:
        """Behind by as much as the windows reach back that the stamp looks at; nothing, if there is no limit."""
        spec = self.spec
        if self.together in (START_OF_TIME, END_OF_TIME):
            return self.together
        sides = {"left": [spec.left], "right": [spec.right], "greatest": []}.get(
            spec.stamp or "", [spec.left, spec.right]
        )
        reaches = [self._reach(side) for side in sides]
        if None in reaches or spec.early is not None or spec.late is not None:
            return START_OF_TIME
        longest = max((reach for reach in reaches if reach is not None), default=0)
        return max(less(self.together, longest + spec.lateness.micros), START_OF_TIME)

    def _reach(self, side: Side) -> int | None:
        frame, limits = self.spec.match.frame(side.name), list[int]()
        if isinstance(frame, RangeFrame) and not frame.is_unbounded:
            limits.append(frame.preceding.micros)
        if self.spec.retention is not None and not self.spec.retention.time.is_forever:
            limits.append(self.spec.retention.time.micros)
        return min(limits, default=None)


def _is_within(within: Interval, apart: int) -> bool:
    lower, upper = within.lower.micros, within.upper.micros
    above = lower <= apart if within.closed in ("both", "left") else lower < apart
    return above and (apart <= upper if within.closed in ("both", "right") else apart < upper)
