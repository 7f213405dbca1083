"""How the cost of a record grows: with the number of windows over it, and with the number of keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import fanlight as fl
from benchmarks.contestants import bare_group_by, engine, orders, pipeline
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table
from benchmarks.measure import Measured, Times, side_by_side
from benchmarks.totals import expected

OVERLAPS = (1, 2, 6, 12, 60, 120, 360)
KEYS = (1_000, 10_000, 100_000, 1_000_000)

SIZE = 720_000_000
"""Twelve minutes: every overlap divides it into whole seconds."""
MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Growth:
    """The two curves: times by overlap, and by keys those of the engine and of the bare group-by."""

    overlaps: dict[int, Times]
    keys: dict[int, Times]
    bare: dict[int, Times]


def run(scale: Scale) -> tuple[Figures, Growth]:
    by_overlap = _overlaps(scale)
    by_keys = {keys: _keys(scale, keys) for keys in KEYS}
    growth = Growth(
        {overlap: by_overlap.times[str(overlap)] for overlap in OVERLAPS},
        {keys: measured.times["Fanlight"] for keys, measured in by_keys.items()},
        {keys: measured.times["PyArrow"] for keys, measured in by_keys.items()},
    )
    overlaps = [
        [
            f"{overlap} (every {SIZE // overlap // 1_000_000} s)",
            f"{times.speed:.1f}",
            f"{times.nanoseconds:.0f}",
            f"{times.rows_out:,}",
            f"{times.median * 1e9 / (times.rows + times.rows_out):.0f}",
            f"{by_overlap.ratio(str(overlap), '1'):.2f}",
        ]
        for overlap, times in growth.overlaps.items()
    ]
    counts = [
        [
            f"{keys:,}",
            f"{growth.keys[keys].speed:.1f}",
            f"{growth.keys[keys].nanoseconds:.0f}",
            f"{growth.keys[keys].rows_out:,}",
            f"{growth.bare[keys].nanoseconds:.0f}",
            f"{measured.ratio('Fanlight', 'PyArrow'):.2f}",
        ]
        for keys, measured in by_keys.items()
    ]
    tables = (
        table(
            ["windows over a record", "M rows/s", "ns a row in", "rows out", "ns a row in or out", "to one window"],
            overlaps,
        ),
        table(["keys", "M rows/s", "ns a row in", "rows out", "bare group-by, ns a row", "to the group-by"], counts),
    )
    busy = max(measured.busy for measured in (by_overlap, *by_keys.values()))
    return Figures("growth", scale, tables, busy), growth


def _overlaps(scale: Scale) -> Measured:
    bundles = Orders(scale.rows).bundles()
    size = timedelta(microseconds=SIZE)
    contestants = [
        engine(
            str(overlap),
            pipeline(orders().window(fl.hopping(size, every=size / overlap))),
            bundles,
            expected(bundles, SIZE, SIZE // overlap),
        )
        for overlap in OVERLAPS
    ]
    return side_by_side("growth with overlap", contestants, scale.rounds)


def _keys(scale: Scale, keys: int) -> Measured:
    bundles = Orders(scale.rows, keys).bundles()
    totals = expected(bundles, MINUTE, MINUTE)
    spec = pipeline(orders().window(fl.tumbling("1 minute")))
    return side_by_side(
        f"growth with keys, {keys:,}",
        [engine("Fanlight", spec, bundles, totals), bare_group_by("PyArrow", bundles, MINUTE, totals)],
        scale.rounds,
    )
