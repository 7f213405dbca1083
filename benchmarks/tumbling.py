"""One-minute tumbling windows through the whole engine, against a bare PyArrow group-by that keeps nothing."""

from __future__ import annotations

import fanlight as fl
from benchmarks.contestants import bare_group_by, engine, orders, pipeline
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table, verdict
from benchmarks.measure import side_by_side
from benchmarks.totals import expected

MINUTE = 60_000_000
BAR = 0.4


def run(scale: Scale) -> Figures:
    kinds = {
        "int64 keys, float64 prices": Orders(scale.rows),
        "string keys, float64 prices": Orders(scale.rows, text=True),
        "int64 keys, int64 prices": Orders(scale.rows, whole=True),
    }
    spec = pipeline(orders().window(fl.tumbling("1 minute")))
    rows, busy = [], []
    for kind, made in kinds.items():
        bundles = made.bundles()
        totals = expected(bundles, MINUTE, MINUTE)
        measured = side_by_side(
            f"tumbling, {kind}",
            [engine("Fanlight", spec, bundles, totals), bare_group_by("PyArrow", bundles, MINUTE, totals)],
            scale.rounds,
        )
        ratio = measured.ratio("Fanlight", "PyArrow")
        speeds = [f"{measured.times[name].speed:.1f}" for name in ("Fanlight", "PyArrow")]
        rows.append([kind, *speeds, f"{ratio:.2f}", verdict(ratio, BAR)])
        busy.append(measured.busy)
    head = ["tumbling 1 min, 10 k keys", "Fanlight, M rows/s", "bare group-by, M rows/s", "ratio", "bar"]
    return Figures("tumbling", scale, (table(head, rows),), max(busy))
