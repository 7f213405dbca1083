"""Figures as people read them: a table, and the command and the machine that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.machine import described


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rows: int = 20_000_000
    rounds: int = 3

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.rounds} {'round' if self.rounds == 1 else 'rounds'}"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one benchmark found, ready to be printed."""

    name: str
    scale: Scale
    tables: tuple[str, ...]
    busy: float
    libraries: tuple[str, ...] = ()

    def text(self, date: str | None) -> str:
        """The figures under the command and the machine that made them."""
        made = [
            f"`python -m benchmarks {self.name}`",
            str(self.scale),
            described(*self.libraries),
            f"wall / processor time {self.busy:.2f}",
            *([date] if date else []),
        ]
        return "\n\n".join([" · ".join(made), *self.tables])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first column is words, the others are numbers.

    >>> print(table(["pipeline", "speed"], [["tumbling", "10.0"]]))
    | pipeline | speed |
    |----------|------:|
    | tumbling |  10.0 |
    """
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    return "\n".join([line(head), f"|{'|'.join(rule)}|", *(line(row) for row in rows)])


def verdict(ratio: float, bar: float) -> str:
    """Whether a ratio reaches its bar.

    >>> verdict(0.45, 0.4)
    'met: at least 0.4'
    """
    return f"{'met' if ratio >= bar else 'MISSED'}: at least {bar}"


def at_most(value: float, bar: float) -> str:
    """Whether a value stays within its bar.

    >>> at_most(1.2, 1.5)
    'met: at most 1.5'
    """
    return f"{'met' if value <= bar else 'MISSED'}: at most {bar}"
