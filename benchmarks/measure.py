"""Side by side: contestants take turns, round after round, and are compared within each round.

    round 1    A  B  C        A:B  A:C
    round 2    A  B  C        A:B  A:C
    round 3    A  B  C        A:B  A:C      → the median of each

A slow minute slows a whole round and leaves its ratios alone.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.contestants import Contestant
from benchmarks.stopwatch import Stopwatch


@dataclass(slots=True)
class Times:
    """One contestant's seconds, round by round."""

    rows: int
    rows_out: int = 0
    seconds: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, watch: Stopwatch, rows_out: int) -> None:
        """Note a round; every round must give the same number of rows."""
        if self.seconds and rows_out != self.rows_out:
            raise SystemExit(
                f"{rows_out} rows came out of one round, {self.rows_out} of another. No figure stands on that."
            )
        self.rows_out = rows_out
        self.seconds.append(watch.seconds)
        self.wall.append(watch.wall)

    @property
    def median(self) -> float:
        """The seconds of the middle round."""
        return median(self.seconds)

    @property
    def speed(self) -> float:
        """Million rows a second."""
        return self.rows / self.median / 1e6

    @property
    def nanoseconds(self) -> float:
        """Nanoseconds a row."""
        return self.median * 1e9 / self.rows


@dataclass(frozen=True, slots=True)
class Measured:
    """The times of contestants that took turns, by name."""

    times: dict[str, Times]

    def ratio(self, name: str, other: str) -> float:
        """How fast `name` is, with `other` as 1: the median of the rounds' own ratios."""
        pairs = zip(self.times[name].seconds, self.times[other].seconds, strict=True)
        return median(theirs / ours for ours, theirs in pairs)

    @property
    def busy(self) -> float:
        """The wall's time for one second of processor time; 1 on a quiet machine."""
        return sum(sum(t.wall) for t in self.times.values()) / sum(sum(t.seconds) for t in self.times.values())


def side_by_side(title: str, contestants: Sequence[Contestant], rounds: int) -> Measured:
    """Let the contestants take turns. The first round is audited; in later ones, the number of rows is compared."""
    times = {contestant.name: Times(contestant.rows) for contestant in contestants}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # The bar is drawn between steps: a thread that draws would be timed too.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        task = progress.add_task(title, total=rounds * sum(contestant.steps for contestant in contestants))
        for place in range(rounds):
            for contestant in contestants:
                progress.update(task, description=f"{title}, round {place + 1} of {rounds}: {contestant.name}")
                watch, audit, rows = Stopwatch(), contestant.audit(), 0
                gc.collect()
                for table in contestant.play(watch):
                    rows += len(table)
                    if place == 0:
                        audit.see(table)
                    progress.advance(task)
                    progress.refresh()
                if place == 0:
                    audit.close()
                times[contestant.name].add(watch, rows)
    return Measured(times)
