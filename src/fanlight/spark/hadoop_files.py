"""File operations of sinks on any file system that Spark knows by a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanlight.sinks.files import DRAFT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        place = next((place for place in (path, f"{path}{DRAFT}") if self.exists(place)), None)
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
        draft = f"{path}{DRAFT}"
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
