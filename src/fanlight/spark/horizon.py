"""The furthest watermark a query's shards can have acted on, told to the envelope of the next micro-batch.

The envelope folds records before they are judged, and may do so only for those that no shard finds expired. Spark tells
it no watermark; so each micro-batch leaves the one it acted on in a small file on the machine it ran on, by query and
batch. Where the next one finds none (another machine, a first batch after a restart), nothing is known and nothing is
folded: that batch is slower, and its results are the same.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pyspark import TaskContext

from fanlight.model.timestamp import START_OF_TIME, Timestamp

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # what Spark tells the tasks of a query


def batch_number() -> int:
    """The number of the micro-batch that this task belongs to; 0 outside of one."""
    return int(_said(_BATCH) or 0)


def found() -> Timestamp | None:
    """The furthest watermark that any shard has acted on before this micro-batch; None if that is not known."""
    query, batch = _said(_QUERY), _said(_BATCH)
    if query is None or batch is None:
        return None
    if batch == "0":
        return START_OF_TIME
    try:
        return int((_folder(query) / str(int(batch) - 1)).read_text())
    except (OSError, ValueError):
        return None


def leave(watermark: Timestamp) -> None:
    """Say that shards act on `watermark` in this micro-batch."""
    query, batch = _said(_QUERY), _said(_BATCH)
    if query is None or batch is None:
        return
    folder = _folder(query)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = folder / f".{batch}.{os.getpid()}"
        draft.write_text(str(watermark))
        draft.replace(folder / batch)
        (folder / str(int(batch) - 2)).unlink(missing_ok=True)
    except OSError:
        return  # nothing is known then, and nothing is folded


def place() -> Path:
    """The folder that all of these files are in."""
    return Path(tempfile.gettempdir(), f"fanlight-{os.getuid()}")


def _folder(query: str) -> Path:
    return place() / query


def _said(name: str) -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
