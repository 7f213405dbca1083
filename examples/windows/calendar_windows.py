"""Calendar windows: sales by the day in Berlin while the clocks are changed, and by the month."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def sale(time: str, price: int) -> dict[str, str | int]:
    """A sale, with its time as it was in Berlin."""
    return {"ts": time, "price": price}


spring = [
    sale("2026-03-28T09:00+01:00", 20),
    sale("2026-03-28T23:30+01:00", 15),  # still Saturday
    sale("2026-03-29T01:15+01:00", 10),
    sale("2026-03-29T03:15+02:00", 12),  # an hour later, as clocks count; Sunday has 23 hours
    sale("2026-03-29T23:45+02:00", 30),
    sale("2026-03-30T00:15+02:00", 25),  # half an hour later it is Monday
]

days = (
    fl.stream(spring, time="ts", rows=1, delay="0 s")
    .window(fl.calendar("day", zone="Europe/Berlin"))
    .agg(sales=fl.count(), revenue=fl.sum("price"))
)

year = [
    sale("2026-01-31T23:59+01:00", 90),
    sale("2026-02-14T12:00+01:00", 40),
    sale("2026-02-28T18:00+01:00", 60),
    sale("2026-04-01T00:00+02:00", 75),  # the first of April in Berlin, the last of March in UTC
]

months = (
    fl.stream(year, time="ts", rows=1, delay="0 s")
    .window(fl.calendar("month", zone="Europe/Berlin"))
    .agg(sales=fl.count(), revenue=fl.sum("price"))
)

PICTURES = {
    "calendar.svg": timeline(days, spring, title="Calendar windows: days, while the clocks are changed"),
    "calendar_months.svg": timeline(months, year, title="Calendar windows: months"),
}

if __name__ == "__main__":
    for row in [*days.table().to_pylist(), *months.table().to_pylist()]:
        start, end = row["window"]["start"], row["window"]["end"]
        print(start.isoformat(), "to", end.isoformat(), end - start, row["sales"], row["revenue"])
