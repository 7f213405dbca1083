"""Ten-minute windows every ten seconds, sixty of them over each record, against the engine's own tumbling windows."""

from __future__ import annotations

import fanlight as fl
from benchmarks.contestants import engine, orders, pipeline
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table, verdict
from benchmarks.measure import side_by_side
from benchmarks.totals import expected

BAR = 0.3


def run(scale: Scale) -> Figures:
    bundles = Orders(scale.rows).bundles()
    minute, ten_minutes, ten_seconds = 60_000_000, 600_000_000, 10_000_000
    tumbling = pipeline(orders().window(fl.tumbling("1 minute")))
    hopping = pipeline(orders().window(fl.hopping("10 minutes", every="10 seconds")))
    measured = side_by_side(
        "hopping",
        [
            engine("tumbling 1 min", tumbling, bundles, expected(bundles, minute, minute)),
            engine("hopping 10 min / 10 s", hopping, bundles, expected(bundles, ten_minutes, ten_seconds)),
        ],
        scale.rounds,
    )
    rows = []
    for name, times in measured.times.items():
        ratio = measured.ratio(name, "tumbling 1 min")
        bar = "" if name == "tumbling 1 min" else verdict(ratio, BAR)
        rows.append([name, f"{times.speed:.1f}", f"{times.rows_out:,}", f"{ratio:.2f}", bar])
    head = ["10 k keys, int64", "M rows/s", "rows out", "ratio", "bar"]
    return Figures("hopping", scale, (table(head, rows),), measured.busy)
