"""JSON lines: one append a batch, and a sidecar that says how much of the file counts."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fanlight.errors import SinkError
from fanlight.spark.sinks.batch import Leaving, Part
from fanlight.spark.sinks.sink import blamed
from fanlight.spark.sinks.text import lines

SIDECAR = ".fanlight"
"""Added to the file's name."""


@dataclass(frozen=True)
class LinesSink:
    """A file of one query, written by the driver; what stands behind the committed length is cut off before more comes.

    | batch 0 | batch 1 | bat…          the driver was killed here
                        ^ length        says the sidecar: batch 1
    """

    path: str
    part: Part

    guarantee: ClassVar[str] = (
        "exactly once: a batch is appended and synced, then the sidecar notes its number and the file's new length; "
        "what a crash left behind that length is cut off when the query starts again"
    )
    on_executors: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """The file."""
        return {self.part: self.path}

    def write(self, leaving: Leaving) -> None:
        """Append the batch and note it, unless it is noted."""
        file = Path(self.path)
        with blamed(self.path, leaving.number, (OSError,), "Free space, or make the file writable."):
            file.parent.mkdir(parents=True, exist_ok=True)
            noted = self._claimed(leaving.query, leaving.number)
            if noted.batch >= leaving.number:
                return
            text = "".join(f"{line}\n" for line in lines(leaving.batch.part(self.part)))
            length = _appended(file, noted.length, text.encode())
            _note(file, _Noted(leaving.query, leaving.number, length))

    def _claimed(self, query: str, number: int) -> _Noted:
        """What is noted about the file. The first batch notes that it is empty, so that a file of others is known."""
        file = Path(self.path)
        noted = _noted(file)
        if noted is None:
            if file.exists() and file.stat().st_size:
                raise SinkError(
                    f"write_to: {self.path} did not take batch {number}: it holds {file.stat().st_size} bytes that "
                    f"nothing says Fanlight wrote ({self.path}{SIDECAR} is not there). Name another file, or move it."
                )
            noted = _Noted(query, -1, 0)
            _note(file, noted)
        if noted.query != query:
            raise SinkError(
                f"write_to: {self.path} did not take batch {number} of query {query!r}: it belongs to query "
                f"{noted.query!r}, and one file takes the batches of one query. Name another file, or remove it "
                f"with its {SIDECAR} if the other is done with it."
            )
        return noted


@dataclass(frozen=True, slots=True)
class _Noted:
    """Up to where the file counts, and which batch ends there."""

    query: str
    batch: int
    length: int


def committed_length(path: str | Path) -> int:
    """How many bytes of a file of JSON lines are committed: what a reader beside a running query should read."""
    noted = _noted(Path(path))
    return 0 if noted is None else noted.length


def _noted(file: Path) -> _Noted | None:
    try:
        text = _sidecar(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return _Noted(**json.loads(text))


def _note(file: Path, noted: _Noted) -> None:
    """Replace the sidecar at once, and only when all of it is on the disk."""
    draft = file.with_name(f"{file.name}{SIDECAR}.new")
    content = json.dumps({"query": noted.query, "batch": noted.batch, "length": noted.length})
    with draft.open("w", encoding="utf-8") as handle:
        handle.write(content + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(_sidecar(file))
    _sync_folder(file.parent)


def _appended(file: Path, length: int, data: bytes) -> int:
    """Cut the file to `length`, add `data`, wait for the disk; the new length."""
    with file.open("ab") as handle:
        handle.truncate(length)
        try:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        except OSError:
            os.truncate(file, length)  # a reader sees whole batches, also of a file that ran full
            raise
    return length + len(data)


def _sidecar(file: Path) -> Path:
    return file.with_name(file.name + SIDECAR)


def _sync_folder(folder: Path) -> None:
    """A rename is on the disk when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
