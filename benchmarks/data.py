"""Made-up orders: an hour of them, a little out of order, always the same.

    bundles   |----0----|----1----|  …  |----9----|      a tenth of the rows each, a tenth of the hour
    times      .. .. . .. . .. .. .                      growing evenly, each up to five seconds back

A share of the rows can be late: up to ten minutes further back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

HOUR = 3_600_000_000
DISORDER = 5_000_000
BUNDLES = 10
START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""

_LATE_BY = 600_000_000
_CACHE = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True, slots=True)
class Orders:
    """Which orders: how many rows and keys, of which types, and the share of them that comes late.

    Prices are whole quarters (or whole numbers), so that sums are exact in any order and can be compared.
    """

    rows: int
    keys: int = 10_000
    text: bool = False
    whole: bool = False
    late: float = 0.0

    def bundles(self) -> list[pa.RecordBatch]:
        """The orders in ten bundles, in memory."""
        return kept(self.name, self._made)

    @property
    def name(self) -> str:
        """What the file that keeps them is called."""
        kinds = f"{'text' if self.text else 'int'}-{'int' if self.whole else 'float'}"
        return f"orders-1-{self.rows}-{self.keys}-{kinds}-{self.late}"

    @property
    def _schema(self) -> pa.Schema:
        key = pa.string() if self.text else pa.int64()
        price = pa.int64() if self.whole else pa.float64()
        return pa.schema({"ts": pa.timestamp("us", "UTC"), "key": key, "price": price})

    def _made(self) -> pa.RecordBatch:
        random = np.random.default_rng(20260101)
        times = START + np.arange(self.rows) * HOUR // self.rows - random.integers(0, DISORDER, self.rows)
        keys = random.integers(0, self.keys, self.rows)
        prices = random.integers(1, 40_000, self.rows)
        if self.late:
            times -= np.where(random.random(self.rows) < self.late, random.integers(0, _LATE_BY, self.rows), 0)
        names = pa.array([f"product-{key:07d}" for key in range(self.keys)])
        columns = [
            pa.array(times, pa.timestamp("us", "UTC")),
            names.take(pa.array(keys)) if self.text else pa.array(keys),
            pa.array(prices if self.whole else prices / 4),
        ]
        return pa.record_batch(columns, schema=self._schema)


def kept(name: str, make: Callable[[], pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Rows in ten bundles, in memory; made once, then read from `benchmarks/data/`."""
    path = _CACHE / f"{name}.arrow"
    if not path.exists():
        _CACHE.mkdir(exist_ok=True)
        unfinished, made = path.with_suffix(".part"), make()
        cuts = [len(made) * place // BUNDLES for place in range(BUNDLES + 1)]
        with pa.OSFile(str(unfinished), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
            for start, end in pairwise(cuts):
                writer.write_batch(made.slice(start, end - start))
        unfinished.rename(path)
    with pa.OSFile(str(path), "rb") as file:
        reader = pa.ipc.open_file(file)
        return [reader.get_batch(place) for place in range(reader.num_record_batches)]
