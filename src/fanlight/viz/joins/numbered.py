"""Records of both sides, each with a number that goes with it through the join, so that rows say of which they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from fanlight.embedded.feed import Brought
from fanlight.model.aggregates.all_values import Listed
from fanlight.model.firing import Op
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Intake, Preparation, Select
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival

NUMBER = "fanlight viz number"
"""The column that travels with every record."""
MATCHES = "fanlight viz matches"
"""The column of a row of aggregates that has the numbers of its matches."""
TAKES_BACK = (Op.RETRACT.code, Op.DELETE.code)
"""The operations of rows that take another one back."""


def with_matches(spec: JoinSpec) -> JoinSpec:
    """The join, whose rows say of which records they are: one that aggregates says it of its matches, too."""
    if not isinstance(spec, AggregatedJoinSpec):
        return spec
    return replace(spec, aggregates=(*spec.aggregates, (MATCHES, Listed(f"{spec.right.name}.{NUMBER}"))))


def numbered_intakes(intakes: Mapping[str, Intake]) -> dict[str, Intake]:
    """What is done to the records of each side; numbers stay, whatever columns are chosen."""
    return {name: replace(intake, preparation=_keeping(intake.preparation)) for name, intake in intakes.items()}


def _keeping(preparation: Preparation) -> Preparation:
    chosen = (
        replace(step, columns=(*step.columns, (NUMBER, NUMBER))) if isinstance(step, Select) else step
        for step in preparation.steps
    )
    return Preparation(tuple(chosen))


@dataclass(slots=True)
class Numbering:
    """Gives numbers. A delete has the number of its row: it is told by all that its row says."""

    spec: JoinSpec
    count: int = 0
    gone: dict[int, int] = field(default_factory=dict)
    """In which step a change took a record back, by the number of the record."""
    deletes: set[int] = field(default_factory=set)
    """The numbers of deletes that are no other row's: they end what is known of their key."""
    _live: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def of(self, brought: Brought, step: int) -> Iterator[Arrival]:
        """What a step brings, numbered; records that could not be read are left out."""
        for one in brought.arrivals:
            if one.came is None:
                yield one
                continue
            batch = one.came.parted()[0]
            numbers = self._numbers(batch, one.said.source or "", step)
            yield one._replace(came=CheckedBatch(batch.append_column(NUMBER, pa.array(numbers, pa.int64()))))

    def _numbers(self, batch: pa.RecordBatch, source: str, step: int) -> list[int]:
        side = self.spec.left if source == self.spec.left.name else self.spec.right
        op = None if side.changes is None else side.changes.op
        if op is None or op not in batch.schema.names:
            return [self.next() for _ in range(len(batch))]
        return [self._of_change(source, row.pop(op), row, step) for row in batch.to_pylist()]

    def _of_change(self, source: str, op: str, row: Mapping[str, Any], step: int) -> int:
        live = self._live.setdefault((source, repr(row)), [])
        if op in TAKES_BACK and live:
            number = live.pop(0)
            self.gone[number] = step
            return number
        number = self.next()
        if op in TAKES_BACK:
            self.deletes.add(number)
        else:
            live.append(number)
        return number

    def next(self) -> int:
        """A number that nothing has."""
        self.count += 1
        return self.count - 1
