"""The furthest watermark that a query's shards can have acted on, passed on to the packer of the next micro-batch.

The packer pre-aggregates records before they are judged, and may do so only for those that no shard finds expired.
Spark gives it no watermark. So each stage writes the one it acted on to a small file on its machine, by query, batch
and stage, in a private folder. If the next batch finds no file (another machine, a first batch after a restart, a
folder that cannot be trusted), it pre-aggregates nothing: that batch is slower, and its results are the same.

    private folder/
    └── query/
        ├── .of-4711         the process that Spark's Python workers are forked from
        ├── 7                the watermark that the first stage acted on in batch 7
        ├── 7-2              and the second
        └── 8
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from pyspark import TaskContext

from fanlight.errors import EngineError
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.spark.private_folder import kept_folder, private_folder, remove_leftovers

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # what Spark tells the tasks of a query


@dataclass(frozen=True, slots=True)
class Notes:
    """The watermark files that one stage reads and writes in one micro-batch."""

    query: str
    batch: int
    process: int
    stage: int = 1

    @classmethod
    def of_task(cls, stage: int) -> Notes | None:
        """The notes of this task's micro-batch; None outside of one."""
        query, batch = _said(_QUERY), _said(_BATCH)
        return None if query is None or batch is None else cls(query, int(batch), os.getppid(), stage)

    def _name(self, batch: int) -> str:
        return str(batch) if self.stage == 1 else f"{batch}-{self.stage}"

    def found(self) -> Timestamp | None:
        """The watermark of the micro-batch before; None if it is not known."""
        if self.batch == 0:
            return START_OF_TIME
        try:
            with private_folder() as private, private.folder(self.query) as notes:
                note = notes.read(self._name(self.batch - 1))
            return None if note is None else int(note)
        except (OSError, ValueError, EngineError) as problem:
            _say(str(problem))
            return None

    def leave(self, watermark: Timestamp) -> None:
        """Say that shards act on `watermark` in this micro-batch."""
        try:
            _tidy(tempfile.gettempdir())
            with kept_folder(self.query, self.process) as notes:
                notes.write(self._name(self.batch), str(watermark).encode())
                notes.remove(self._name(self.batch - 2))
        except (OSError, EngineError) as problem:
            _say(str(problem))


def batch_number() -> int:
    """The number of the micro-batch that this task belongs to; 0 outside of one."""
    return int(_said(_BATCH) or 0)


def found(stage: int = 1) -> Timestamp | None:
    """The watermark that the shards of a stage acted on before this micro-batch; None if it is not known."""
    notes = Notes.of_task(stage)
    return None if notes is None else notes.found()


def leave(watermark: Timestamp, stage: int = 1) -> None:
    """Say that the shards of a stage act on `watermark` in this micro-batch."""
    notes = Notes.of_task(stage)
    if notes is not None:
        notes.leave(watermark)


def forget(query: str | None = None) -> None:
    """Remove the notes of a query (by default this task's) from this machine, so that they are not used again."""
    query = query or _said(_QUERY)
    if query is None:
        return
    with suppress(OSError, EngineError), private_folder() as private:
        private.remove(query)


@cache
def _tidy(_temporary: str) -> None:
    """Remove the notes of dead processes from a temporary folder, once in each process."""
    remove_leftovers()


@cache
def _say(problem: str) -> None:
    """Log once, in a worker, why it is slower than it could be."""
    sys.stderr.write(f"Fanlight pre-aggregates no records before they travel: {problem}\n")


def _said(name: str) -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
