"""An optional method of a reducer, beside `merge` and `combine`: a fast way to merge many ranges of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column
    from fanlight.kernels.range_merge.spans import Spans


@runtime_checkable
class Scanning(Protocol):
    """A reducer that merges ranges faster than pair by pair: NumPy adds or compares its columns, or picks rows."""

    def scan(self, partials: list[Column], spans: Spans) -> list[Column]:
        """One partial for each range of the rows, as `merge` would give it."""
        ...
