"""A bar on long work: on a terminal only, and only when the work has taken a while."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_A_WHILE = 2.0
"""Seconds before a bar appears."""


class Watched:
    """Shows how many records have come, as long as it is entered; gone without a trace when it is left.

    Nothing is shown where nobody looks: in a pipe, a notebook, a test.

    >>> with Watched(total=3) as work:
    ...     work.heard(2)
    """

    def __init__(self, total: int | None = None, *, wanted: bool | None = None) -> None:
        """`wanted` shows it at once, or never; without a word it comes when work has taken a while."""
        self._total = total
        self._records = 0
        self._lock = threading.Lock()
        self._bar: tuple[Progress, TaskID] | None = None
        self._left = False
        shown = sys.stderr.isatty() and wanted is not False
        self._timer = threading.Timer(0.0 if wanted else _A_WHILE, self._appear) if shown else None

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def heard(self, records: int) -> None:
        """Say how many records have come so far."""
        with self._lock:
            self._records = records
            if self._bar is not None:
                bar, task = self._bar
                bar.update(task, completed=records)

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._left = True
            if self._bar is not None:
                self._bar[0].stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._left:
                return
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar = bar, bar.add_task("records", total=self._total, completed=self._records)
            bar.start()
