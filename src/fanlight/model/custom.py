"""Windows of a user's own making: a vectorised function says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.choice import choice
from fanlight.model.windows import TimeDomain

Assign = Callable[[Any, Any], tuple[Any, ...]]
"""Called with the times of a batch (a NumPy array of int64 microseconds) and the batch itself (Arrow). Returns
`(starts, ends)`, one window a record; or `(rows, starts, ends)`, any number of windows for each row."""


@dataclass(frozen=True, slots=True)
class Custom:
    """The windows that `assign` names. It must depend on nothing but the record."""

    assign: Assign
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if not callable(self.assign):
            raise SpecError(f"Custom: `assign` ({self.assign!r}) is no function. Give one of (times, batch).")


def custom(assign: Assign, *, domain: TimeDomain | str = TimeDomain.EVENT) -> Custom:
    """Windows that a function of `(times, batch)` assigns.

    >>> custom(lambda times, batch: (times, times + 1)).domain
    <TimeDomain.EVENT: 'event'>
    """
    return Custom(assign, choice(TimeDomain, domain, "domain"))
