"""The few things a folder must be able to do: this machine's file system, or any that Spark knows by a URL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fanlight.spark.sinks.jvm import require_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Files(Protocol):
    """Files by their path, as text."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        ...

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there."""
        ...

    def create(self, path: str, text: str) -> None:
        """Write a small file, with its folders; a reader sees all of it or none."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a folder its place, which is free."""
        ...


class LocalFiles:
    """The file system of the driver, which the executors share."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return Path(path).exists()

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there."""
        file = Path(path)
        return file.read_text(encoding="utf-8") if file.exists() else None

    def create(self, path: str, text: str) -> None:
        """Write the file beside its place and move it there."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)

    def rename(self, source: str, target: str) -> None:
        """One call of the operating system: nobody sees a part."""
        Path(source).rename(target)


class HadoopFiles:
    """A file system that Spark reaches by a URL (`hdfs:`, `s3a:`, `file:`), through its JVM."""

    def __init__(self, session: SparkSession, url: str) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001 -- Hadoop has no other door
        self._files = self._path(url).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return bool(self._files.exists(self._path(path)))

    def text(self, path: str) -> str | None:
        """What a small file says, if it is there."""
        if not self.exists(path):
            return None
        handle = self._files.open(self._path(path))
        try:
            return bytes(handle.readAllBytes()).decode()
        finally:
            handle.close()

    def create(self, path: str, text: str) -> None:
        """Write the file beside its place and move it there."""
        draft = f"{path}.new"
        overwrite = True
        handle = self._files.create(self._path(draft), overwrite)
        handle.write(bytearray(text.encode()))
        handle.close()
        self.rename(draft, path)

    def rename(self, source: str, target: str) -> None:
        """As atomic as the file system's own rename."""
        if not self._files.rename(self._path(source), self._path(target)):
            raise OSError(f"{source} could not be renamed to {target}")

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def is_url(path: str) -> bool:
    """Whether a path names its file system."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:", path) is not None


def files_of(path: str, session: SparkSession) -> Files:
    """The file system a path lies on."""
    if not is_url(path):
        return LocalFiles()
    require_jvm(session, path)
    return HadoopFiles(session, path)
