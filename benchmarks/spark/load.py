"""How much of the machine others took while it was measured: on a quiet one, hardly anything."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

_PROC = Path("/proc")
_PARENT, _SPENT = 1, slice(11, 15)
"""In /proc/PID/stat, after the name: the parent; ticks of the process and of the children it has waited for."""
_IDLE = slice(3, 5)
"""In the first line of /proc/stat: idle, and idle while a disk is busy."""


class Load:
    """The processor time spent inside `with load:`, by this process and those below it, and by everything."""

    def __init__(self) -> None:
        self._ours = 0
        self._all = 0

    def __enter__(self) -> None:
        self._began = _ours(), _all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ours += _ours() - self._began[0]
        self._all += _all() - self._began[1]

    @property
    def others(self) -> float | None:
        """The share of the processor time that others took; None where the system does not say."""
        return max(0.0, 1 - self._ours / self._all) if self._all else None


def _all() -> int:
    path = _PROC / "stat"
    if not path.exists():
        return 0
    ticks = [int(field) for field in path.read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
    return sum(ticks) - sum(ticks[_IDLE])


def _ours() -> int:
    """Ticks of the session's JVM and of the Python workers too: they are all below this process."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        number = int(path.parent.name)
        parents[number], spent[number] = int(fields[_PARENT]), sum(map(int, fields[_SPENT]))
    family = {os.getpid()}
    while born := {child for child, parent in parents.items() if parent in family} - family:
        family |= born
    return sum(spent.get(number, 0) for number in family)
