"""What a reducer may have beside `merge` and `combine`: a way of its own to merge many ranges of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from fanlight.kernels.groups import Column
    from fanlight.kernels.ranges_spans import Spans
    from fanlight.kernels.reducers import Reducer


@runtime_checkable
class Scanning(Protocol):
    """A reducer that merges ranges faster than pair by pair: NumPy adds or compares its columns, or picks rows."""

    def scan(self, partials: list[Column], spans: Spans) -> list[Column] | None:
        """One partial for each range of the rows, as `merge` would give it; None if these columns have no such way."""
        ...


def scanned(reducer: Reducer, partials: list[Column], spans: Spans) -> list[Column] | None:
    """What the reducer's `scan` gives; None if it has none, so that the ranges have to be combined."""
    return reducer.scan(partials, spans) if isinstance(reducer, Scanning) else None
