"""Custom windows: the parts of a shop's day, which are not equally long; at night it is shut."""

from __future__ import annotations

from typing import Any

import numpy as np

import fanlight as fl
from fanlight.viz import timeline

HOUR = 3_600_000_000  # microseconds
OPEN, NOON, AFTERNOON, SHUT = HOURS = np.array([7, 11, 14, 18]) * HOUR


def parts_of_the_day(times: Any, _batch: Any) -> tuple[Any, ...]:
    """Morning, noon and afternoon: the rows that have a window, its start, its end."""
    of_day = times % (24 * HOUR)
    rows = np.flatnonzero((of_day >= OPEN) & (of_day < SHUT))
    part = np.searchsorted(HOURS, of_day[rows], side="right")
    midnight = times[rows] - of_day[rows]
    return rows, midnight + HOURS[part - 1], midnight + HOURS[part]


def order(time: str, price: float) -> dict[str, str | float]:
    """An order of the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "price": price}


orders = [
    order("08:30", 3.0),
    order("10:40", 2.5),
    order("11:20", 9.0),
    order("12:45", 11.5),
    order("06:10", 4.0),  # before the shop opens: no window
    order("15:30", 4.5),
]

takings = (
    fl.stream(orders, time="ts", rows=1, delay="0 s")
    .window(fl.custom(parts_of_the_day))
    .agg(n=fl.count(), revenue=fl.sum("price"))
)

PICTURES = {"custom.svg": timeline(takings, orders, title="Custom windows")}

if __name__ == "__main__":
    for row in takings.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["n"], row["revenue"])
    for letter in takings.dead_letters.to_pylist():
        print(letter["reason"], letter["record"]["ts"])
