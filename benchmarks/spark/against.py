"""`python -m benchmarks.spark.against COMMIT [COMMIT …]`: the Spark engine as it is here beside the same at commits.

    tumbling    round 1    then  before  now       a process and a session for each
                round 2    then  before  now       a ratio is the median of the rounds' own ratios
    hopping     round 1    …

All play the same files through the benchmarks of this checkout, so they must know the same words.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track

from benchmarks import results
from benchmarks.checkouts import checked_out, copied, environment, package_digest
from benchmarks.figures import Scale, at_most, table
from benchmarks.machine import described
from benchmarks.spark.cases import HOPPING, HOPPING_LATE, NAMES, case
from benchmarks.spark.session import MASTER
from benchmarks.spark.turn import QUICK
from benchmarks.spark.turns import Found, Notes, Turn

BAR = 1.1
"""How much longer a batch may take than it did. A batch is the whole of Spark's trigger, and no two take the same."""
NOW = "now"

Taken = dict[str, dict[str, list[Found]]]
"""By case and tree: what was found, round by round."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A package that is compared: what tables call it, where it lies, and the digest of its text."""

    name: str
    checkout: Path
    package: str


def main() -> None:
    chosen = _arguments()
    # So that what a stopped run has put on disk goes, as it does when a run ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    scale = QUICK if chosen.quick else Scale(rounds=chosen.rounds)
    with _trees(chosen.commits) as trees, TemporaryDirectory(prefix="fanlight-benchmarks-") as folder:
        taken = _taken(trees, chosen.names or NAMES, scale, Notes(chosen.resume), Path(folder))
    text = _text(chosen.commits, scale, taken)
    Console().print(f"\n{text}", soft_wrap=True, markup=False, highlight=False)
    if not (chosen.names or chosen.quick):
        results.write("spark_against", text)


@contextmanager
def _trees(commits: list[str]) -> Iterator[list[Tree]]:
    """The packages in the order of their turns; the last is that of this checkout."""
    with ExitStack() as stack:
        checkouts = {commit: stack.enter_context(checked_out(commit)) for commit in commits}
        checkouts[NOW] = stack.enter_context(copied())
        yield [Tree(name, checkout, package_digest(checkout)) for name, checkout in checkouts.items()]


def _taken(trees: list[Tree], names: list[str] | tuple[str, ...], scale: Scale, notes: Notes, folder: Path) -> Taken:
    turns = [(name, place, tree) for name in names for place in range(scale.rounds) for tree in trees]
    console = Console(stderr=True, highlight=False)
    taken: Taken = {name: {tree.name: [] for tree in trees} for name in names}
    for name, place, tree in track(turns, "turns", console=console, transient=True):
        turn = Turn(tree.package, name, scale.rows, place)
        if turn not in notes:
            notes.add(turn, _played(tree.checkout, trees[-1].checkout, name, scale, folder))
        taken[name][tree.name].append(notes[turn])
        told = f"{name}, round {place + 1} of {scale.rounds}: {tree.name}, {notes[turn]}"
        console.print(told, soft_wrap=True, markup=False)
    return taken


def _played(checkout: Path, benchmarks: Path, name: str, scale: Scale, folder: Path) -> Found:
    """What a process finds that has the package of a checkout."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    case(name, scale).files.folder(files)
    with TemporaryDirectory(prefix="turn-", dir=folder) as room:
        for made in files.iterdir():  # once for all turns, where each looks for them
            Path(room, made.name).symlink_to(made)
        quick = ["--quick"] if scale == QUICK else []
        command = [sys.executable, "-m", "benchmarks.spark.turn", name, room, *quick]
        with_package = environment(checkout, benchmarks)
        done = subprocess.run(command, cwd=benchmarks, env=with_package, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: the package of {checkout} could not play it.\n{done.stderr}")
    return Found.of(json.loads(done.stdout.splitlines()[-1]))


def _text(commits: list[str], scale: Scale, taken: Taken) -> str:
    everything = [found for sides in taken.values() for side in sides.values() for found in side]
    shares = [found.others for found in everything if found.others is not None]
    made = [
        f"`python -m benchmarks.spark.against {' '.join(commits)}`",
        str(scale),
        described("pyspark", "pandas", share=f"`{MASTER}` on"),
        *([f"others took {mean(shares):.0%} of the processor time"] if shares else []),
    ]
    parts = [" · ".join(made), _speeds(commits, taken), _sizes(commits, taken), *_lateness(taken), *_different(taken)]
    return "\n\n".join(parts)


def _speeds(commits: list[str], taken: Taken) -> str:
    rows = []
    for name, sides in taken.items():
        times = [f"{median(found.milliseconds for found in side):,.0f}" for side in sides.values()]
        ratios = [_ratio(sides[NOW], sides[commit]) for commit in commits]
        rows.append([name, *times, *(f"{ratio:.2f}" for ratio in ratios), at_most(max(ratios), BAR)])
    return table(["ms a batch", *commits, NOW, *(f"{NOW} to {commit}" for commit in commits), "bar"], rows)


def _sizes(commits: list[str], taken: Taken) -> str:
    rows = [
        [name, *(f"{median(found.state for found in side) / 1e6:.1f}" for side in sides.values())]
        for name, sides in taken.items()
    ]
    return table(["state on disk, MB", *commits, NOW], rows)


def _lateness(taken: Taken) -> list[str]:
    """What lateness costs where nothing is late."""
    if not {HOPPING, HOPPING_LATE} <= taken.keys():
        return []
    ratio = _ratio(taken[HOPPING_LATE][NOW], taken[HOPPING][NOW])
    return [f"Now, hopping windows with an hour of lateness take {ratio:.2f} times what they take without."]


def _different(taken: Taken) -> list[str]:
    """Cases in which not the same number of rows left: there, times compare different work."""
    told = []
    for name, sides in taken.items():
        left = {tree: median(found.rows_out for found in side) for tree, side in sides.items()}
        if len(set(left.values())) > 1:
            told.append(
                f"Rows out differ, {name}: {', '.join(f'{rows:,.0f} ({tree})' for tree, rows in left.items())}."
            )
    return told


def _ratio(these: list[Found], those: list[Found]) -> float:
    """The median of the rounds' own ratios."""
    return median(this.milliseconds / that.milliseconds for this, that in zip(these, those, strict=True))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.against", description=__doc__)
    parser.add_argument("commits", nargs="+", metavar="COMMIT", help="what to compare with")
    parser.add_argument("--names", nargs="+", metavar="NAME", help=f"of {'; '.join(NAMES)}. All, if none is named")
    parser.add_argument("--rounds", type=int, default=Scale().rounds, help="how often they take turns")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keeps every turn, and goes on after those in it")
    parser.add_argument("--quick", action="store_true", help="few rows, one round: does it run? Nothing is written")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names or () if name not in NAMES]:
        parser.error(f"{', '.join(unknown)}: NAME must be of {'; '.join(NAMES)}.")
    if chosen.rounds < 1 or len({*chosen.commits, NOW}) <= len(chosen.commits):
        parser.error(f"--rounds must be at least 1, and COMMITs different from each other and from {NOW!r}.")
    return chosen


if __name__ == "__main__":
    main()
