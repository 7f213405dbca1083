"""Read time zone files: TZif (RFC 8536).

Zones come from the package `tzdata`, so a pipeline has the same days on every machine. A zone that it does not have is
looked up where Python looks for zones.
"""

from __future__ import annotations

import importlib.resources
import struct
from pathlib import Path
from zoneinfo import TZPATH

import numpy as np

from fanlight.errors import SpecError
from fanlight.kernels.grouping.groups import Ints

_HEADER = struct.Struct(">4s c 15x 6l")


def zone_file(name: str) -> bytes:
    """The file of the zone of that name."""
    parts = name.split("/")
    if name and not any(part in ("", ".", "..") for part in parts):
        packaged = importlib.resources.files("tzdata").joinpath("zoneinfo", *parts)
        for place in (packaged, *(Path(folder, *parts) for folder in TZPATH)):
            if place.is_file():
                return place.read_bytes()
    raise SpecError(f"Calendar: `zone` ({name!r}) is no time zone. Use a name such as 'Europe/Berlin', or 'UTC'.")


def read_zone(data: bytes) -> tuple[Ints, Ints, str]:
    """The instants of clock changes in seconds; the offset from UTC at first and after each change; and the rule
    for the time after the last change.
    """
    magic, version, *counts = _HEADER.unpack_from(data)
    if magic != b"TZif" or version < b"2":
        raise SpecError("Calendar: the file of this `zone` is not TZif of version 2 or later. Reinstall `tzdata`.")
    start = _HEADER.size + _length(counts, width=4)  # past the block for old readers, which ends in 2037
    _, _, *counts = _HEADER.unpack_from(data, start)
    start += _HEADER.size
    _, _, _, changes, kinds, _ = counts
    instants = np.frombuffer(data, ">i8", changes, start).astype(np.int64)
    kind = np.frombuffer(data, np.uint8, changes, start + 8 * changes)
    offsets = np.array([struct.unpack_from(">l", data, start + 9 * changes + 6 * i)[0] for i in range(kinds)], np.int64)
    footer = data[start + _length(counts, width=8) :]
    return instants, offsets[np.concatenate([[0], kind])], footer.strip(b"\n").decode()


def _length(counts: list[int], *, width: int) -> int:
    """The length of a block in which an instant takes `width` bytes."""
    in_utc, standard, leaps, changes, kinds, letters = counts
    return changes * (width + 1) + kinds * 6 + letters + leaps * (width + 4) + standard + in_utc
