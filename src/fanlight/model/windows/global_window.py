"""One window for the whole of time."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.windows.kind import WindowKind


@dataclass(frozen=True, slots=True)
class Global(WindowKind):
    """One window for the whole of time; it closes when the input ends."""

    domain: TimeDomain = TimeDomain.EVENT

    @property
    def has_ends(self) -> bool:
        """No: it ends with the input."""
        return False


def global_window(*, domain: TimeDomain | str = TimeDomain.EVENT) -> Global:
    """One window for the whole of time.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 90, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.global_window()).agg(n=fl.count()).table()["n"].to_pylist()
    [2]
    """
    return Global(choice(TimeDomain, domain, "domain"))
