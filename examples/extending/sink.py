"""A sink of your own: Arrow files in a folder, one subfolder a batch. Nothing of Fanlight is touched for it.

    orders/
      5e0c…/                       the query
        00000000_-8274…/           its batch 0, and the digest of what it read
          rows.arrow  dead_letters.arrow  accounting.arrow
        00000001_5512…/

The name of a subfolder is the note of its batch. So the one rename that shows a batch also notes it: both, or neither,
whenever the process is killed. To outlive a loss of power, sync the files before the rename and the folder after.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from fanlight.sinks import Batch, BatchNote


class ArrowFiles:
    """Takes batches as Arrow files; give it to `write_to`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        """What messages call it."""
        return str(self.folder)

    def newest(self, query: str) -> BatchNote | None:
        """The note of the newest batch of a query that is here."""
        return max((note for note, _ in self._held(query)), default=None, key=lambda note: note.number)

    def take(self, rows: pa.Table, batch: Batch) -> None:
        """Write beside, then rename. Batches that this one comes in the place of make way first."""
        own = self.folder / batch.query
        draft = own / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        tables = {"rows": rows, "dead_letters": batch.dead_letters, "accounting": batch.accounting}
        for name, table in tables.items():
            feather.write_feather(table, draft / f"{name}.arrow")
        for note, folder in self._held(batch.query):
            if note.number >= batch.number:  # only if the user has said on_mismatch="accept"
                shutil.rmtree(folder)
        draft.rename(own / _name(batch.note))

    def table(self, query: str, name: str = "rows") -> pa.Table:
        """All batches of a query, in order, as a reader finds them."""
        folders = [folder for _, folder in sorted(self._held(query))]
        return pa.concat_tables(feather.read_table(folder / f"{name}.arrow") for folder in folders)

    def _held(self, query: str) -> list[tuple[BatchNote, Path]]:
        return [(_note(folder.name), folder) for folder in (self.folder / query).glob("[0-9]*_*")]


def _name(note: BatchNote) -> str:
    """A note as the name of a folder."""
    return f"{note.number:08d}_{'' if note.offsets is None else note.offsets}"


def _note(name: str) -> BatchNote:
    number, _, offsets = name.partition("_")
    return BatchNote(int(number), int(offsets) if offsets else None)
