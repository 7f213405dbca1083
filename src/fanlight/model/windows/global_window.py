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
    """One window for the whole of time."""
    return Global(choice(TimeDomain, domain, "domain"))
