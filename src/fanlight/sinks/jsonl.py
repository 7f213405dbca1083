"""JSON lines: one append for each batch, and a sidecar file that says how much of the file is committed."""

from __future__ import annotations

import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from fanlight.errors import SinkError
from fanlight.sinks.as_text import lines
from fanlight.sinks.batch import Part
from fanlight.sinks.checked_note import opened, sealed
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.files import replace
from fanlight.sinks.ledger import Ledger
from fanlight.sinks.sink import blamed

SIDECAR = ".fanlight"
"""Added to the file's name."""

_REMEDY = "Free space, or make the file writable."
_WAYS_ON = (
    "Nothing was appended. Put the file back as it was. Or move it away with its sidecar, and start once with "
    'on_mismatch="accept": the query goes on in a new file, which then begins with this batch.'
)
_AT_ONCE = 1 << 20
"""Bytes that are read at a time."""


@dataclass(frozen=True)
class JsonLinesSink:
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
    sees_all: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """The file."""
        return {self.part: self.path}

    def check(self, delivery: Delivery) -> None:
        """Refuse a batch that does not follow what the file holds, and a damaged file; nothing is touched."""
        with blamed(self.path, delivery.number, (OSError,), _REMEDY):
            noted = self._noted(delivery)
            _takes(self.path, noted, delivery)
            if noted is not None and _checksum(Path(self.path), noted.length) != noted.checksum_of_lines:
                raise SinkError(
                    f"write_to: {self.path} did not take batch {delivery.number}: its first {noted.length} bytes are "
                    f"not those that were written up to batch {noted.batch}, so it is damaged. {_WAYS_ON}"
                )

    def write(self, delivery: Delivery) -> None:
        """Append the batch and note it, unless it is noted."""
        file = Path(self.path)
        with blamed(self.path, delivery.number, (OSError,), _REMEDY):
            noted = self._noted(delivery)
            if not _takes(self.path, noted, delivery):
                return
            if noted is None:  # the file is claimed while it is empty, so that a file of another query is recognised
                file.parent.mkdir(parents=True, exist_ok=True)
                noted = _FileNote(delivery.query)
                _note(file, noted)
            data = "".join(f"{line}\n" for line in lines(delivery.batch.part(self.part))).encode()
            length, checksum = _appended(file, noted.length, data), zlib.crc32(data, noted.checksum_of_lines)
            _note(file, _FileNote(delivery.query, delivery.number, delivery.offsets, length, checksum))

    def _noted(self, delivery: Delivery) -> _FileNote | None:
        """The note about the file, if it matches the file and the query."""
        file, number = Path(self.path), delivery.number
        noted, length = _noted(file), file.stat().st_size if file.exists() else 0
        if noted is None:
            if length:
                raise SinkError(
                    f"write_to: {self.path} did not take batch {number}: it holds {length} bytes that "
                    f"nothing says Fanlight wrote ({self.path}{SIDECAR} is not there). Name another file, or move it."
                )
            return None
        if noted.query != delivery.query:
            raise SinkError(
                f"write_to: {self.path} did not take batch {number} of query {delivery.query!r}: it belongs to query "
                f"{noted.query!r}, and one file takes the batches of one query. Name another file, or remove it "
                f"with its {SIDECAR} if the other is done with it."
            )
        if length < noted.length:
            raise SinkError(
                f"write_to: {self.path} did not take batch {number}: {_found(file, length)}, and {file.name}{SIDECAR} "
                f"notes {noted.length} bytes up to batch {noted.batch}, so rows that were written are lost. {_WAYS_ON}"
            )
        return noted


@dataclass(frozen=True, slots=True)
class _FileNote:
    """The committed length of the file, the batch that ends there, and the CRC-32 of the committed bytes."""

    query: str
    batch: int = -1
    offsets: int | None = None
    length: int = 0
    checksum_of_lines: int = 0


def _takes(path: str, noted: _FileNote | None, delivery: Delivery) -> bool:
    """Whether the batch must be written."""
    ledger = Ledger(path, delivery.query, None)
    if noted is not None and noted.batch >= 0:
        ledger = Ledger(path, delivery.query, noted.batch, noted.offsets)
    return ledger.takes(delivery.number, accepts=delivery.accepts, offsets=delivery.offsets)


def committed_length(path: str | Path) -> int:
    """How many bytes of a file of JSON lines are committed: what a reader beside a running query should read."""
    noted = _noted(Path(path))
    return 0 if noted is None else noted.length


def _noted(file: Path) -> _FileNote | None:
    sidecar = _sidecar(file)
    try:
        text = sidecar.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None
    return _FileNote(**opened(text, str(sidecar)))


def _note(file: Path, noted: _FileNote) -> None:
    """Replace the sidecar at once, and only when all of it is on the disk."""
    replace(_sidecar(file), sealed(asdict(noted)))


def _checksum(file: Path, length: int) -> int:
    """The CRC-32 of the first bytes of a file."""
    checksum = 0
    if length:
        with file.open("rb") as handle:
            while length and (data := handle.read(min(length, _AT_ONCE))):
                checksum, length = zlib.crc32(data, checksum), length - len(data)
    return checksum


def _found(file: Path, length: int) -> str:
    return f"it holds {length} bytes" if file.exists() else "the file is gone (0 bytes)"


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
