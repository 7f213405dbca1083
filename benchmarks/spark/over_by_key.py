"""The processor a PySpark user writes by hand for rows with their last minute: as that for a trailing average."""

from __future__ import annotations

import pandas as pd

from benchmarks.spark.trailing_by_key import Floats, Ints, TrailingProcessor, averages

OUTPUT = "time bigint, key bigint, price double, average double"
"""A record of one key, with the average up to it; `time` in microseconds."""


class RowProcessor(TrailingProcessor):
    """Every record of one key, with the average of it and those of the minute before it."""

    def told(self, key: int, times: Ints, prices: Floats, closed: slice) -> pd.DataFrame:
        """A row for each record."""
        found = averages(times, prices, times[closed])
        return pd.DataFrame({"time": times[closed], "key": key, "price": prices[closed], "average": found})
