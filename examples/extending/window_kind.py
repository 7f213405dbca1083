"""A kind of window of your own: the shifts of a factory, which are not equally long. Nothing of Fanlight is touched.

    06:00          14:00          22:00                  06:00
    [----early-----)[-----late----)[--------night--------)

Where a shift starts, a slice starts too, and a shift is one slice. Slices and windows are numbered along time, three a
day; the engine asks for numbers and bounds, column by column, and does the rest.

    python examples/extending/window_kind.py            in this process
    python examples/extending/window_kind.py --spark    the same on Spark: the class travels with the pipeline
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import fanlight as fl
from fanlight.extend import END_OF_TIME, EVERY_WINDOW, FAR, Duration, Semantics, Slicing, WindowKind

Numbers = NDArray[np.int64]
DAY = Duration.of("1 day").micros


@dataclass(frozen=True)
class Shifts(WindowKind):
    """Windows that start at some times of every day, in UTC; each lasts until the next one starts."""

    starts: tuple[Duration, ...]

    def __post_init__(self) -> None:
        micros = [start.micros for start in self.starts]
        if not micros or micros != sorted(set(micros)) or micros[0] < 0 or micros[-1] >= DAY:
            raise fl.SpecError(
                f"Shifts: `starts` ({', '.join(map(str, self.starts))}) must ascend within one day. "
                "Use times of the day, as in shifts('6 h', '14 h', '22 h')."
            )

    def slicing(self, semantics: Semantics) -> Slicing:
        """How shifts cut time; no answer of the semantics concerns it."""
        return ShiftSlicing(tuple(start.micros for start in self.starts))


def shifts(*starts: str) -> Shifts:
    """Shifts that start at these times of the day, such as '6 h'."""
    return Shifts(tuple(Duration.of(start) for start in starts))


@dataclass(frozen=True)
class ShiftSlicing(Slicing):
    """Shift number `n * day + place`, where there are n shifts a day; each is its own slice."""

    starts: tuple[int, ...]
    width: int = 1

    def slices(self, times: Numbers) -> Numbers:
        """The shift that each time is in; before the first of a day it is the last of the day before."""
        day, since = np.divmod(times, DAY)
        return day * len(self.starts) + np.searchsorted(self.starts, since, "right") - 1

    def windows(self, slices: Numbers) -> tuple[Numbers, Numbers]:
        """The first and the last window of each slice: itself."""
        return slices, slices

    def members(self, window: int) -> tuple[int, int]:
        """The first and the last slice of a window: itself."""
        return window, window

    def bounds(self, windows: Numbers) -> tuple[Numbers, Numbers]:
        """Where shifts start and end."""
        return self._start(windows), self._start(windows + 1)

    def last_ending_by(self, times: Numbers) -> Numbers:
        """The last shift that is over at each time; at the end of time all are."""
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, self.slices(np.clip(times, -FAR, FAR)) - 1)

    def _start(self, shifts: Numbers) -> Numbers:
        day, place = np.divmod(shifts, len(self.starts))
        starts: Numbers = np.asarray(self.starts)[place]
        return day * DAY + starts


def totals(source: Any) -> fl.Result:
    """Pieces by line and shift, with corrections for an hour."""
    return (
        fl.stream(source, time="ts", delay="10 minutes")
        .key_by("line")
        .window(shifts("6 h", "14 h", "22 h"), lateness="1 hour")
        .agg(pieces=fl.sum("pieces"))
    )


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """A time in March 2026."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


PIECES = pa.Table.from_pylist(
    [
        {"ts": at(2, 5, 59), "line": "A", "pieces": 7},  # the night shift, which began on the first
        {"ts": at(2, 6), "line": "A", "pieces": 40},
        {"ts": at(2, 13, 59), "line": "A", "pieces": 2},
        {"ts": at(2, 14), "line": "B", "pieces": 31},
        {"ts": at(2, 23), "line": "A", "pieces": 12},
        {"ts": at(3, 3), "line": "A", "pieces": 8},
        {"ts": at(3, 7), "line": "B", "pieces": 5},
    ]
)


def main(arguments: list[str]) -> None:
    """Print what each line made in each shift."""
    source: Any = PIECES.to_reader()
    if "--spark" in arguments:
        from fanlight.spark.session import spark_session

        source = spark_session().createDataFrame(PIECES)
    result = totals(source)
    rows = result.df.toArrow() if "--spark" in arguments else result.table()
    for row in sorted(rows.to_pylist(), key=lambda row: (row["window"]["start"], row["line"])):
        start, end = (row["window"][side] for side in ("start", "end"))
        print(f"{start:%d %H:%M} to {end:%d %H:%M}  line {row['line']}  {row['pieces']:>3}")


if __name__ == "__main__":
    main(sys.argv[1:])
