"""Rows in the order of their times through the whole engine, against bare PyArrow, which sorts bundle by bundle."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Bundles, Contestant, Play, fed_rows, rows_of
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table, verdict
from benchmarks.measure import side_by_side
from benchmarks.stopwatch import Stopwatch

BAR = 4
"""Million rows a second."""


class OrderAudit:
    """Looks whether all rows came out, and none after a later one."""

    def __init__(self, name: str, rows: int, *, across: bool) -> None:
        """`across` says whether the order goes on from one table to the next."""
        self._name = name
        self._missing = rows
        self._across = across
        self._latest = -(2**63)

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""
        times = table.column("ts").cast(pa.int64()).to_numpy()
        self._missing -= len(times)
        if len(times) and (np.any(times[1:] < times[:-1]) or (self._across and times[0] < self._latest)):
            raise SystemExit(f"{self._name}: a row came after a later one, so no figure stands.")
        self._latest = max(self._latest, int(times[-1])) if len(times) else self._latest

    def close(self) -> None:
        """Stop everything if rows are missing, or there are too many."""
        if self._missing:
            raise SystemExit(f"{self._name}: {self._missing} rows are missing, so no figure stands.")


def run(scale: Scale) -> Figures:
    kinds = {
        "int64 keys": Orders(scale.rows),
        "string keys": Orders(scale.rows, text=True),
    }
    rows, busy = [], []
    for kind, made in kinds.items():
        bundles = made.bundles()
        measured = side_by_side(f"sort, {kind}", [_fanlight(bundles), _by_bundle(bundles)], scale.rounds)
        speeds = [f"{measured.times[name].speed:.1f}" for name in ("Fanlight", "PyArrow")]
        bar = verdict(measured.times["Fanlight"].speed, BAR)
        rows.append([kind, *speeds, f"{measured.ratio('Fanlight', 'PyArrow'):.2f}", bar])
        busy.append(measured.busy)
    head = ["sort, 5 s of disorder", "Fanlight, M rows/s", "each bundle sorted, M rows/s", "ratio", "bar, M rows/s"]
    return Figures("sort", scale, (table(head, rows),), max(busy))


def _fanlight(bundles: Bundles) -> Contestant:
    spec = fl.stream([], time="ts", delay="5 seconds").sort().spec
    return _contestant("Fanlight", fed_rows(spec, bundles), bundles, steps=len(bundles) + 1, across=True)


def _by_bundle(bundles: Bundles) -> Contestant:
    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        for bundle in bundles:
            with watch:
                ordered = bundle.sort_by("ts")
            yield pa.Table.from_batches([ordered])

    return _contestant("PyArrow", play, bundles, steps=len(bundles), across=False)


def _contestant(name: str, play: Play, bundles: Bundles, *, steps: int, across: bool) -> Contestant:
    rows = rows_of(bundles)
    return Contestant(name, play, partial(OrderAudit, name, rows, across=across), rows, steps)
