"""The processor a PySpark user writes by hand: grouped by the key, minutes in state, a timer for the oldest of them.

It is as frugal as that way allows. A key's open minutes are one value, so a batch costs it one read, one write and one
timer, whatever the number of minutes; minutes are folded by NumPy; and what the watermark has closed leaves with the
rows that come next, so that a timer only expires for a key that has fallen silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

OUTPUT = "key bigint, start bigint, n bigint, revenue double, highest double"
"""A closed minute of one key; `start` in milliseconds."""

_MINUTE = 60_000
_STATE = "start array<bigint>, n array<bigint>, revenue array<double>, highest array<double>"
_NOTHING: tuple[list[int], list[int], list[float], list[float]] = ([], [], [], [])

Minutes = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Start, count, sum and maximum of some minutes, by start."""


class MinuteProcessor(StatefulProcessor):
    """Count, sum and maximum of each minute of one key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self._handle = handle
        self._open = handle.getValueState("open", _STATE)

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called once for each key that rows have come for."""
        frames = list(rows)
        times = np.concatenate([frame["ts"].to_numpy("datetime64[ms]") for frame in frames]).astype(np.int64)
        prices = np.concatenate([frame["price"].to_numpy() for frame in frames])
        yield from self._settled(key[0], _of_rows(times, prices), timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called when the oldest minute of a silent key has closed."""
        yield from self._settled(key[0], None, timerValues.getCurrentWatermarkInMs())

    def _settled(self, key: int, new: Minutes | None, watermark: int) -> Iterator[pd.DataFrame]:
        held = self._open.get() or _NOTHING
        known: Minutes = (np.array(held[0]), np.array(held[1]), np.array(held[2]), np.array(held[3]))
        minutes = known if new is None else _folded(known, new)
        closed = int(np.searchsorted(minutes[0], watermark - _MINUTE, side="right"))
        staying = [column[closed:].tolist() for column in minutes]
        if len(held[0]):
            self._handle.deleteTimer(held[0][0] + _MINUTE)
        if staying[0]:
            self._open.update(tuple(staying))
            self._handle.registerTimer(staying[0][0] + _MINUTE)
        else:
            self._open.clear()
        if closed:
            columns = zip(("start", "n", "revenue", "highest"), minutes, strict=True)
            yield pd.DataFrame({"key": key, **{name: column[:closed] for name, column in columns}})


def _of_rows(times: npt.NDArray[np.int64], prices: npt.NDArray[np.float64]) -> Minutes:
    return _grouped(times // _MINUTE * _MINUTE, np.ones(len(times), np.int64), prices, prices)


def _folded(known: Minutes, new: Minutes) -> Minutes:
    if not len(known[0]):
        return new
    start, n, revenue, highest = (np.concatenate(pair) for pair in zip(known, new, strict=True))
    return _grouped(start, n, revenue, highest)


def _grouped(
    start: npt.NDArray[Any], n: npt.NDArray[Any], revenue: npt.NDArray[Any], highest: npt.NDArray[Any]
) -> Minutes:
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return (
        ordered[first],
        np.add.reduceat(n[order], first),
        np.add.reduceat(revenue[order], first),
        np.maximum.reduceat(highest[order], first),
    )
