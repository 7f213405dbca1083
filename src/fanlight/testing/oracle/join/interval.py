"""Interval joins, read slowly from the law: all rows are kept, and every step looks at every pair of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import Combine
from fanlight.testing.oracle.join.sides import JoinOracle, JoinRow, SideInput, due_rows, less, same_key
from fanlight.testing.script import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Place = tuple[int, tuple[int, int], tuple[int, int]]
"""Where a row stands among others: those with a left row first, by the left row, then by the right one."""


class IntervalJoinOracle(JoinOracle[IntervalJoinSpec]):
    """One run of a join, in one shard; `step` takes it further.

    >>> from fanlight.model.join.interval import Interval
    >>> from fanlight.model.join.sides import Side
    >>> from fanlight.model.time.duration import Duration
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> told = several({"p": bounded_disorder("0 s"), "o": bounded_disorder("0 s")})
    >>> sides = Side("o", "ts", keys=("id",)), Side("p", "ts", keys=("id",))
    >>> spec = IntervalJoinSpec(*sides, Interval(Duration(0), Duration(5)), watermark=told)
    >>> oracle = IntervalJoinOracle(spec, ("ts", "id"), ("ts", "id", "paid"))
    >>> oracle.step(JoinStep(left=({"ts": 1, "id": 7},), right=({"ts": 4, "id": 7, "paid": 3},))).rows
    ({'ts': 1, 'id': 7, 'ts_p': 4, 'paid': 3},)
    """

    def __init__(self, *said: Any, **more: Any) -> None:
        super().__init__(*said, **more)
        self.shown: dict[Place, Record] = {}
        """What stands in the result, where rows are kept up to date."""

    def _match(self) -> None:
        """Note the pairs that have a row of this step."""
        for left in self.left.rows:
            for right in self.right.rows:
                if left.is_gone or right.is_gone:
                    continue
                if (left.came in self.fresh or right.came in self.fresh) and self._matches(left, right):
                    left.partners.append(right)
                    right.partners.append(left)

    def _matches(self, left: JoinRow, right: JoinRow) -> bool:
        match = self.spec.match
        apart = right.time - left.time
        lower, upper = match.lower.micros, match.upper.micros
        inside = (
            (lower <= apart if match.closed in ("both", "left") else lower < apart)
            and (apart <= upper if match.closed in ("both", "right") else apart < upper)
        )  # fmt: skip
        keys = zip(self.spec.left.keys, self.spec.right.keys, strict=True)
        return (
            inside
            and all(same_key(left.record[own], right.record[other]) for own, other in keys)
            and (self.condition is None or self.condition(left.record, right.record) is True)
        )

    def _judging(self, one: SideInput) -> int:
        """The watermark that a side goes by, less the lateness: its own, or that of both together."""
        return less(self._goes_by(one), self.spec.lateness.micros)

    def _goes_by(self, one: SideInput) -> int:
        by_both = self.spec.semantics.goes_by_both or self.combine is Combine.MAX
        return self.together if by_both else one.watermark

    def _judged(self, one: SideInput) -> int:
        """What the records of a side are judged by: nothing, where late ones are taken."""
        return START_OF_TIME if self.spec.semantics.takes_late else self._judging(one)

    def _ends_of_match(self) -> tuple[int, int]:
        """Before which time a left row finds no match any more, and a right row."""
        match = self.spec.match
        return less(self._judging(self.right), match.most), less(self._judging(self.left), -match.least)

    def _at_once(self) -> tuple[int, int]:
        """Before which time a row that came with this step expects no match: then lateness is not waited for."""
        match = self.spec.match
        return less(self._goes_by(self.right), match.most), less(self._goes_by(self.left), -match.least)

    def _forget(self) -> None:
        """What a record of a later step finds no more, where late records are taken."""
        rules, match = self.spec.semantics, self.spec.match
        for one, end in zip((self.left, self.right), self._ends_of_match(), strict=True):
            for row in one.rows:
                if rules.keeps_length:
                    kept = less(one.watermark, self.spec.lateness.micros + match.most - match.least)
                    row.is_gone = one.watermark == END_OF_TIME or row.time <= kept
                else:
                    row.is_gone = row.time < end

    def _on_close(self) -> list[Record]:
        how, (no_right, no_left) = self.spec.how, self._ends_of_match()
        rows: list[Record] = []
        for left in due_rows(self.left.rows, min(self._judging(self.left), no_right)):
            partners = sorted(left.partners, key=lambda row: row.order)
            if how.of_left_only:
                rows += [self._joined(left, None)] if bool(partners) is (how is JoinType.SEMI) else []
            elif partners:
                rows += [self._joined(left, right) for right in partners]
            elif how.pads_left:
                rows.append(self._joined(left, None))
        for right in due_rows(self.right.rows, min(self._judging(self.right), no_left)):
            if how.pads_right and not right.partners:
                rows.append(self._joined(None, right))
        return rows

    def _eager(self) -> list[Record]:
        how, (no_right, no_left) = self.spec.how, self._ends_of_match()
        rows: list[Record] = []
        for left in sorted(self.left.rows, key=lambda row: row.order):
            fresh = [right for right in left.partners if right not in left.left_already]
            if how is JoinType.SEMI and fresh and not left.left_already:
                rows.append(self._joined(left, None))
            elif not how.of_left_only:
                rows += [self._joined(left, right) for right in sorted(fresh, key=lambda row: row.order)]
            left.left_already += fresh
        lefts, rights = due_rows(self.left.rows, no_right), due_rows(self.right.rows, no_left)
        if self.spec.semantics.takes_late:
            left_end, right_end = self._at_once()
            lefts += due_rows((row for row in self.left.rows if row.came in self.fresh), left_end)
            rights += due_rows((row for row in self.right.rows if row.came in self.fresh), right_end)
        pads = [(row.order, row, True) for row in lefts if how.pads_left or how is JoinType.ANTI]
        pads += [(row.order, row, False) for row in rights if how.pads_right]
        pads = [pad for pad in pads if not pad[1].partners]
        if self.spec.semantics.pads_first:
            pads.sort(key=lambda pad: (pad[1].time, pad[2], pad[1].came))
        else:
            pads.sort(key=lambda pad: (not pad[2], pad[0]))
        alone = [self._joined(row, None) if left else self._joined(None, row) for _, row, left in pads]
        return [*alone, *rows] if self.spec.semantics.pads_first else [*rows, *alone]

    def _joined(self, left: JoinRow | None, right: JoinRow | None) -> Record:
        row = super()._joined(left, right)
        if self.spec.stamp in ("least", "greatest"):
            pick = min if self.spec.stamp == "least" else max
            times = [one.time for one in (left, right) if one is not None]
            row = {**row, "joined_time": _EPOCH + timedelta(microseconds=pick(times))}
        return row

    def _leaving(self) -> list[Record]:
        match self.spec.mode:
            case EmissionMode.EAGER:
                rows = self._eager()
            case EmissionMode.ON_CLOSE:
                rows = self._on_close()
            case EmissionMode.RETRACTING:
                rows = self._retracting()
        if self.spec.semantics.takes_late:
            self._forget()
        return rows

    def _retracting(self) -> list[Record]:
        """The difference between the join of all rows that are there, and what was shown."""
        should = self._standing()
        gone = [(place, {**row, "op": "-D"}) for place, row in self.shown.items() if place not in should]
        new = [(place, {**row, "op": "+I"}) for place, row in should.items() if place not in self.shown]
        self.shown = should
        return [row for part in (gone, new) for _, row in sorted(part, key=lambda one: one[0])]

    def _standing(self) -> dict[Place, Record]:
        """The join of the rows that are there, each row with its place in the order."""
        how, found = self.spec.how, dict[Place, Record]()
        nobody = START_OF_TIME, 0
        for left in self.left.rows:
            if how.of_left_only:
                if bool(left.partners) is (how is JoinType.SEMI):
                    found[0, left.order, nobody] = self._joined(left, None)
                continue
            found |= {(0, left.order, right.order): self._joined(left, right) for right in left.partners}
            if how.pads_left and not left.partners:
                found[0, left.order, nobody] = self._joined(left, None)
        for right in self.right.rows:
            if how.pads_right and not right.partners:
                found[1, nobody, right.order] = self._joined(None, right)
        return found

    def _handed_on(self) -> int:
        """How far rows that leave later can be behind: as the law says it."""
        waits = {"left": self._waits_of_left(), "right": self._waits_of_right()}
        stamp = self.spec.stamp
        if stamp in waits:
            longest = waits[stamp]
        elif stamp == "greatest":
            longest = self._waits_of_greatest()
        else:
            longest = max(waits.values())
        return max(less(self.together, longest + self.spec.lateness.micros), START_OF_TIME)

    def _waits_of_left(self) -> int:
        return max(self.spec.match.most, 0)

    def _waits_of_right(self) -> int:
        """On close a pair waits for its left row."""
        least = self.spec.match.least
        return self._waits_of_left() - least if self.spec.mode is EmissionMode.ON_CLOSE else max(-least, 0)

    def _waits_of_greatest(self) -> int:
        """A pair has the time of its second row, which is not passed when it comes; a row alone has its own."""
        how, waits = self.spec.how, 0
        if self.spec.mode is EmissionMode.ON_CLOSE:
            waits = min(self._waits_of_left(), self._waits_of_right())
        alone_left = self._waits_of_left() if how.pads_left else 0
        alone_right = max(-self.spec.match.least, 0) if how.pads_right else 0
        return max(waits, alone_left, alone_right)
