"""File operations of sinks: on this machine's file system, or on any that Spark knows by a URL."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fanlight.spark.sinks.require_jvm import require_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fanlight.spark.sinks.delivery import Delivery

_DRAFT = ".new"
"""Added to the name of a small file while it is written."""


class Files(Protocol):
    """Files by their path, as text."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        ...

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there."""
        ...

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing if it is not there."""
        ...

    def put(self, path: str, text: str) -> None:
        """Write a small file, with its folders, in the place of what was there; killed at any moment, `text` finds
        the old or the new one, whole.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a folder its place, which is free; its files are on the disk before."""
        ...


class LocalFiles:
    """The file system of the driver, which the executors share."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return Path(path).exists()

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there."""
        file = Path(path)
        return file.read_bytes().decode(errors="replace") if file.exists() else None

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing if it is not there."""
        folder = Path(path)
        return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []

    def put(self, path: str, text: str) -> None:
        """Write the file beside its place and move it there."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        replace(Path(path), text)

    def rename(self, source: str, target: str) -> None:
        """One call of the operating system: nobody sees a part."""
        place = Path(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        for file in [*Path(source).iterdir(), Path(source)]:
            _sync(file)
        Path(source).rename(place)
        _sync(place.parent)


class HadoopFiles:
    """A file system that Spark reaches by a URL (`hdfs:`, `s3a:`, `file:`), through its JVM."""

    def __init__(self, session: SparkSession, url: str) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001 -- Hadoop has no other door
        self._files = self._path(url).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return bool(self._files.exists(self._path(path)))

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there; else what was to take its place when everything ended."""
        place = next((place for place in (path, f"{path}{_DRAFT}") if self.exists(place)), None)
        if place is None:
            return None
        handle = self._files.open(self._path(place))
        try:
            return bytes(handle.readAllBytes()).decode(errors="replace")
        finally:
            handle.close()

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing if it is not there."""
        if not self.exists(path):
            return []
        return sorted(str(status.getPath().getName()) for status in self._files.listStatus(self._path(path)))

    def put(self, path: str, text: str) -> None:
        """Write the file beside its place and move it there. Not every file system can rename over another file."""
        draft = f"{path}{_DRAFT}"
        overwrite = recursive = True
        handle = self._files.create(self._path(draft), overwrite)
        handle.write(bytearray(text.encode()))
        handle.close()
        self._files.delete(self._path(path), not recursive)
        self.rename(draft, path)

    def rename(self, source: str, target: str) -> None:
        """Rename, as atomically as the file system does it."""
        self._files.mkdirs(self._path(target).getParent())
        if not self._files.rename(self._path(source), self._path(target)):
            raise OSError(f"{source} could not be renamed to {target}")

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def replace(file: Path, text: str) -> None:
    """Put a small file in the place of another at once, and only when all of it is on the disk."""
    draft = file.with_name(f"{file.name}{_DRAFT}")
    with draft.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)
    _sync(file.parent)  # a rename is on the disk when its folder is


def _sync(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_url(path: str) -> bool:
    """Whether a path names its file system."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:", path) is not None


def files_of(path: str, delivery: Delivery) -> Files:
    """The file system a path lies on; that of a URL is known to the session of the batch."""
    if not is_url(path):
        return LocalFiles()
    require_jvm(delivery.session, path)
    return HadoopFiles(delivery.session, path)
