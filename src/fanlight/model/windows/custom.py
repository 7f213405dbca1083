"""Custom windows: a user's vectorised function assigns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.windows.kind import Asked, WindowKind

Assign = Callable[[Any, Any], tuple[Any, ...]]
"""Called with the times of a batch (a NumPy array of int64 microseconds) and the batch itself (Arrow). Returns
`(starts, ends)`, one window a record; or `(rows, starts, ends)`, any number of windows for each row."""


@dataclass(frozen=True, slots=True)
class Custom(WindowKind):
    """The windows that `assign` returns. They must depend on nothing but the record.

    >>> isinstance(custom(lambda time: [(time, time + 10)]), Custom)
    True
    """

    assign: Assign
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if not callable(self.assign):
            raise SpecError(f"Custom: `assign` ({self.assign!r}) is no function. Give one of (times, batch).")

    @property
    def is_aligned(self) -> bool:
        """No: what a function names of a record need not hold for others."""
        return False

    @property
    def reads_records(self) -> bool:
        """Yes: the function is handed all columns."""
        return True

    def own_refusals(self, asked: Asked) -> Iterator[str]:
        """A function may put a record in windows that do not contain its time, so bounds do not tell whose it is."""
        if asked.message_retention:
            yield (
                "window: `retention` with messages is not for Custom windows; only their function knows which records "
                "are in them. Leave `messages` out, or collect them with list(...)."
            )


def custom(assign: Assign, *, domain: TimeDomain | str = TimeDomain.EVENT) -> Custom:
    """Windows that a function of `(times, batch)` assigns.

    >>> custom(lambda times, batch: (times, times + 1)).domain
    <TimeDomain.EVENT: 'event'>
    """
    return Custom(assign, choice(TimeDomain, domain, "domain"))
