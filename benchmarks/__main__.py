"""`python -m benchmarks [NAME …]`: measure, print, and put the figures into RESULTS.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from rich.console import Console

from benchmarks import (
    as_of,
    firings,
    growth,
    hopping,
    join,
    n_way,
    over,
    peers,
    results,
    sliding,
    sort,
    stages,
    state,
    steps,
    tumbling,
    window_join,
)
from benchmarks.figures import Figures, Scale
from benchmarks.machine import one_core

QUICK = Scale(rows=200_000, rounds=1)


class Printable(Protocol):
    """Figures that can be printed under a date."""

    def text(self, date: str | None) -> str: ...


def main() -> None:
    chosen = _arguments()
    console = Console()
    scale = QUICK if chosen.quick else Scale(rounds=chosen.rounds)
    for name in chosen.names or BENCHMARKS:
        with nullcontext() if name in EVERY_CORE else one_core():
            figures = BENCHMARKS[name](scale).text(chosen.date)
        console.print(f"\n{figures}", soft_wrap=True, markup=False, highlight=False)
        if chosen.quick:
            console.print("\nFew rows: it runs, and the totals are right. These are no figures.", markup=False)
        else:
            results.write(name, figures)
            console.print(f"\nwritten to {results.PAGE.name}", markup=False)


def _growth(scale: Scale) -> Figures:
    from benchmarks.plot import draw  # the others need no picture, and are not made to wait for what draws it

    figures, curves = growth.run(scale)
    draw(curves, _picture(results.GROWTH, scale))
    return figures


def _state(scale: Scale) -> Figures:
    from benchmarks.plot_state import draw  # as above

    figures, kept = state.run(scale)
    draw(kept, _picture(results.STATE, scale))
    return figures


def _picture(path: Path, scale: Scale) -> Path:
    """Where a picture is drawn: of few rows, where nobody takes it for figures."""
    if scale != QUICK:
        return path
    (results.ROOM / "data").mkdir(exist_ok=True)
    return results.ROOM / "data" / path.name


def _spark(scale: Scale) -> Printable:
    from benchmarks.spark.suite import run  # the others need neither Spark nor Java

    return run(scale)


def _kinds(scale: Scale) -> Printable:
    from benchmarks.spark.kinds import run  # as above

    return run(scale)


def _graph(scale: Scale) -> Printable:
    from benchmarks.spark.graph import run  # as above

    return run(scale)


def _rows(scale: Scale) -> Printable:
    from benchmarks.spark.rows import run  # as above

    return run(scale)


def _joins(scale: Scale) -> Printable:
    from benchmarks.spark.joins import run  # as above

    return run(scale)


def _unique(scale: Scale) -> Printable:
    from benchmarks.spark.unique import run  # as above

    return run(scale)


BENCHMARKS: dict[str, Callable[[Scale], Printable]] = {
    "tumbling": tumbling.run,
    "hopping": hopping.run,
    "growth": _growth,
    "firings": firings.run,
    "peers": peers.run,
    "sliding": sliding.run,
    "steps": steps.run,
    "sort": sort.run,
    "join": join.run,
    "n_way": n_way.run,
    "as_of": as_of.run,
    "window_join": window_join.run,
    "over": over.run,
    "state": _state,
    "stages": stages.run,
    "spark": _spark,
    "kinds": _kinds,
    "graph": _graph,
    "rows": _rows,
    "unique": _unique,
    "joins": _joins,
}
EVERY_CORE = {"spark", "kinds", "graph", "rows", "unique", "joins"}
"""Spark is measured on all cores, as its users have it; the engine alone on one."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="few rows, one round: does it run? Nothing is written")
    parser.add_argument("--rounds", type=int, default=Scale().rounds, help="how often the contestants take turns")
    parser.add_argument("--date", help="the date to note beside the figures")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown or chosen.rounds < 1:
        parser.error(f"NAME must be of {', '.join(BENCHMARKS)}, and --rounds at least 1.")
    return chosen


if __name__ == "__main__":
    main()
