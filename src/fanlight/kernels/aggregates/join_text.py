"""Texts joined into one: ordered by event time, then by text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.over_messages import Lists

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints


@dataclass(frozen=True, slots=True)
class JoinedTexts:
    """The texts of a group in the order of its list, with `separator` between them; null if there is none."""

    kind: pa.DataType
    separator: str

    @property
    def output(self) -> pa.DataType:
        return self.kind

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        lists = Lists(self.kind, by_arrival=False, sorts=True).compute(values, times, arrivals, groups)
        joined = pc.binary_join(lists, pa.scalar(self.separator, self.kind))
        return pc.if_else(pc.greater(lists.value_lengths(), 0), joined, pa.scalar(None, self.kind))
