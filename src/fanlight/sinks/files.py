"""File operations of sinks, and those of this machine's own file system."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

DRAFT = ".new"
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
    """The file system of this machine; on Spark that of the driver, which the executors share."""

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
            sync(file)
        Path(source).rename(place)
        sync(place.parent)


def replace(file: Path, text: str) -> None:
    """Put a small file in the place of another at once, and only when all of it is on the disk."""
    draft = file.with_name(f"{file.name}{DRAFT}")
    with draft.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)
    sync(file.parent)  # a rename is on the disk when its folder is


def sync(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_url(path: str) -> bool:
    """Whether a path names its file system."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:", path) is not None
