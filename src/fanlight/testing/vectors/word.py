"""What a step of a vector says to a trigger that waits for its caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """What a step says to a scripted trigger: on, off or nothing; with `finish` the next firing is the pane's last."""

    on: bool | None = None
    finish: bool = False


NO_WORD = Word()
