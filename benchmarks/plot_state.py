"""What row operators and joins keep over a long run, and what is left after it, as one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # a picture for a file: no screen is needed

from matplotlib import pyplot as plt

from benchmarks.state import AS_OF, HOURS, INNER, LEFT, MINUTES, OVER, SORT, UNIQUE, Kept

COLOURS = {
    OVER: "#1f5fa8",
    SORT: "#c2571a",
    UNIQUE: "#4a8f3c",
    INNER: "#8a3f9e",
    LEFT: "#b08a00",
    AS_OF: "#3a9a9a",
}
_AFTER = 0.6
"""Hours beyond the last one that show what is left."""


def draw(kept: Kept, path: Path) -> None:
    """Write the curves to `path`: bytes of a snapshot by hours, the bytes logarithmic."""
    figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
    axes.axvspan(0, 1, color="#eeeeee", label="the first hour")
    for name, sizes in kept.sizes.items():
        hours = [(minute + 1) / MINUTES for minute in range(len(sizes))]
        axes.semilogy(hours, [size / 1e6 for size in sizes], color=COLOURS[name], linewidth=1, label=name)
    axes.axvline(HOURS, color="#888888", linewidth=0.8, linestyle=":")
    for place, (name, left) in enumerate(kept.ended.items(), start=1):
        at = HOURS + _AFTER * place / (len(kept.ended) + 1)
        axes.plot([at], [left / 1e6], "o", markersize=3.5, color=COLOURS[name])
    least = min(kept.ended.values()) / 1e6
    axes.annotate("after the end:\nthe index alone", (HOURS, least), (HOURS - 0.3, least * 2.2), ha="right", fontsize=8)
    top = max(max(sizes) for sizes in kept.sizes.values()) / 1e6
    axes.set_ylim(least / 2, top * 60)
    axes.set_xlim(0, HOURS + _AFTER)
    axes.set_xticks(range(0, HOURS + 1, 5))
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("state after a step, MB")
    axes.set_title("State of row operators and joins, a bundle a minute")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)
