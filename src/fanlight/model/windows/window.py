"""One window: an interval of time."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One interval `[start, end)` of time.

    >>> Window(0, 60_000_000).end
    60000000
    """

    start: Timestamp
    end: Timestamp

    def __str__(self) -> str:
        return f"[{as_text(self.start)}, {as_text(self.end)})"


WHOLE_TIME = Window(START_OF_TIME, END_OF_TIME)
