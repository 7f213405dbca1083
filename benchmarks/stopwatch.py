"""The time something takes: the processor time of this process, which is kept on one core.

Where nothing else runs that is the wall's time, and where something does it is not disturbed. Both are noted.
"""

from __future__ import annotations

import time
from types import TracebackType


class Stopwatch:
    """Adds up the time spent inside `with watch:`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wall = 0.0

    def __enter__(self) -> None:
        self._wall, self._began = time.perf_counter(), time.process_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += time.process_time() - self._began
        self.wall += time.perf_counter() - self._wall
