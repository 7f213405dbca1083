"""What it costs that panes can fire more than once: late data welcome for an hour, or an early look at every bundle."""

from __future__ import annotations

import fanlight as fl
from benchmarks.contestants import engine, orders, pipeline
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table
from benchmarks.measure import side_by_side
from benchmarks.totals import expected
from fanlight.model.windows.kind import WindowKind

WINDOWS: dict[str, tuple[WindowKind, int, int]] = {
    "tumbling 1 min": (fl.tumbling("1 minute"), 60_000_000, 60_000_000),
    "hopping 10 min / 10 s": (fl.hopping("10 minutes", every="10 seconds"), 600_000_000, 10_000_000),
}
EARLY = fl.at_watermark(early=fl.every("1 minute"))
"""Each bundle moves the clock six minutes, so each is a look at every pane that was open before it."""


def run(scale: Scale) -> Figures:
    punctual, late = Orders(scale.rows).bundles(), Orders(scale.rows, late=0.01).bundles()
    rows, busy = [], []
    for name, (window, size, every) in WINDOWS.items():
        once, patient = orders().window(window), orders().window(window, lateness="1 hour")
        totals, totals_late = expected(punctual, size, every), expected(late, size, every)
        contestants = [
            engine("once", pipeline(once), punctual, totals),
            engine("lateness 1 hour, nothing late", pipeline(patient), punctual, totals),
            engine("lateness 1 hour, 1 % up to 10 min late", pipeline(patient), late, totals_late),
        ]
        if every < size:  # tumbling minutes open and close within a bundle: there is nothing to look at early
            early = pipeline(once.trigger(EARLY).retracting())
            contestants.append(engine("early at every bundle, retracting", early, punctual, totals))
        measured = side_by_side(name, contestants, scale.rounds)
        busy.append(measured.busy)
        for kind, times in measured.times.items():
            ratio = measured.ratio(kind, "once")
            rows.append([f"{name}, {kind}", f"{times.speed:.2f}", f"{times.rows_out:,}", f"{ratio:.2f}"])
    return Figures("firings", scale, (table(["10 k keys", "M rows/s", "rows out", "to once"], rows),), max(busy))
