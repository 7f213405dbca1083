"""A condition over joined rows, bound to what it can read: joined columns, and those of each side by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.plain_type import plain_type
from fanlight.model.join.sides import Side
from fanlight.model.preparation import Where, text_of
from fanlight.operators.ingest.columns import plain
from fanlight.operators.ingest.expressions import Evaluator
from fanlight.operators.join.side_log import SideRows


@dataclass(frozen=True)
class JoinCondition:
    """What rows of all sides, side by side, must meet to be a row of the join."""

    where: Where
    sides: Sequence[tuple[Side, pa.Schema]]
    joined: Mapping[str, tuple[int, int]]
    """The columns of a joined row: of which side each is, and which of its columns."""

    def holds(self, rows: Sequence[SideRows], places: Sequence[Ints]) -> Bools:
        """Of which rows it is true; they are those at these places of each side."""
        text, columns = self.where.told, dict[str, pa.Array]()
        for called, (side, number) in self._readable.items():
            if called in text:
                columns[called] = plain(rows[side].columns[number]).take(pa.array(places[side]))
        (found,) = self._evaluator.columns(pa.RecordBatch.from_pydict(columns or {"": pa.nulls(len(places[0]))}))
        mask: Bools = found.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
        return mask

    def require(self) -> None:
        """Refuse a condition that reads what is not there, or is neither true nor false."""
        fields = [
            pa.field(called, plain_type(self.sides[side][1].field(number).type))
            for called, (side, number) in self._readable.items()
        ]
        (kind,) = self._evaluator.types(pa.schema(fields))
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise SpecError(
                f"join: `where` ({text_of(self.where.expression)}) is of type {kind}, and a condition is true or "
                f"false. Compare it with something, as in fl.col({fields[0].name!r}) > 0."
            )

    @cached_property
    def _readable(self) -> dict[str, tuple[int, int]]:
        """What it can read; joined columns come first."""
        found = dict(self.joined)
        for place, (side, schema) in enumerate(self.sides):
            for number, name in enumerate(schema.names):
                found.setdefault(f"{side.name}.{name}", (place, number))
        return found

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator("join: where", (("", self.where.expression),))
