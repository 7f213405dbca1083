"""The two curves of growth, as one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # a picture for a file: no screen is needed

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.growth import Growth
from benchmarks.measure import Times

OURS, THEIRS, IDEA = "#1f5fa8", "#c2571a", "#9a9a9a"


def draw(growth: Growth, path: Path) -> None:
    """Write both panels to `path`: nanoseconds a row, both axes logarithmic."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    _overlaps(left, growth.overlaps)
    _keys(right, growth.keys, growth.bare)
    for axes in (left, right):
        axes.set_ylabel("ns a row in, one core")
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _overlaps(axes: Axes, times: dict[int, Times]) -> None:
    places = list(times)
    first = times[places[0]].nanoseconds
    axes.loglog(places, [first * place for place in places], "--", color=IDEA, label="each window paid for by itself")
    axes.loglog(places, [times[place].nanoseconds for place in places], "o-", color=OURS, label="Fanlight")
    axes.set_ylim(first / 3, first * places[-1] * 2)
    axes.set_title("Windows over each record (12 min, 10 k keys)")
    axes.set_xlabel("size / every")
    _mark(axes, places, [str(place) for place in places])


def _keys(axes: Axes, ours: dict[int, Times], bare: dict[int, Times]) -> None:
    places = list(ours)
    axes.loglog(places, [ours[place].nanoseconds for place in places], "o-", color=OURS, label="Fanlight")
    axes.loglog(places, [bare[place].nanoseconds for place in places], "s-", color=THEIRS, label="bare group-by")
    every = [times.nanoseconds for curve in (ours, bare) for times in curve.values()]
    axes.set_ylim(min(every) / 3, max(every) * 6)
    axes.set_title("Keys (tumbling 1 min)")
    axes.set_xlabel("distinct keys")
    _mark(axes, places, ["1 k", "10 k", "100 k", "1 M"])


def _mark(axes: Axes, places: list[int], names: list[str]) -> None:
    axes.set_xticks(places, names)
    axes.xaxis.set_minor_locator(NullLocator())
