"""The law, read slowly: references that borrow nothing from the engine."""

from __future__ import annotations

from fanlight.testing.oracle import fill, row_stages, top, windowed_over  # each registers its stages with the graph
from fanlight.testing.oracle.graph import run_graph
from fanlight.testing.oracle.window_aggregate import Oracle, run
from fanlight.testing.oracle.windows import windows_around

__all__ = ["Oracle", "fill", "row_stages", "run", "run_graph", "top", "windowed_over", "windows_around"]
