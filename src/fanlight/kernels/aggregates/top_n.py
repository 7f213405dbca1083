"""The greatest values of each group, greatest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.arrow_numpy import without_nulls
from fanlight.kernels.aggregates.sorting import sorts

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints

_GROUP = "group"


@dataclass(frozen=True, slots=True)
class Tops:
    """The `n` greatest values of a group except nulls. Structs go by their field `by`, then by the others ascending."""

    kind: pa.DataType
    n: int
    by: str | None

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        present, groups = without_nulls(values, groups)
        order = np.asarray(pc.sort_indices(*self._sorting(present, groups))).astype(np.int64)
        sizes = groups.sizes()
        starts = np.cumsum(sizes) - sizes
        place = np.arange(len(order)) - np.repeat(starts, sizes)
        kept = order[place < self.n]
        offsets = np.concatenate(([0], np.cumsum(np.minimum(sizes, self.n))))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), present.take(pa.array(kept)), type=self.output)

    def _sorting(self, values: pa.Array, groups: Groups) -> tuple[pa.Table, list[tuple[str, str]]]:
        columns = {_GROUP: pa.array(groups.codes)}
        keys = [(_GROUP, "ascending")]
        for name, column, direction in self._fields(values):
            if pa.types.is_floating(column.type):  # Arrow puts NaN last; the law says it is the greatest
                columns[f"{name}.nan"] = pc.is_nan(column)
                keys.append((f"{name}.nan", direction))
                column = column.cast(pa.float64())
            columns[name] = column
            keys.append((name, direction))
        return pa.table(columns), keys

    def _fields(self, values: pa.Array) -> list[tuple[str, pa.Array, str]]:
        if self.by is None:
            return [("value", values, "descending")]
        fields = dict(zip((f"field.{field.name}" for field in self.kind), values.flatten(), strict=True))
        first = f"field.{self.by}"
        others = [(name, column, "ascending") for name, column in fields.items() if name != first]
        return [(first, fields[first], "descending"), *(part for part in others if sorts(part[1].type))]
