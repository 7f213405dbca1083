"""Aggregating joins, read slowly from the law: each left row looks for its matches and aggregates them anew."""

from __future__ import annotations

from typing import Any

from fanlight.model.aggregates import Aggregate
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.oracle.join.sides import JoinOracle, JoinRow, due_rows, less, same_key
from fanlight.testing.oracle.value_range import told_exactly
from fanlight.testing.script import Record


class AggregatedJoinOracle(JoinOracle[AggregatedJoinSpec]):
    """One run of an aggregating join, in one shard; `step` takes it further.

    >>> from fanlight.model.aggregates import max
    >>> from fanlight.model.join.interval import interval
    >>> from fanlight.model.join.sides import Side
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> from fanlight.testing.oracle.join.sides import JoinStep
    >>> told = several({"s": bounded_disorder("0 s"), "t": bounded_disorder("0 s")})
    >>> near, high = interval("-5 us", "0 us"), (("high", max("bid")),)
    >>> spec = AggregatedJoinSpec(Side("t", "ts"), Side("s", "ts"), near, high, watermark=told)
    >>> oracle = AggregatedJoinOracle(spec, ("ts",), ("ts", "bid"))
    >>> _ = oracle.step(JoinStep(left=({"ts": 4},), right=({"ts": 1, "bid": 7}, {"ts": 3, "bid": 6})))
    >>> oracle.step(JoinStep(end=True)).rows
    ({'ts': 4, 'high': 7},)
    """

    def _match(self) -> None:
        """Nothing is known before a left row is complete."""

    def _leaving(self) -> list[Record]:
        match = self.spec.match
        rows: list[Record] = []
        for left in due_rows(
            self.left.rows, min(self._judging(self.left), less(self._judging(self.right), match.most))
        ):
            matches = [right for right in self.right.rows if self._is_match(left, right)]
            if not matches and self.spec.how is JoinType.INNER:
                continue
            values = {name: self._value(aggregate, matches) for name, aggregate in self.spec.aggregates}
            if all(told_exactly(one, values[name]) is None for name, one in self.spec.aggregates):
                rows.append({**left.record, **values})
        return rows

    def _is_match(self, left: JoinRow, right: JoinRow) -> bool:
        match, apart = self.spec.match, right.time - left.time
        keys = zip(self.spec.left.keys, self.spec.right.keys, strict=True)
        return match.least <= apart <= match.most and all(
            same_key(left.record[own], right.record[other]) for own, other in keys
        )

    def _value(self, aggregate: Aggregate, matches: list[JoinRow]) -> Any:
        side = f"{self.spec.right.name}."
        content = [
            (row.time, given(aggregate, {**row.record, **{side + name: value for name, value in row.record.items()}}))
            for row in sorted(matches, key=lambda row: row.came)
        ]
        return compute(aggregate, content)

    def _handed_on(self) -> int:
        waits = max(self.spec.match.most, 0) + self.spec.lateness.micros
        return max(less(self.together, waits), START_OF_TIME)
