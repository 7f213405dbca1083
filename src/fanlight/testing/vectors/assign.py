"""The ops `assign` and `assign_groups`: which windows a time belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fanlight.errors import VectorError
from fanlight.kernels.slicing import Slicing
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TIME, semantics_of, window_of
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row


def assign(vector: Vector) -> list[str]:
    """What differs in the windows of each time of a step, in the order of the times; a time's windows have no order."""
    require_attributes(vector, {"windows"})
    comparison = Comparison("exact", unordered_lists=True)
    return [
        f"after step {after}: {problem}"
        for after, expected in groups_of(vector).items()
        for problem in comparison.differences(expected, _by_time(vector, _times(vector.steps[after])))
    ]


def assign_groups(vector: Vector) -> list[str]:
    """What differs in the times of each window, over all steps so far; neither windows nor times have an order."""
    require_attributes(vector, {"window", TIME})
    comparison = Comparison("any", unordered_lists=True)
    problems = []
    for after, expected in groups_of(vector).items():
        times = [time for step in vector.steps[: after + 1] for time in _times(step)]
        problems += [f"after step {after}: {p}" for p in comparison.differences(expected, _by_window(vector, times))]
    return problems


def _by_time(vector: Vector, times: Sequence[int]) -> list[Row]:
    rows: list[Row] = [{"windows": []} for _ in times]
    for row, start, end in _pairs(vector, times):
        rows[row]["windows"].append([written(start), written(end)])
    return rows


def _by_window(vector: Vector, times: Sequence[int]) -> list[Row]:
    windows: dict[tuple[int, int], list[Any]] = {}
    for row, start, end in _pairs(vector, times):
        windows.setdefault((start, end), []).append(written(times[row]))
    return [{"window": [written(start), written(end)], TIME: times} for (start, end), times in windows.items()]


def _pairs(vector: Vector, times: Sequence[int]) -> list[tuple[int, int, int]]:
    slicing = Slicing.of(window_of(vector), semantics_of(vector))
    rows, starts, ends = slicing.windows_of(np.array(times, dtype=np.int64))
    return list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))


def _times(step: Mapping[str, Any]) -> list[int]:
    times = step.get("in") or []
    if not isinstance(times, list):
        raise VectorError(f"`in` ({times!r}) must be a list of times.")
    return [moment(time[TIME] if isinstance(time, Mapping) else time) for time in times]
