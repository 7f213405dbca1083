"""Turns of a comparison that takes hours, and what was found in each; kept in a file, a stopped run can go on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """Which package plays what, and for which time."""

    package: str
    """The digest of its text."""
    case: str
    rows: int
    """How many rows the hour has: those of a quick run are no figures for a long one."""
    place: int
    """The round, from 0 on."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a turn found."""

    batches: tuple[int, ...]
    """Milliseconds of the batches that count."""
    rows_out: int
    """How many rows left with them."""
    state: int
    """Bytes on disk."""
    others: float | None
    """The share of the processor time that others took meanwhile."""

    @property
    def milliseconds(self) -> float:
        """Of the middle batch."""
        return median(self.batches)

    def __str__(self) -> str:
        others = "" if self.others is None else f", others took {self.others:.0%}"
        return (
            f"{self.milliseconds:,.0f} ms a batch, {mean(self.batches):,.0f} on average of {len(self.batches)}, "
            f"{self.state / 1e6:.1f} MB of state{others}"
        )

    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return asdict(self)

    @staticmethod
    def of(document: dict[str, Any]) -> Found:
        """What `document` gave."""
        return Found(**{**document, "batches": tuple(document["batches"])})


class Notes:
    """What was found so far, turn by turn; with a file also what an earlier run wrote there, a line of JSON each."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[Turn, Found] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else ():
            document = json.loads(line)
            self._found[Turn(**document["turn"])] = Found.of(document["found"])

    def __contains__(self, turn: Turn) -> bool:
        return turn in self._found

    def __getitem__(self, turn: Turn) -> Found:
        return self._found[turn]

    def add(self, turn: Turn, found: Found) -> None:
        """Note what a turn found, at once: the run may be stopped in the next one."""
        self._found[turn] = found
        if self._path is not None:
            line = json.dumps({"turn": asdict(turn), "found": found.document()})
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
