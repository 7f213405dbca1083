"""As-of joins, read slowly from the law: every right row is kept, and each left row looks at all of them."""

from __future__ import annotations

from collections.abc import Sequence

from fanlight.model.join.as_of import AsOfJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.testing.oracle.changes import is_delete, operation
from fanlight.testing.oracle.join.sides import Holds, JoinOracle, JoinRow, SideInput, due_rows, less, same_key
from fanlight.testing.script import Record


class AsOfJoinOracle(JoinOracle[AsOfJoinSpec]):
    """One run of an as-of join, in one shard; `step` takes it further.

    >>> from fanlight.model.join.as_of import as_of
    >>> from fanlight.model.join.sides import Side
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> told = several({"q": bounded_disorder("0 s"), "t": bounded_disorder("0 s")})
    >>> spec = AsOfJoinSpec(Side("t", "ts"), Side("q", "ts"), as_of("5 us"), watermark=told)
    >>> oracle = AsOfJoinOracle(spec, ("ts",), ("ts", "bid"))
    >>> _ = oracle.step(JoinStep(left=({"ts": 4},), right=({"ts": 1, "bid": 7}, {"ts": 3, "bid": 8})))
    >>> oracle.step(JoinStep(end=True)).rows
    ({'ts': 4, 'ts_q': 3, 'bid': 8},)
    """

    def __init__(
        self, spec: AsOfJoinSpec, left: Sequence[str], right: Sequence[str], condition: Holds | None = None
    ) -> None:
        super().__init__(spec, left, right, condition)
        self.gone: set[int] = set()
        """The versions that delete their key."""

    def _changed(self, one: SideInput, side: Side, record: Record) -> Reason | None:
        """A record of a table is a version; one that deletes is a version of nothing."""
        if side.changes is None:
            return super()._changed(one, side, record)
        if operation(side.changes, record) is None:
            return Reason.NO_SUCH_OPERATION
        if record[side.time] < self._judged(one):
            return Reason.EXPIRED
        one.rows.append(JoinRow(record[side.time], self.came, record))
        if is_delete(side.changes, record):
            self.gone.add(self.came)
        return None

    def _match(self) -> None:
        """Nothing is known before a left row is complete."""

    def _leaving(self) -> list[Record]:
        how, rows = self.spec.how, []
        for left in due_rows(self.left.rows, self._complete()):
            right = self._nearest(left)
            right = None if right is not None and right.came in self.gone else right
            if how.of_left_only:
                rows += [self._joined(left, None)] if (right is not None) is (how is JoinType.SEMI) else []
            elif right is not None or how.pads_left:
                rows.append(self._joined(left, right))
        return rows

    def _complete(self) -> int:
        """Before which time left rows are complete."""
        waits = 0 if self.spec.match.direction == "backward" else self.spec.match.tolerance.micros
        return min(self._judging(self.left), less(self._judging(self.right), waits))

    def _nearest(self, left: JoinRow) -> JoinRow | None:
        """The candidate that is least far away; before rather than after; of those at one time, the last to come."""
        candidates = [right for right in self.right.rows if self._is_candidate(left, right)]

        def rank(right: JoinRow) -> tuple[int, bool, int]:
            return abs(right.time - left.time), right.time > left.time, -right.came

        return min(candidates, key=rank, default=None)

    def _is_candidate(self, left: JoinRow, right: JoinRow) -> bool:
        match, apart = self.spec.match, right.time - left.time
        keys = zip(self.spec.left.keys, self.spec.right.keys, strict=True)
        return (
            (apart <= 0 if match.direction == "backward" else apart >= 0 if match.direction == "forward" else True)
            and (apart != 0 or match.allow_exact)
            and (match.tolerance.is_forever or abs(apart) <= match.tolerance.micros)
            and all(same_key(left.record[own], right.record[other]) for own, other in keys)
            and (self.condition is None or self.condition(left.record, right.record) is True)
        )

    def _handed_on(self) -> int:
        waits = 0 if self.spec.match.direction == "backward" else self.spec.match.tolerance.micros
        return max(less(self.together, waits + self.spec.lateness.micros), START_OF_TIME)
