"""A join by window on close: a window leaves whole and in order, when it is complete."""

from __future__ import annotations

import pyarrow as pa

from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.window.aligned import AlignedJoin
from fanlight.operators.operator import Progress


class WindowJoinOnClose(AlignedJoin):
    """Rows wait for the end of their windows."""

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights)
        self._left.append(lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of the windows that are complete now."""
        return self._closed(progress, with_pairs=True)
