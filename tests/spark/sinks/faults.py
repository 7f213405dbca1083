"""What can happen to a file: a bit turns, half of it is lost, all of it, or the file itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def flipped(file: Path, bit: int | None = None) -> None:
    """Turn a bit: one in the middle, unless it is told which."""
    data = bytearray(file.read_bytes())
    place = 4 * len(data) if bit is None else bit % (8 * len(data))
    data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


FAULTS: dict[str, Callable[[Path], None]] = {
    "flip": flipped,
    "truncate": truncated,
    "empty": emptied,
    "delete": Path.unlink,
}
