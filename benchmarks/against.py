"""`python -m benchmarks.against COMMIT [NAME …]`: the engine as it is here beside the engine as it was at a commit.

    round 1    then  now   then  now   …      a process for each, on one core
    round 2    then  now   then  now   …      a ratio is the median of the rounds' own ratios

Both sides play the same bundles through the benchmarks of this checkout, so they must know the same words.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import track

import fanlight as fl
from benchmarks import results
from benchmarks.checkouts import HERE, checked_out, environment
from benchmarks.contestants import Bundles, fed, orders, pipeline, rows_of
from benchmarks.data import Orders
from benchmarks.figures import Scale, at_most, table
from benchmarks.machine import described, one_core
from benchmarks.stopwatch import Stopwatch
from benchmarks.visits import Visits

BAR = 1.05
"""How much more processor time a change may take."""
PLAYS = 5
"""How often a process plays its case."""
ROWS = 4_000_000
"""Fewer than the other benchmarks have: many short rounds tell more of a small difference than few long ones."""
HOPPING = fl.hopping("10 minutes", every="10 seconds")

Case = tuple[Callable[[], fl.WindowSpec], Callable[[], Bundles]]

CASES: dict[str, Case] = {
    "tumbling": (lambda: pipeline(orders().window(fl.tumbling("1 minute"))), lambda: Orders(ROWS).bundles()),
    "tumbling, whole numbers": (
        lambda: pipeline(orders().window(fl.tumbling("1 minute"))),
        lambda: Orders(ROWS, whole=True).bundles(),
    ),
    "tumbling, text keys": (
        lambda: pipeline(orders().window(fl.tumbling("1 minute"))),
        lambda: Orders(ROWS, text=True).bundles(),
    ),
    "tumbling, many keys": (
        lambda: pipeline(orders().window(fl.tumbling("1 minute"))),
        lambda: Orders(ROWS, keys=200_000).bundles(),
    ),
    "hopping": (lambda: pipeline(orders().window(HOPPING)), lambda: Orders(ROWS).bundles()),
    "hopping, an hour of lateness": (
        lambda: pipeline(orders().window(HOPPING, lateness="1 hour")),
        lambda: Orders(ROWS).bundles(),
    ),
    "hopping, an hour of lateness, 1 % late": (
        lambda: pipeline(orders().window(HOPPING, lateness="1 hour")),
        lambda: Orders(ROWS, late=0.01).bundles(),
    ),
    "hopping, early and retracting": (
        lambda: pipeline(orders().window(HOPPING).trigger(fl.at_watermark(early=fl.every("1 minute"))).retracting()),
        lambda: Orders(ROWS).bundles(),
    ),
    "sessions": (
        lambda: pipeline(orders().window(fl.session("30 seconds"))),
        lambda: Visits(ROWS // 2, ROWS // 10).bundles(),
    ),
    "sessions, early": (
        lambda: pipeline(
            orders().window(fl.session("30 seconds")).trigger(fl.at_watermark(early=fl.every("1 minute")))
        ),
        lambda: Visits(ROWS // 4, ROWS // 20).bundles(),
    ),
    "trailing average": (
        lambda: orders().window(fl.sliding("60 seconds")).agg(mean=fl.avg("price")).spec,
        lambda: Orders(ROWS).bundles(),
    ),
}


def main() -> None:
    chosen = _arguments()
    if chosen.play is not None:
        with one_core():
            sys.stdout.write(f"{_seconds(chosen.play)}\n")
        return
    names = chosen.names or list(CASES)
    turns = [(place, name) for place in range(chosen.rounds) for name in names]
    console = Console(stderr=True)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with checked_out(chosen.commit) as then:
        for _, name in track(turns, f"{chosen.commit} and now", console=console, transient=True):
            found[name].append((_played(then, name), _played(HERE, name)))
    text = _text(chosen.commit, chosen.rounds, found)
    Console().print(f"\n{text}", soft_wrap=True, markup=False, highlight=False)
    if not chosen.names:
        results.write("against", text)


def _text(commit: str, rounds: int, found: dict[str, list[tuple[float, float]]]) -> str:
    rows = []
    for name, pairs in found.items():
        ratio = median(now / then for then, now in pairs)
        then, now = (median(side) * 1e9 / rows_of(CASES[name][1]()) for side in zip(*pairs, strict=True))
        rows.append([name, f"{then:,.0f}", f"{now:,.0f}", f"{ratio:.2f}", at_most(ratio, BAR)])
    head = [f"beside {commit}", "then, ns a row", "now, ns a row", "now to then", "bar"]
    made = [f"`python -m benchmarks.against {commit}`", str(Scale(ROWS, rounds)), described()]
    return " · ".join(made) + "\n\n" + table(head, rows)


def _seconds(name: str) -> float:
    """The processor time of a play: the median of several, after one that does not count.

    A play is short, and the second still asks the machine for memory: by itself it varies by a fifth.
    """
    spec, bundles = (make() for make in CASES[name])
    taken = []
    for _ in range(1 + PLAYS):
        watch = Stopwatch()
        for _ in fed(spec, bundles)(watch):
            pass
        taken.append(watch.seconds)
    return median(taken[1:])


def _played(checkout: Path, name: str) -> float:
    """What a play takes with the package of a checkout."""
    command = [sys.executable, "-m", "benchmarks.against", "--play", name]
    done = subprocess.run(command, env=environment(checkout), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: the package of {checkout} could not play it.\n{done.stderr}")
    return float(done.stdout)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("commit", nargs="?", help="what to compare with")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; all, if none is named")
    parser.add_argument("--rounds", type=int, default=5, help="how often the two take turns")
    parser.add_argument("--play", choices=CASES, help=argparse.SUPPRESS)
    chosen = parser.parse_intermixed_args()
    if chosen.play is None and chosen.commit is None:
        parser.error("say which commit to compare with, as in HEAD~1.")
    if unknown := [name for name in chosen.names if name not in CASES]:
        parser.error(f"{', '.join(unknown)}: NAME must be of {', '.join(CASES)}.")
    return chosen


if __name__ == "__main__":
    main()
