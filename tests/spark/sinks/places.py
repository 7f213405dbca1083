"""The places that keep a ledger and need no JVM, each with the batches of one query, and what is in them."""

from __future__ import annotations

import json
import runpy
import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from fanlight.sinks.batch import Part
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.jsonl import JsonLinesSink, committed_length
from fanlight.sinks.parquet import ParquetSink
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of

from .orders import BUNDLES, corrected, handed, shape_of, stepped

EXAMPLE = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "extending" / "sink.py"))
SHAPE = shape_of(corrected)
FIRED = [*stepped(corrected, BUNDLES[:3]), *stepped(corrected, BUNDLES)[3:]]
"""What the batches fire: the fourth and the last nothing, which are noted all the same."""


class Place(ABC):
    """A sink in a folder of its own."""

    kind: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    @abstractmethod
    def sink(self) -> Sink:
        """The sink, as after a restart: it remembers nothing."""

    @abstractmethod
    def content(self) -> Any:
        """All that a reader finds."""

    def write(self, *batches: int, accepts: bool = False) -> None:
        for number in batches:
            self.sink.write(self.batch(number, accepts=accepts))

    def batch(self, number: int, *, offsets: int | None = None, accepts: bool = False) -> Delivery:
        read = 100 + number if offsets is None else offsets
        return handed(SHAPE, number, FIRED[number], offsets=read, accepts=accepts)

    def bytes(self) -> dict[str, bytes]:
        """Every file, to see that nothing was touched."""
        return {str(file): file.read_bytes() for file in sorted(self.folder.rglob("*")) if file.is_file()}


class SqlitePlace(Place):
    kind = "sqlite"

    @property
    def file(self) -> Path:
        return self.folder / "t.db"

    @property
    def sink(self) -> Sink:
        (sink,) = sinks_of(SHAPE, f"sqlite:///{self.file}", table="totals")
        return sink

    def content(self) -> Any:
        if not self.file.exists():
            return [], []
        with closing(sqlite3.connect(self.file)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not {"totals", "totals_accounting"} <= tables:
                return [], []
            rows = sorted(connection.execute("SELECT * FROM totals"), key=repr)
            return rows, list(connection.execute("SELECT batch FROM totals_accounting ORDER BY rowid"))


class LinesPlace(Place):
    kind = "lines"

    @property
    def file(self) -> Path:
        return self.folder / "t.jsonl"

    @property
    def sink(self) -> Sink:
        return JsonLinesSink(str(self.file), Part.ROWS)

    def content(self) -> Any:
        committed = self.file.read_bytes()[: committed_length(self.file)] if self.file.exists() else b""
        return [json.loads(line) for line in committed.splitlines()]


class FolderPlace(Place):
    kind = "folder"

    @property
    def sink(self) -> Sink:
        return ParquetSink(str(self.folder / "t"), Part.ROWS)

    def content(self) -> Any:
        folders = sorted((self.folder / "t").glob("batch=*"))
        return [(folder.name, _read(folder)) for folder in folders]


def _read(folder: Path) -> list[Any]:
    return pa.concat_tables(pq.ParquetFile(file).read() for file in sorted(folder.glob("*.parquet"))).to_pylist()


class ExamplePlace(Place):
    """The sink of examples/extending, which a user might write."""

    kind = "example"

    @property
    def files(self) -> Any:
        return EXAMPLE["ArrowFiles"](self.folder / "t")

    @property
    def sink(self) -> Sink:
        (sink,) = sinks_of(SHAPE, self.files)
        return sink

    def content(self) -> Any:
        folders = sorted((self.folder / "t" / "q").glob("[0-9]*"))
        return [(folder.name, feather.read_table(folder / "rows.arrow").to_pylist()) for folder in folders]


PLACES: dict[str, type[Place]] = {place.kind: place for place in (SqlitePlace, LinesPlace, FolderPlace)}
EVERY_PLACE: dict[str, type[Place]] = PLACES | {ExamplePlace.kind: ExamplePlace}
