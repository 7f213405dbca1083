"""The ops `assign` and `assign_groups`: which windows a time belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.model.aggregates import Count, Listed
from fanlight.model.spec import WindowSpec
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit
from fanlight.testing.vectors.aggregates import MESSAGES
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TICK, TIME, semantics_of
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row, window_rows
from fanlight.testing.vectors.windows import window_of
from fanlight.testing.vectors.word import NO_WORD

_TIMES = "times"


def assign(vector: Vector, engine: str) -> list[str]:
    """What differs in the windows of each time of a step, in the order of the times; a time's windows have no order."""
    require_attributes(vector, {"windows"})
    comparison = Comparison("exact", unordered_lists=True)
    return [
        f"after step {after}: {problem}"
        for after, expected in groups_of(vector).items()
        for problem in comparison.differences(expected, _by_time(vector, _times(vector.steps[after]), engine))
    ]


def assign_groups(vector: Vector, engine: str) -> list[str]:
    """What differs in the times of each window, over all steps so far; neither windows nor times have an order."""
    require_attributes(vector, {"window", TIME})
    comparison = Comparison("any", unordered_lists=True)
    problems = []
    for after, expected in groups_of(vector).items():
        times = [time for step in vector.steps[: after + 1] for time in _times(step)]
        actual = _by_window(vector, times, engine)
        problems += [f"after step {after}: {p}" for p in comparison.differences(expected, actual)]
    return problems


def _by_time(vector: Vector, times: Sequence[Any], engine: str) -> list[Row]:
    return [{"windows": [row["window"] for row in _by_window(vector, [time], engine)]} for time in times]


def _by_window(vector: Vector, times: Sequence[Any], engine: str) -> list[Row]:
    if window_of(vector).is_aligned:
        return _sliced(vector, times)
    return _held(vector, times, engine)


def _sliced(vector: Vector, times: Sequence[Any]) -> list[Row]:
    """The windows that follow from a time alone, and the times in them."""
    slicing = slicing_of(window_of(vector), semantics_of(vector))
    micros = [moment(time) for time in times]
    windows: dict[tuple[int, int], list[Any]] = {}
    found = slicing.windows_of(np.array(micros, dtype=np.int64))
    for row, start, end in zip(*(part.tolist() for part in found), strict=True):
        windows.setdefault((start, end), []).append(written(micros[row]))
    return [{"window": [written(start), written(end)], TIME: times} for (start, end), times in windows.items()]


def _held(vector: Vector, times: Sequence[Any], engine: str) -> list[Row]:
    """The windows that an engine holds when these times have come together, and the times in them."""
    spec = WindowSpec(
        time=TIME,
        window=window_of(vector),
        aggregates=((_TIMES, Listed(TIME)), (MESSAGES, Count())),
        watermark=Explicit(),
        semantics=semantics_of(vector),
        unit=TimeUnit.MILLISECONDS,
        tick=TICK,
    )
    columns = Columns(pa.schema([pa.field(TIME, pa.int64())]))
    driver = ENGINES[engine](spec, columns.schema)
    driver.bundle(columns.batch([{TIME: time} for time in times]), side=None, clock=None, word=NO_WORD)
    return [{"window": row["window"], TIME: row[_TIMES]} for row in window_rows(driver.state(), spec)]


def _times(step: Mapping[str, Any]) -> list[Any]:
    times = step.get("in") or []
    if not isinstance(times, list):
        raise VectorError(f"`in` ({times!r}) must be a list of times.")
    return [time[TIME] if isinstance(time, Mapping) else time for time in times]
