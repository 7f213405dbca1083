"""The windows of an earlier stage, for its results."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.windows.kind import WindowKind


@dataclass(frozen=True, slots=True)
class Same(WindowKind):
    """The windows that records already belong to, such as the results of an earlier stage.

    Their time is its start; of windows several of which start together, as cumulating ones do, it is the end.
    """

    of: WindowKind
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if not self.of.is_aligned:
            raise SpecError(
                f"rewindow: each key has its own {type(self.of).__name__} windows, so there are none that results of "
                "several keys share. Window them again by a time of their own, or use windows that all keys have."
            )

    @property
    def bounds_domain(self) -> TimeDomain:
        """What the bounds of a window are: what they were in the first stage."""
        return self.of.bounds_domain

    @property
    def span(self) -> Duration | None:
        """As in the first stage."""
        return self.of.span

    @property
    def has_ends(self) -> bool:
        """As in the first stage."""
        return self.of.has_ends

    @property
    def heeds_earliest_start(self) -> bool:
        """The stage before has left out the windows that start before it."""
        return True

    @property
    def origin(self) -> WindowKind:
        """The kind that these windows were cut by first."""
        return self.of
