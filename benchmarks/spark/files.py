"""The hour of orders as parquet files; each file is one micro-batch.

    the hour    |--0--|--1--|--2--|  …  |--9--|     `cut` files
    played      |--0--|--1--|--2--|                 `first` of them, for a contestant that takes long

Contestants that play fewer files have batches as large as the others have: what a batch costs is only in part what its
rows cost, so smaller batches would be no fair way to save time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data import Orders
from benchmarks.meetings import Meetings
from benchmarks.repeats import Repeats
from benchmarks.visits import Visits

SCHEMA = "ts timestamp, key bigint, price double"

_OLDEST = 1_767_225_600
"""Spark takes the oldest file first; the files are given these seconds, one after the other."""
_GROUPS = 8
"""Row groups a file, so that both cores read half of it; the groups of parts are as large as those of a whole."""
_PAGE = 20_000
"""The rows after which Spark's writer looks whether a dictionary has paid."""


@dataclass(frozen=True, slots=True)
class Files:
    """Which orders, cut into how many files, and how many of those are played."""

    orders: Orders | Visits | Repeats | Meetings
    cut: int = 10
    first: int = 10
    part: int = 0
    parts: int = 1
    """Every row of a file, or every second one, beginning with that of `part`."""

    @property
    def rows(self) -> int:
        """How many rows are played."""
        return self.orders.rows * self.first // self.cut // self.parts

    def parted(self, parts: int) -> tuple[Files, ...]:
        """The same rows as so many inputs."""
        return tuple(replace(self, part=part, parts=parts) for part in range(parts))

    def folder(self, room: Path) -> Path:
        """The folder that holds what is played and nothing else; made once."""
        share = "" if self.parts == 1 else f"-{self.part}-of-{self.parts}"
        whole = room / f"{self.orders.name}-{self.cut}{share}"
        if not whole.exists():
            _write(self.orders.bundles(), self.cut, whole, self.part, self.parts)
        if self.first == self.cut:
            return whole
        part = room / f"{whole.name}-{self.first}"
        if not part.exists():
            part.mkdir()
            for path in sorted(whole.iterdir())[: self.first]:
                os.link(path, part / path.name)
        return part


def _repeating(table: pa.Table) -> list[str]:
    """The columns that get a dictionary: those whose values repeat in the first page, as if Spark wrote the file."""
    first = table.slice(0, _PAGE)
    return [name for name in table.column_names if pc.count_distinct(first.column(name)).as_py() < len(first) / 2]


def _write(bundles: list[pa.RecordBatch], cut: int, folder: Path, part: int, parts: int) -> None:
    table = pa.Table.from_batches(bundles)
    if parts > 1:
        table = table.take(pa.array(np.arange(part, len(table), parts)))
    folder.mkdir()
    for place in range(cut):
        start, end = (len(table) * border // cut for border in (place, place + 1))
        path = folder / f"{place:04d}.parquet"
        rows, groups = table.slice(start, end - start), max(1, _GROUPS // parts)
        group = max(1, -(-len(rows) // groups))
        pq.write_table(rows, path, row_group_size=group, use_dictionary=_repeating(table))
        os.utime(path, (_OLDEST + place, _OLDEST + place))
