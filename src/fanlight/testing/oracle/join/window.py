"""Joins by window, read slowly from the law: all rows are kept, and every window is looked at by itself."""

from __future__ import annotations

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.join.sides import JoinOracle, JoinRow, less, same_key
from fanlight.testing.oracle.windows import windows_around
from fanlight.testing.script import Record


class WindowJoinOracle(JoinOracle[WindowJoinSpec]):
    """One run of a join by window, in one shard; `step` takes it further.

    >>> from fanlight.model.join.sides import Side
    >>> from fanlight.model.join.window import same_window
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> told = several({"p": bounded_disorder("0 s"), "o": bounded_disorder("0 s")})
    >>> sides = Side("o", "ts", keys=("id",)), Side("p", "ts", keys=("id",))
    >>> spec = WindowJoinSpec(*sides, same_window(tumbling("10 us")), watermark=told)
    >>> oracle = WindowJoinOracle(spec, ("ts", "id"), ("ts", "id", "paid"))
    >>> step = JoinStep(left=({"ts": 1, "id": 7},), right=({"ts": 4, "id": 7, "paid": 3},))
    >>> oracle.step(step).rows, [row["paid"] for row in oracle.step(JoinStep(end=True)).rows]
    ((), [3])
    """

    def _late(self, time: int, watermark: int) -> Reason | None:
        windows = self._windows(time)
        if not windows:
            return Reason.NO_WINDOW
        return Reason.EXPIRED if all(window.end <= watermark for window in windows) else None

    def _windows(self, time: int) -> list[Window]:
        return [*windows_around(self.spec.match.window, time)]

    def _match(self) -> None:
        """Nothing is noted: the rows of each window are looked at when something leaves."""
        self.complete_before = self._complete()

    def _complete(self) -> int:
        """The windows that end at this time or before it are complete."""
        return min(self._judging(self.left), self._judging(self.right))

    def _leaving(self) -> list[Record]:
        before, now, how = self.complete_before, self._complete(), self.spec.how
        rows = [row for side in (self.left, self.right) for row in side.rows]
        windows = {window for row in rows for window in self._windows(row.time) if window.end > before}
        found: list[Record] = []
        in_order = sorted(windows, key=lambda window: (window.end, window.start))
        if self.spec.mode is EmissionMode.EAGER:
            for window in in_order if how is not JoinType.ANTI else ():
                found += self._fresh(window, *self._inside(window))
        for window in in_order:
            if window.end <= now:
                found += self._whole(window, *self._inside(window))
        return found

    def _inside(self, window: Window) -> tuple[list[JoinRow], list[JoinRow]]:
        """The rows of both sides in a window, in order."""
        left, right = (
            sorted((row for row in side.rows if window in self._windows(row.time)), key=lambda row: row.order)
            for side in (self.left, self.right)
        )
        return left, right

    def _fresh(self, window: Window, lefts: list[JoinRow], rights: list[JoinRow]) -> list[Record]:
        """The pairs of a window that have a row of this step; of a semi join, left rows with their first match."""
        found: list[Record] = []
        for left in lefts:
            partners = [right for right in rights if self._matches(left, right)]
            new = [right for right in partners if left.came in self.fresh or right.came in self.fresh]
            if self.spec.how is JoinType.SEMI:
                found += [self._in_window(window, left, None)] if new and len(new) == len(partners) else []
            else:
                found += [self._in_window(window, left, right) for right in new]
        return found

    def _whole(self, window: Window, lefts: list[JoinRow], rights: list[JoinRow]) -> list[Record]:
        """What leaves of a window when it is complete; eager pairs have left by then."""
        how, on_close = self.spec.how, self.spec.mode is EmissionMode.ON_CLOSE
        found: list[Record] = []
        for left in lefts:
            partners = [right for right in rights if self._matches(left, right)]
            if how is JoinType.ANTI or (how is JoinType.SEMI and on_close):
                found += [self._in_window(window, left, None)] if bool(partners) is (how is JoinType.SEMI) else []
            elif partners and on_close and how is not JoinType.SEMI:
                found += [self._in_window(window, left, right) for right in partners]
            elif how.pads_left and not partners:
                found.append(self._in_window(window, left, None))
        for right in rights if how.pads_right else ():
            if not any(self._matches(left, right) for left in lefts):
                found.append(self._in_window(window, None, right))
        return found

    def _matches(self, left: JoinRow, right: JoinRow) -> bool:
        keys = zip(self.spec.left.keys, self.spec.right.keys, strict=True)
        return all(same_key(left.record[own], right.record[other]) for own, other in keys) and (
            self.condition is None or self.condition(left.record, right.record) is True
        )

    def _in_window(self, window: Window, left: JoinRow | None, right: JoinRow | None) -> Record:
        return {"window": {"start": window.start, "end": window.end}, **self._joined(left, right)}

    def _handed_on(self) -> int:
        return max(less(self.together, self.spec.lateness.micros), START_OF_TIME)
