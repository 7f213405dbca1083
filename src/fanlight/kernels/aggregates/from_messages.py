"""An incremental aggregate computed from messages, where rows are taken back that its partials cannot give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanlight.kernels.reducer import outside

if TYPE_CHECKING:
    import pyarrow as pa

    from fanlight.kernels.grouping.groups import Groups, Ints
    from fanlight.kernels.reducer import Reducer


@dataclass(frozen=True, slots=True)
class ReducedMessages:
    """The value of `reducer` over the messages that are left, from the first to the last each time."""

    reducer: Reducer

    @property
    def output(self) -> pa.DataType:
        return self.reducer.output

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        return self.reducer.finish(self.reducer.partial(values, times, groups, groups.sizes()))

    def outside_of(
        self, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
    ) -> dict[int, Any]:
        return outside(self.reducer, self.reducer.partial(values, times, groups, groups.sizes()))
