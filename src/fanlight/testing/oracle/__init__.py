"""The law, read slowly: references that borrow nothing from the engine."""

from __future__ import annotations

from fanlight.testing.oracle.window_aggregate import Oracle, run
from fanlight.testing.oracle.windows import windows_around

__all__ = ["Oracle", "run", "windows_around"]
