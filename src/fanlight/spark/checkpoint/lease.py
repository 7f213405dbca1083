"""The right to run the query of a checkpoint: one process, one query at a time."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from fanlight.errors import StateError
from fanlight.spark.checkpoint.folder import unreachable

_held: dict[Path, Lease] = {}
"""The leases of this process. A query that has ended may not have released its lease yet."""
_turns = threading.RLock()
"""One takes or releases at a time: a thread that releases when a query ends is half done where the next one begins."""


class Query(Protocol):
    """The part of a streaming query that a lease uses."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 -- PySpark's name

    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802 -- PySpark's name


class Lease:
    """The lock on a checkpoint, held from before a query starts until the query or its process ends.

    Spark itself would stop the running query of the same session, and let two of different processes run until one of
    them fails at a commit. The lock is one of this machine's file system; elsewhere there is none, and only Spark's own
    check remains.
    """

    def __init__(self, path: Path | None = None, file: int | None = None) -> None:
        self._path = path
        self._file = file
        self._query: Query | None = None

    @classmethod
    def take(cls, path: Path | None) -> Lease:
        """Take the lock file at `path`; a `StateError` if another query holds it."""
        if path is None or sys.platform == "win32":
            return cls()
        with _turns:
            return cls._taken(path.resolve())

    @classmethod
    def _taken(cls, path: Path) -> Lease:
        earlier = _held.get(path)
        if earlier is not None and earlier.is_over:
            earlier.release()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as problem:
            raise unreachable(str(path.parent.parent), problem, f"{path.parent.name}/{path.name}") from problem
        if not _locked(file):
            holder = os.pread(file, 32, 0).decode(errors="replace").strip()
            os.close(file)
            where = "this process" if holder == str(os.getpid()) else f"process {holder}"
            raise StateError(
                f"A query is running on the checkpoint {str(path.parent.parent)!r} already, in {where}; two would "
                "destroy each other's state. Stop that one first, or choose another checkpoint for this one."
            )
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        lease = cls(path, file)
        _held[path] = lease
        return lease

    @property
    def is_over(self) -> bool:
        """Whether the query it was taken for has ended."""
        if self._query is None:
            return False
        try:
            return not self._query.isActive
        except Exception:  # noqa: BLE001 -- whatever it is, there is no session left to run the query
            return True

    def follow(self, query: Query, then: Callable[[], None] = lambda: None) -> None:
        """Release the lease as soon as `query` ends, in whatever way, and call `then`."""
        self._query = query
        threading.Thread(target=self._wait, args=(query, then), name="fanlight-lease", daemon=True).start()

    def release(self) -> None:
        """Release the lease; a second call changes nothing."""
        with _turns:
            file, self._file = self._file, None
            if file is not None:
                if self._path is not None and _held.get(self._path) is self:
                    del _held[self._path]
                os.close(file)

    def _wait(self, query: Query, then: Callable[[], None]) -> None:
        with suppress(Exception):  # how the query ended is for its owner to handle
            query.awaitTermination()
        self.release()
        then()


def _locked(file: int) -> bool:
    """Lock an open file for this process; True also if the file system has no locks."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        return problem.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True
