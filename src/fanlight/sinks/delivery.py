"""The delivery of one batch to its sinks."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import pyarrow.parquet as pq

from fanlight.errors import SpecError
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.files import Files, LocalFiles, is_url
from fanlight.sinks.result_schema import ResultShape


class Delivery(ABC):
    """One batch for its sinks, wherever it was computed."""

    def __init__(
        self, query: str, number: int, shape: ResultShape, *, offsets: int | None = None, accepts: bool = False
    ) -> None:
        """`offsets` is a digest of what the batch reads, the same for a repeat; `accepts` says that a place takes the
        batch also if it does not follow what the place holds.
        """
        self.query = query
        self.number = number
        self.shape = shape
        self.offsets = offsets
        self.accepts = accepts

    problems: ClassVar[tuple[type[Exception], ...]] = ()
    """What an engine raises that files do not."""

    @property
    @abstractmethod
    def batch(self) -> Batch:
        """All of it in this process."""

    @abstractmethod
    def files(self, path: str) -> Files:
        """The file system that a path lies on."""

    @abstractmethod
    def stage(self, part: Part, folder: str, *, even_empty: bool) -> bool:
        """Write one part as parquet into a folder; False if there are no rows, unless that is no reason."""


class DeliveryHere(Delivery):
    """A batch that is in this process already."""

    def __init__(self, batch: Batch, shape: ResultShape, *, accepts: bool = False) -> None:
        super().__init__(batch.query, batch.number, shape, offsets=batch.offsets, accepts=accepts)
        self._batch = batch

    @property
    def batch(self) -> Batch:
        """As it was given."""
        return self._batch

    def files(self, path: str) -> Files:
        """Those of this machine."""
        if is_url(path):
            raise SpecError(
                f"write_to: {path!r} names a file system that Spark knows, and this pipeline runs in this process. "
                "Use a path, or give stream() a DataFrame."
            )
        return LocalFiles()

    def stage(self, part: Part, folder: str, *, even_empty: bool) -> bool:
        """One file."""
        return staged_here(self.batch, part, folder, even_empty=even_empty)


def staged_here(batch: Batch, part: Part, folder: str, *, even_empty: bool) -> bool:
    """Write a part of a batch that is in this process into a folder, as one file; False if it needs none.

    The batch is the name of the folder, so the accounting does not repeat it.
    """
    table = batch.part(part)
    if not even_empty and not len(table):
        return False
    made_anew(folder)
    pq.write_table(table.drop_columns(["batch"]) if part is Part.ACCOUNTING else table, f"{folder}/part-0.parquet")
    return True


def made_anew(folder: str) -> None:
    """Make an empty folder, in the place of what a run that was killed has left."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
