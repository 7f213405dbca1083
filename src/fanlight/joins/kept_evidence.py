"""What the state of a join says of two rows that match: whether they are kept, and whether they can still come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.why import JoinVerdict, Why
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text
from fanlight.model.time.watermarks import Combine, Several
from fanlight.operators.join.interval.pair_check import CheckedPair, Row

BOTH_ACCEPTED = Why(JoinVerdict.JOINED, "they match, and both were accepted")


@dataclass(frozen=True, slots=True)
class KeptEvidence:
    """The rows that a join keeps, and the watermark of each side."""

    spec: IntervalJoinSpec
    watermarks: Mapping[str, Timestamp]
    kept: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """By side; none of a side of which nothing has come."""

    def of(self, pair: CheckedPair, left: Row, right: Row) -> Why:
        """What became of two rows that match."""
        spec = self.spec
        reached = self._reached
        no_right, no_left = _less(reached[spec.right.name], spec.match.most), reached[spec.left.name]
        for name, row, time, horizon in (
            (spec.right.name, right, pair.right, _less(no_left, -spec.match.least)),
            (spec.left.name, left, pair.left, no_right),
        ):
            if self._has(name, row):
                continue
            if time >= reached[name] or spec.semantics.takes_late:
                return Why(
                    JoinVerdict.WAITING, f"the row of {name} has not come; it can until {self._until(name, time)}"
                )
            if time >= horizon:
                by = Duration(reached[name] - time)
                return Why(JoinVerdict.LATE, f"the row of {name} has not come in time: {by} behind {self._at(name)}")
            return Why(
                JoinVerdict.FORGOTTEN,
                f"the row of {name} is passed by {self._at(name)}, and nothing is kept of it; the rows and the dead "
                "letters that have left know what became of it",
            )
        if spec.mode is EmissionMode.ON_CLOSE and pair.left >= min(no_left, no_right):
            of_left, of_right = (
                self._until(name, time)
                for name, time in ((spec.left.name, pair.left), (spec.right.name, pair.left + spec.match.most))
            )
            return Why(JoinVerdict.WAITING, f"both are here, and leave when {of_left} and {of_right}")
        return BOTH_ACCEPTED

    @property
    def _reached(self) -> dict[str, Timestamp]:
        """The watermark that each side goes by, less the lateness."""
        strategy, each = self.spec.watermark, self.watermarks.values()
        is_greatest = isinstance(strategy, Several) and strategy.combine is Combine.MAX
        both, by_both = max(each) if is_greatest else min(each), is_greatest or self.spec.semantics.goes_by_both
        return {
            name: _less(both if by_both else own, self.spec.lateness.micros) for name, own in self.watermarks.items()
        }

    def _has(self, name: str, row: Row) -> bool:
        side = self.spec.left if name == self.spec.left.name else self.spec.right
        own = {called: value for called, value in row.items() if side.changes is None or called != side.changes.op}
        return any(is_part(own, one) for one in self.kept.get(name, ()))

    def _until(self, name: str, time: Timestamp) -> str:
        passes = as_text(_more(time, self.spec.lateness.micros))
        return f"the watermark of {name} has passed {passes} (it is at {as_text(self.watermarks[name])})"

    def _at(self, name: str) -> str:
        return f"the watermark of {name}, {as_text(self.watermarks[name])}"


def is_part(row: Row, record: Mapping[str, Any] | None) -> bool:
    """Whether a record has all that a row says."""
    return record is not None and all(name in record and record[name] == value for name, value in row.items())


def _less(moment: Timestamp, by: int) -> Timestamp:
    """A watermark moved back; the ends of time stay."""
    return moment if moment in (START_OF_TIME, END_OF_TIME) else moment - by


def _more(moment: Timestamp, by: int) -> Timestamp:
    return _less(moment, -by)
