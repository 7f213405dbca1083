"""The frame around stored bytes: it knows what they are and in which version, and notices damage.

    | magic | version | kind | length | checksum | payload … |
      4       2         2      8        8          length bytes

Numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import Any

from fanlight.errors import StateError

_MAGIC = b"FANL"
_HEADER = struct.Struct("<4sHHQQ")
_RESTORE = "Restore it from a copy that is whole, or start without it."


class FrameKind(IntEnum):
    """What a frame holds. Each kind has a version of its own."""

    CHUNK = 1
    SNAPSHOT = 2

    @property
    def version(self) -> int:
        """The version that this Fanlight writes and reads."""
        return {FrameKind.CHUNK: 3, FrameKind.SNAPSHOT: 4}[self]

    def __str__(self) -> str:
        return self.name.lower()


def framed(kind: FrameKind, parts: list[Any]) -> bytes:
    """These parts, one after the other, in a frame."""
    length, checksum = 0, 0
    for part in parts:
        length += len(part)
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEADER.pack(_MAGIC, kind.version, kind, length, checksum), *parts])


def payload_of(kind: FrameKind, data: bytes) -> memoryview:
    """What a frame of this kind holds.

    It is checked from the outside in, so that the message names the outermost thing that is wrong.
    """
    if not data.startswith(_MAGIC[: len(data)]) or not data:
        raise StateError(
            f"These {len(data)} bytes are not a {kind} of Fanlight: they begin with {bytes(data[:4])!r}, not "
            f"{_MAGIC!r}. Check where they were read from."
        )
    if len(data) < _HEADER.size:
        raise StateError(f"This {kind} is truncated: {len(data)} bytes are less than its header. {_RESTORE}")
    _, version, found, length, checksum = _HEADER.unpack_from(data)
    if found != kind:
        other = str(FrameKind(found)) if found in iter(FrameKind) else f"thing of unknown kind {found}"
        raise StateError(f"This is a {other} of Fanlight, not a {kind}. Check where it was read from.")
    if version != kind.version:
        raise StateError(
            f"This {kind} has format version {version}; this Fanlight reads version {kind.version}. "
            "Use the Fanlight that wrote it, or start without it."
        )
    payload = memoryview(data)[_HEADER.size :]
    if len(payload) < length:
        raise StateError(
            f"This {kind} is truncated: {len(payload)} of {length} bytes are left behind its header. {_RESTORE}"
        )
    if len(payload) > length:
        raise StateError(f"This {kind} is damaged: {len(payload) - length} bytes follow its end. {_RESTORE}")
    if zlib.crc32(payload) != checksum:
        raise StateError(f"This {kind} is damaged: its checksum does not fit its {length} bytes. {_RESTORE}")
    return payload
