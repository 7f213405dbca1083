"""The processor a PySpark user writes by hand for a trailing average: grouped by the key, its records in state.

It is as frugal as that way allows. The records of a key are one value, so a batch costs it one read, one write and one
timer, whatever their number; averages come from running sums, one subtraction each; and what the watermark has closed
leaves with the rows that come next, so that a timer only expires for a key that has fallen silent.
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

OUTPUT = "key bigint, time bigint, average double"
"""The average of one key's records up to one of them; `time` in microseconds."""

_LENGTH = 60_000_000
_MILLISECOND = 1_000
_STATE = "times array<bigint>, prices array<double>, told bigint, timer bigint"
_NOTHING: tuple[list[int], list[float], int, int] = ([], [], 0, 0)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class TrailingProcessor(StatefulProcessor):
    """The average of each record of one key and those of the minute before it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self._handle = handle
        self._held = handle.getValueState("held", _STATE)

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called once for each key that rows have come for."""
        frames = list(rows)
        times = np.concatenate([frame["ts"].to_numpy("datetime64[us]") for frame in frames]).astype(np.int64)
        prices = np.concatenate([frame["price"].to_numpy() for frame in frames])
        yield from self._settled(key[0], times, prices, timerValues.getCurrentWatermarkInMs() * _MILLISECOND)

    def handleExpiredTimer(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called when the oldest open window of a silent key has closed, or its records have grown old."""
        nothing = np.zeros(0, np.int64), np.zeros(0)
        yield from self._settled(key[0], *nothing, timerValues.getCurrentWatermarkInMs() * _MILLISECOND)

    def _settled(self, key: int, times: Ints, prices: Floats, watermark: int) -> Iterator[pd.DataFrame]:
        known, worth, told, timer = self._held.get() or _NOTHING
        times, prices = np.concatenate([np.array(known, np.int64), times]), np.concatenate([worth, prices])
        order = np.argsort(times, kind="stable")
        times, prices = times[order], prices[order]
        before, closed, old = np.searchsorted(times, [told, watermark, watermark - _LENGTH])
        self._keep(times[old:], prices[old:], max(told, watermark), timer, int(closed - old))
        if before < closed:
            yield self.told(key, times, prices, slice(before, closed))

    def told(self, key: int, times: Ints, prices: Floats, closed: slice) -> pd.DataFrame:
        """What leaves when these of a key's records have closed: a row for each distinct time."""
        ends = np.unique(times[closed])
        return pd.DataFrame({"key": key, "time": ends, "average": averages(times, prices, ends)})

    def _keep(self, times: Ints, prices: Floats, told: int, timer: int, closed: int) -> None:
        """Wake up for the oldest window that is open, or, if there is none, when the last record is not needed."""
        if timer:
            self._handle.deleteTimer(timer)
        if not len(times):
            self._held.clear()
            return
        due = int(times[closed] if closed < len(times) else times[-1] + _LENGTH) // _MILLISECOND + 1
        self._held.update((times.tolist(), prices.tolist(), told, due))
        self._handle.registerTimer(due)


def averages(times: Ints, prices: Floats, ends: Ints) -> Floats:
    """The average of the minute up to each end, of records in the order of their times."""
    sums = np.concatenate([[0.0], np.cumsum(prices)])
    low, high = np.searchsorted(times, ends - _LENGTH), np.searchsorted(times, ends, side="right")
    found: Floats = (sums[high] - sums[low]) / (high - low)
    return found
