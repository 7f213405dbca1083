"""Figures of Spark as people read them: tables, and the command and the machine that made them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import Scale
from benchmarks.machine import described
from benchmarks.spark.rounds import Accepted
from benchmarks.spark.session import MASTER

SPEEDS = ("rows in", "rows out", "ms a batch", "M rows/s", "Fanlight to it")
"""What `speeds` tells of each contestant."""


def speeds(taken: Accepted, name: str, ours: str) -> list[str]:
    """A contestant's line in a table of speeds, with `ours` for comparison."""
    return [
        name,
        f"{taken.rows(name):,}",
        f"{taken.rows_out(name):,}",
        f"{taken.milliseconds(name):,.0f}",
        f"{taken.speed(name):.3g}",
        f"{taken.ratio(ours, name):.2f}",
    ]


@dataclass(frozen=True, slots=True)
class SparkFigures:
    """What the contests found, ready to be printed."""

    name: str
    scale: Scale
    tables: tuple[str, ...]
    others: float | None

    def text(self, date: str | None) -> str:
        """The figures under the command and the machine that made them."""
        made = [
            f"`python -m benchmarks {self.name}`",
            str(self.scale),
            described("pyspark", "pandas", share=f"`{MASTER}` on"),
            *([] if self.others is None else [f"others took {self.others:.0%} of the processor time"]),
            *([date] if date else []),
        ]
        return "\n\n".join([" · ".join(made), *self.tables])
