"""N-way joins, read slowly from the law: all rows are kept, and every step looks at every combination of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import Combine, Several
from fanlight.testing.oracle.join.sides import (
    Holds,
    JoinRow,
    SideCounts,
    SideInput,
    delay_of,
    due_rows,
    fault_of,
    less,
    move,
    same_key,
)
from fanlight.testing.script import DeadLetter, Record

Combination = tuple[JoinRow | None, ...]
"""A row of the lead, and of each other input one or none."""


@dataclass(frozen=True, slots=True)
class NWayStep:
    """What one step takes in: records and watermarks by input; `end` says that all inputs have ended."""

    records: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    watermarks: Mapping[str, int] = field(default_factory=dict)
    clock: int | None = None
    end: bool = False


@dataclass(frozen=True, slots=True)
class NWayOutcome:
    """What one step gave: rows in their order, dead letters, counts by input, the watermark handed on."""

    rows: tuple[Record, ...]
    dead_letters: tuple[DeadLetter, ...]
    counts: Mapping[str, SideCounts]
    watermark: int


class NWayJoinOracle:
    """One run of an n-way join, in one shard; `step` takes it further.

    >>> from fanlight.model.join.sides import Side
    >>> from fanlight.model.time.duration import Duration
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> told = several({name: bounded_disorder("0 s") for name in ("p", "s", "o")})
    >>> near = Interval(Duration(0), Duration(5))
    >>> sides = tuple(Side(name, "ts", keys=("id",)) for name in ("o", "p", "s"))
    >>> spec = NWayJoinSpec(sides, (near, near), (None, None), watermark=told)
    >>> oracle = NWayJoinOracle(spec, {"o": ("ts", "id"), "p": ("ts", "id"), "s": ("ts", "id", "sent")})
    >>> row = {"ts": 1, "id": 7}
    >>> oracle.step(NWayStep({"o": (row,), "p": (row,), "s": ({"ts": 3, "id": 7, "sent": True},)})).rows
    ({'ts': 1, 'id': 7, 'ts_p': 1, 'ts_s': 3, 'sent': True},)
    """

    def __init__(
        self,
        spec: NWayJoinSpec,
        columns: Mapping[str, Sequence[str]],
        conditions: Mapping[str, Holds] | None = None,
        condition: Callable[[Record], bool | None] | None = None,
    ) -> None:
        """A run of `spec` over inputs with these columns.

        `conditions` are what its `wheres` say, by input; `condition` is what its `where` says of a joined row.
        """
        if not isinstance(spec.watermark, Several):
            raise SpecError("oracle of joins: each input has a watermark of its own. Use several(…).")
        self.spec, self.columns, self.conditions = spec, columns, conditions or {}
        self.condition = condition
        self.idle = spec.watermark.idle
        self.inputs = {name: SideInput(delay_of(strategy)) for name, strategy in spec.watermark.inputs}
        self.came, self.clock, self.together = 0, START_OF_TIME, START_OF_TIME
        self.said: list[Combination] = []
        """The combinations that have left."""

    def step(self, step: NWayStep) -> NWayOutcome:
        """One step of the law, in its order: the clock, the records, the watermarks, what leaves."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        letters: list[DeadLetter] = []
        for name in self.inputs:
            self._take(name, step.records.get(name, ()), step.watermarks.get(name), letters)
        together = list(self.inputs.values())
        self.together = move(together, self.together, self.clock, self.idle, Combine.MIN, ends=step.end)
        leaving = self._on_close() if self.spec.mode is EmissionMode.ON_CLOSE else self._eager()
        counts = {name: one.counts for name, one in self.inputs.items()}
        return NWayOutcome(tuple(map(self._joined, leaving)), tuple(letters), counts, self._handed_on())

    def _take(self, name: str, records: tuple[Record, ...], watermark: int | None, letters: list[DeadLetter]) -> None:
        one, speaks, accepted = self.inputs[name], watermark is not None, 0
        side = next(side for side in self.spec.sides if side.name == name)
        judged = less(one.watermark, self.spec.lateness.micros)
        for record in records:
            self.came += 1
            time = record[side.time]
            reason = fault_of(time, self.spec.ahead, self.clock)
            if reason is None:
                speaks = True
                if one.delay is not None:
                    one.say(time - one.delay)
                reason = Reason.EXPIRED if time < judged else None
            if reason is None:
                accepted += 1
                one.rows.append(JoinRow(time, self.came, record))
            else:
                letters.append((reason, record))
        if watermark is not None:
            one.say(watermark)
        if self.clock != START_OF_TIME and (speaks or one.spoke is None):
            one.spoke = self.clock
        one.counts = SideCounts(len(records), accepted, len(records) - accepted)

    def _on_close(self) -> list[Combination]:
        """The combinations of the rows of the lead that are complete now, in order."""
        complete = min(self._reached(self.spec.lead.name), *(self._closed(place) for place in self._others))
        found: list[Combination] = []
        for lead in due_rows(self.inputs[self.spec.lead.name].rows, complete):
            found += self._combinations(lead)
        return found

    def _eager(self) -> list[Combination]:
        """The combinations that are known and have not left; those without nulls first, both in order."""
        known: list[Combination] = []
        for lead in sorted(self.inputs[self.spec.lead.name].rows, key=lambda row: row.order):
            known += self._combinations(lead)
        new = [one for one in known if one not in self.said]
        self.said += new
        return sorted(new, key=lambda one: None in one)

    def _combinations(self, lead: JoinRow) -> list[Combination]:
        """What is known of a row of the lead: nulls only where no match can come any more."""
        choices: list[Sequence[JoinRow | None]] = []
        for place in self._others:
            matches = sorted(
                (row for row in self._rows(place) if self._matches(place, lead, row)), key=lambda row: row.order
            )
            is_alone = self.spec.how is JoinType.LEFT and not matches and lead.time < self._closed(place)
            choices.append([None] if is_alone else matches)
        found: list[Combination] = [(lead, *rest) for rest in product(*choices)]
        return [one for one in found if self.condition is None or self.condition(self._joined(one)) is True]

    def _matches(self, place: int, lead: JoinRow, row: JoinRow) -> bool:
        spec, other, match = self.spec, self.spec.sides[place + 1], self.spec.matches[place]
        condition = self.conditions.get(other.name)
        keys = zip(spec.lead.keys, other.keys, strict=True)
        return (
            _inside(match, row.time - lead.time)
            and all(same_key(lead.record[own], row.record[theirs]) for own, theirs in keys)
            and (condition is None or condition(lead.record, row.record) is True)
        )

    @property
    def _others(self) -> range:
        return range(len(self.spec.matches))

    def _rows(self, place: int) -> list[JoinRow]:
        return self.inputs[self.spec.sides[place + 1].name].rows

    def _closed(self, place: int) -> int:
        """Before which time a row of the lead finds no match in this input any more."""
        return less(self._reached(self.spec.sides[place + 1].name), self.spec.matches[place].most)

    def _reached(self, name: str) -> int:
        return less(self.inputs[name].watermark, self.spec.lateness.micros)

    def _handed_on(self) -> int:
        """The least watermark, less what a row of the lead may wait for a match."""
        if self.together in (START_OF_TIME, END_OF_TIME):
            return self.together
        longest = max([0, *(match.most for match in self.spec.matches)])
        return max(self.together - longest - self.spec.lateness.micros, START_OF_TIME)

    def _joined(self, found: Combination) -> Record:
        """A joined row: what an input's column is called depends on those named before it."""
        row: Record = {}
        for side, one in zip(self.spec.sides, found, strict=True):
            unshown = () if side is self.spec.lead else side.keys
            taken = set(row)
            names = {name: f"{name}_{side.name}" if name in taken else name for name in self.columns[side.name]}
            own = {names[name]: None if one is None else one.record[name] for name in names if name not in unshown}
            row = {**row, **own}
        return row


def _inside(match: Interval, apart: int) -> bool:
    lower, upper = match.lower.micros, match.upper.micros
    after = lower <= apart if match.closed in ("both", "left") else lower < apart
    before = apart <= upper if match.closed in ("both", "right") else apart < upper
    return after and before
