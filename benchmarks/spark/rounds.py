"""Side by side: contestants play in turn, round after round, and are compared within each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.spark.contestants import Contestant
from benchmarks.spark.play import Played, play, rehearse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Accepted:
    """What contestants took, round by round, by name."""

    plays: dict[str, list[Played]]

    def ratio(self, name: str, other: str, of: Callable[[Played], float] = lambda played: played.nanoseconds) -> float:
        """How much more `other` takes than `name`: the median of the rounds' own ratios."""
        pairs = zip(self.plays[name], self.plays[other], strict=True)
        return median(of(theirs) / of(ours) for ours, theirs in pairs)

    def speed(self, name: str) -> float:
        """Million rows a second in the middle round."""
        return 1e3 / median(played.nanoseconds for played in self.plays[name])

    def milliseconds(self, name: str) -> float:
        """Milliseconds a batch in the middle round."""
        return median(played.milliseconds for played in self.plays[name])

    def rows(self, name: str) -> int:
        """How many rows count in a round."""
        played = self.plays[name][0]
        return sum(batch.rows for batch in played.batches[played.warm :])

    def rows_out(self, name: str) -> int:
        """How many rows leave while they come."""
        played = self.plays[name][0]
        return sum(batch.rows_out for batch in played.batches[played.warm :])


def side_by_side(spark: SparkSession, contestants: Sequence[Contestant], rounds: int, room: Path) -> Accepted:
    """Let the contestants take turns, each after a rehearsal."""
    console = Console(stderr=True, highlight=False)
    for contestant in contestants:
        console.print(f"{contestant.windows.name}: {contestant.name} rehearses", soft_wrap=True)
        seconds = rehearse(spark, contestant, room)
        console.print(f"{contestant.windows.name}: {contestant.name} has rehearsed for {seconds:.0f} s", soft_wrap=True)
    plays: dict[str, list[Played]] = {contestant.name: [] for contestant in contestants}
    for place in range(rounds):
        for contestant in contestants:
            played = play(spark, contestant, room)
            plays[contestant.name].append(played)
            console.print(
                f"{contestant.windows.name}, round {place + 1} of {rounds}: {contestant.name}, "
                f"{played.milliseconds:,.0f} ms a batch of {played.batches[0].rows:,}",
                soft_wrap=True,
            )
    _require_alike(contestants, plays)
    return Accepted(plays)


def _require_alike(contestants: Sequence[Contestant], plays: dict[str, list[Played]]) -> None:
    """Stop if contestants that fire once over the same orders let different numbers of rows leave with a batch.

    A thousandth is no difference: Spark's watermark counts milliseconds, and Fanlight's microseconds.
    """
    leaving: dict[tuple[object, ...], tuple[int, ...]] = {}
    for contestant in contestants:
        if contestant.repeats:
            continue
        of = (contestant.windows, contestant.files.orders, contestant.files.cut)
        for played in plays[contestant.name]:
            known = leaving.setdefault(of, played.left)
            if any(abs(ours - theirs) > theirs // 1_000 for ours, theirs in zip(played.left, known, strict=False)):
                raise SystemExit(
                    f"{contestant.name}: {played.left} rows left with its batches, and {known} with those of another. "
                    "No figure stands on that."
                )
