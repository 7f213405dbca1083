"""Who is measured: each makes a DataFrame of the same windows from the same source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

import fanlight as fl
from benchmarks.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.written import Written

DELAY = "5 seconds"
"""How far the watermark follows behind, for all of them."""


class Windows(Protocol):
    """Windows that contestants compute, and what comes of a few orders."""

    @property
    def name(self) -> str:
        """What tables call them."""

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The closed windows among the rows of a query, in order; with `repeats` a pane may be there more than once."""

    def defined(self) -> pa.Table:
        """The same by the definition."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to compute windows, what it plays, and how many of its first batches do not count."""

    name: str
    windows: Windows
    query: Callable[..., DataFrame]
    """Takes a DataFrame for each input."""
    files: Files
    warm: int
    repeats: bool = False
    """Whether a pane may leave more than once."""
    inputs: int = 1
    """How many inputs the rows of the files come in."""
    writes: bool = False
    """Whether its rows are written to parquet files; otherwise they go to a sink that does nothing."""
    result: Callable[..., Written] | None = None
    """What `write_to` writes, in the place of Spark's own sink."""


def orders(source: DataFrame) -> fl.Stream:
    """The stream that Fanlight's contestants begin with."""
    return fl.stream(source, time="ts", delay=DELAY).key_by("key")


def summed(windowed: fl.Windowed) -> DataFrame:
    """Count, sum and maximum of the price."""
    return windowed.agg(n=fl.count(), revenue=fl.sum("price"), highest=fl.max("price")).df
