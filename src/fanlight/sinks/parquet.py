"""Parquet in a folder: one subfolder for each batch, whole or not at all. On Spark the executors write it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from fanlight.errors import SinkError
from fanlight.sinks.batch import Part
from fanlight.sinks.checked_note import content_of, sealed
from fanlight.sinks.checked_note import opened as noted_in
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.files import Files
from fanlight.sinks.ledger import Ledger
from fanlight.sinks.sink import blamed

LEDGER = "_fanlight.json"
STAGING, ASIDE = "_staging", "_aside"
"""Names that Spark, Arrow and Hive readers pass over."""

_REMEDY = "Free space, or make the folder writable."


@dataclass(frozen=True, slots=True)
class _FolderNote:
    """The newest batch, and the newest that has a folder: one without rows needs none. Negative if there is none."""

    query: str
    batch: int = -1
    offsets: int | None = None
    filled: int = -1


@dataclass(frozen=True)
class ParquetSink:
    """A folder of one query: `batch=00000012/` is batch 12, and exists only when all its files do.

    staged ─► renamed ─► noted       killed before the last, the folder of the next batch is there already, and whole
    """

    path: str
    part: Part

    guarantee: ClassVar[str] = (
        "exactly once: the files of a batch are staged out of sight, their folder is renamed into its place when all "
        "are there, and then its number is noted; a batch that is noted, or whose folder is there, is skipped"
    )
    sees_all: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """The folder."""
        return {self.part: self.path}

    def drafts(self, number: int) -> str:
        """The folder of what tasks write of a batch, while it is not known which of it counts."""
        return f"{self._staging(number)}.drafts"

    def check(self, delivery: Delivery) -> None:
        """Refuse a batch that does not follow what the folder holds; nothing is touched."""
        with blamed(self.path, delivery.number, (OSError, *delivery.problems), _REMEDY):
            self._takes(delivery.files(self.path), delivery)

    def write(self, delivery: Delivery) -> None:
        """Stage the files of the batch, move them into place, and note the batch."""
        with blamed(self.path, delivery.number, (OSError, *delivery.problems), _REMEDY):
            files = delivery.files(self.path)
            noted, takes = self._takes(files, delivery)
            if not takes:
                return
            if noted is None:  # the folder is claimed while it is empty, so that one of another query is recognised
                noted = self._note(files, _FolderNote(delivery.query))
            if delivery.accepts:
                noted = self._set_aside(files, noted, delivery.number)
            if self._placed(files, delivery, is_first=noted.filled < 0):
                noted = replace(noted, filled=delivery.number)
            self._note(files, replace(noted, batch=delivery.number, offsets=delivery.offsets))

    def _placed(self, files: Files, delivery: Delivery, *, is_first: bool) -> bool:
        """Move the batch to its folder, unless it has one or needs none; returns whether it has one."""
        place, staging = f"{self.path}/{_name(delivery.number)}", self._staging(delivery.number)
        if files.exists(place):
            return True
        if not delivery.stage(self.part, staging, even_empty=is_first):
            return False
        files.rename(staging, place)
        return True

    def _staging(self, number: int) -> str:
        return f"{self.path}/{STAGING}/{_name(number)}"

    def _takes(self, files: Files, delivery: Delivery) -> tuple[_FolderNote | None, bool]:
        """The note, and whether the batch must be written."""
        noted, number = self._noted(files, delivery), delivery.number
        ledger = self._ledger(delivery, noted)
        takes = ledger.takes(number, accepts=delivery.accepts, offsets=delivery.offsets)
        if noted is not None and noted.filled >= 0 and not delivery.accepts:
            last = _name(noted.filled)
            if not files.exists(f"{self.path}/{last}"):
                raise ledger.refused(number, f"its newest batch with rows, {last}, was there and is gone.")
        return noted, takes

    def _ledger(self, delivery: Delivery, noted: _FolderNote | None) -> Ledger:
        if noted is None or noted.batch < 0:
            return Ledger(self.path, delivery.query, None)
        return Ledger(self.path, delivery.query, noted.batch, noted.offsets)

    def _noted(self, files: Files, delivery: Delivery) -> _FolderNote | None:
        """What is noted about the folder, if it is one of this query: two queries number their batches alike."""
        where = f"{self.path}/{LEDGER}"
        text = files.text(where)
        if text is None or (content_of(text) is None and not files.exists(where)):  # or killed at the very first note
            self._require_empty(files, delivery.number)
            return None
        noted = _FolderNote(**noted_in(text, where))
        if noted.query != delivery.query:
            raise SinkError(
                f"write_to: {self.path} did not take batch {delivery.number} of query {delivery.query!r}: it belongs "
                f"to query {noted.query!r}, and one folder takes the batches of one query. Name another folder, or "
                "remove it."
            )
        return noted

    def _require_empty(self, files: Files, number: int) -> None:
        if any(_number(name) is not None for name in files.names(self.path)):
            raise SinkError(
                f"write_to: {self.path} did not take batch {number}: it holds batches, and {LEDGER}, which says whose, "
                "is not there. Nothing was written. Restore that file, name another folder, or move this one."
            )

    def _note(self, files: Files, noted: _FolderNote) -> _FolderNote:
        files.put(f"{self.path}/{LEDGER}", sealed(asdict(noted)))
        return noted

    def _set_aside(self, files: Files, noted: _FolderNote, number: int) -> _FolderNote:
        """Make room for an accepted batch: move its folder and later ones, if any, to where no reader looks."""
        aside = f"{self.path}/{ASIDE}/{len(files.names(f'{self.path}/{ASIDE}')) + 1}"
        held = {batch: name for name in files.names(self.path) if (batch := _number(name)) is not None}
        for batch in sorted(held, reverse=True):
            if batch >= number:
                files.rename(f"{self.path}/{held[batch]}", f"{aside}/{held[batch]}")
        filled = max((batch for batch in held if batch < number), default=-1)
        return self._note(files, _FolderNote(noted.query, number - 1, None, filled))


def _name(number: int) -> str:
    """The subfolder of a batch."""
    return f"batch={number:08d}"


def _number(name: str) -> int | None:
    """The batch of a subfolder; None if it is none."""
    digits = name.removeprefix("batch=")
    return int(digits) if digits != name and digits.isdigit() else None
