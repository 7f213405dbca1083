"""A folder of small files in a checkpoint, on whatever file system the checkpoint is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyarrow import ArrowException, fs

from fanlight.errors import EngineError


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder by its file system and its path there."""

    files: fs.FileSystem
    path: str
    text: str
    """As the user wrote it."""

    @staticmethod
    def of(text: str | os.PathLike[str]) -> Folder:
        """The folder that Spark means by `text`: a path of this machine, or a URI."""
        text = os.fspath(text)
        local = re.sub(r"^file:(//)?(?=/)", "", text)
        if not re.match(r"^[a-zA-Z][\w+.-]+:/", local):
            return Folder(fs.LocalFileSystem(), os.path.abspath(local), text)  # noqa: PTH100 -- links stay as they are
        try:
            files, path = fs.FileSystem.from_uri(text)
        except (ArrowException, OSError, ValueError) as problem:
            raise EngineError(
                f"The checkpoint {text!r} cannot be reached from here: {problem}. "
                "Use a path that this process can read and write, such as a shared folder, s3://, gs:// or hdfs://."
            ) from problem
        return Folder(files, path, text)

    @property
    def local(self) -> Path | None:
        """The path, if the folder is on this machine."""
        return Path(self.path) if isinstance(self.files, fs.LocalFileSystem) else None

    def exists(self) -> bool:
        """Whether there is such a folder."""
        with self._reached():
            return bool(self.files.get_file_info(self.path).type == fs.FileType.Directory)

    def names(self, name: str) -> list[str]:
        """The names in the subfolder `name`, except hidden files; nothing if there is no such folder."""
        chosen = fs.FileSelector(f"{self.path}/{name}", allow_not_found=True)
        with self._reached(name):
            return sorted(info.base_name for info in self.files.get_file_info(chosen) if info.base_name[0] not in "._")

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        with self._reached(name):
            try:
                with self.files.open_input_stream(f"{self.path}/{name}") as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place, whole or not at all."""
        path = f"{self.path}/{name}"
        draft = f"{path}.{os.getpid()}"
        with self._reached(name):
            self.files.create_dir(path.rpartition("/")[0], recursive=True)
            with self.files.open_output_stream(draft) as stream:
                stream.write(content)
            self.files.move(draft, path)

    @contextmanager
    def _reached(self, name: str = "") -> Iterator[None]:
        try:
            yield
        except (ArrowException, OSError) as problem:
            raise unreachable(self.text, problem, name) from problem


def unreachable(checkpoint: str, problem: Exception, name: str = "") -> EngineError:
    """The error for a file `name` of a checkpoint that the operating system does not let us read or write."""
    place = f"{name!r} in the checkpoint {checkpoint!r}" if name else f"The checkpoint {checkpoint!r}"
    return EngineError(
        f"{place} cannot be read or written: {getattr(problem, 'strerror', None) or problem}. Nothing was changed. "
        "Let the user of this process read and write there, or choose another checkpoint."
    )
