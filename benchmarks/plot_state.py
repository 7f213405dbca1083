"""What row operators keep over a long run, as one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # a picture for a file: no screen is needed

from matplotlib import pyplot as plt

from benchmarks.state import HOURS, MINUTES, OVER, SORT, UNIQUE, Kept

COLOURS = {OVER: "#1f5fa8", SORT: "#c2571a", UNIQUE: "#4a8f3c"}
_DECADES = 3


def draw(kept: Kept, path: Path) -> None:
    """Write the curves to `path`: bytes of a snapshot by hours, the bytes logarithmic."""
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    axes.axvspan(0, 1, color="#eeeeee", label="the first hour")
    for name, sizes in kept.sizes.items():
        hours = [(minute + 1) / MINUTES for minute in range(len(sizes))]
        axes.semilogy(hours, [size / 1e6 for size in sizes], color=COLOURS[name], linewidth=1, label=name)
    top = max(max(sizes) for sizes in kept.sizes.values()) / 1e6
    axes.set_ylim(top / 10**_DECADES, top * 10)
    axes.set_xlim(0, HOURS)
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("state after a step, MB")
    axes.set_title("State of row operators, a step a minute")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)
