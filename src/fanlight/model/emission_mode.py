"""When a row leaves that others may still change: when nothing can, at once, or at once and then kept up to date."""

from __future__ import annotations

from enum import Enum


class EmissionMode(Enum):
    """When rows leave, and whether they are corrected."""

    ON_CLOSE = "on_close"
    """Once, when nothing can change the row any more."""
    EAGER = "eager"
    """Once, in the step that brings the row, with what is known by then."""
    RETRACTING = "retracting"
    """In the step that brings the row; whenever it changes it is taken back, and leaves anew."""
