"""Pre-aggregated records by slice and key."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.kernels.aggregates.aggregation import SlicedPartials
from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.operators.window.missed_windows import missed_by_rows


@dataclass(frozen=True, slots=True)
class PreAggregatedSlices(SlicedPartials):
    """Pre-aggregated records by slice and key, ordered by slice; a pair may occur more than once."""

    least: Ints | None
    """The least time of each row's records, if the trigger needs it."""

    @property
    def records(self) -> int:
        """How many records these are."""
        return int(self.partials.rows.sum())

    def missed(self, slicing: Slicing, expired: int) -> int:
        """How many windows these records missed, if windows up to `expired` have expired."""
        return missed_by_rows(slicing, self.slices, self.partials.rows, expired)
