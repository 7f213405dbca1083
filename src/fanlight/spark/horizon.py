"""The furthest watermark a query's shards can have acted on, told to the envelope of the next micro-batch.

The envelope folds records before they are judged, and may do so only for those that no shard finds expired. Spark tells
it no watermark; so each micro-batch leaves the one it acted on in a small file on the machine it ran on, by query and
batch, in a private folder. Where the next one finds none (another machine, a first batch after a restart, a folder that
cannot be trusted), nothing is known and nothing is folded: that batch is slower, and its results are the same.

    private folder/
    └── query/
        ├── .of-4711         the process that Spark's Python workers are forked from
        ├── 7                the watermark that batch 7 acted on
        └── 8
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from pyspark import TaskContext

from fanlight.errors import EngineError
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.spark.private import kept_folder, private_folder, remove_leftovers

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # what Spark tells the tasks of a query


@dataclass(frozen=True, slots=True)
class Notes:
    """What one micro-batch reads and leaves."""

    query: str
    batch: int
    process: int

    @classmethod
    def of_task(cls) -> Notes | None:
        """Those of the micro-batch this task belongs to; None outside of one."""
        query, batch = _said(_QUERY), _said(_BATCH)
        return None if query is None or batch is None else cls(query, int(batch), os.getppid())

    def found(self) -> Timestamp | None:
        """What the micro-batch before has left; None if nothing is known."""
        if self.batch == 0:
            return START_OF_TIME
        try:
            with private_folder() as private, private.folder(self.query) as notes:
                note = notes.read(str(self.batch - 1))
            return None if note is None else int(note)
        except (OSError, ValueError, EngineError) as problem:
            _say(str(problem))
            return None

    def leave(self, watermark: Timestamp) -> None:
        """Say that shards act on `watermark` in this micro-batch."""
        try:
            _tidy()
            with kept_folder(self.query, self.process) as notes:
                notes.write(str(self.batch), str(watermark).encode())
                notes.remove(str(self.batch - 2))
        except (OSError, EngineError) as problem:
            _say(str(problem))


def batch_number() -> int:
    """The number of the micro-batch that this task belongs to; 0 outside of one."""
    return int(_said(_BATCH) or 0)


def found() -> Timestamp | None:
    """The furthest watermark that any shard has acted on before this micro-batch; None if that is not known."""
    notes = Notes.of_task()
    return None if notes is None else notes.found()


def leave(watermark: Timestamp) -> None:
    """Say that shards act on `watermark` in this micro-batch."""
    notes = Notes.of_task()
    if notes is not None:
        notes.leave(watermark)


def forget(query: str | None = None) -> None:
    """Remove what a query, or else the one of this task, has left on this machine: it is not to be used again."""
    query = query or _said(_QUERY)
    if query is None:
        return
    with suppress(OSError, EngineError), private_folder() as private:
        private.remove(query)


@cache
def _tidy() -> None:
    """Remove what dead processes have left, once a process."""
    remove_leftovers()


@cache
def _say(problem: str) -> None:
    """Say once, in the log of a worker, why it is slower than it could be."""
    sys.stderr.write(f"Fanlight folds no records before they travel: {problem}\n")


def _said(name: str) -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
