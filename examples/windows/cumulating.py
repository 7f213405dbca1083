"""Cumulating windows: the visitors of the hour so far, every quarter of an hour."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def visit(time: str, user: str) -> dict[str, str]:
    """A visit on the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "user": user}


visits = [
    visit("12:05", "ann"),
    visit("12:11", "bob"),
    visit("12:20", "ann"),
    visit("12:14", "cid"),  # too late for the first quarter, in time for the others
    visit("12:41", "dan"),
    visit("12:52", "bob"),
    visit("13:08", "ann"),  # the next hour starts anew
]

visitors = (
    fl.stream(visits, time="ts", rows=1, delay="0 s")
    .window(fl.cumulating("1 hour", step="15 minutes"))
    .agg(visits=fl.count(), visitors=fl.count_distinct("user"))
)

PICTURES = {"cumulating.svg": timeline(visitors, visits, title="Cumulating windows")}

if __name__ == "__main__":
    for row in visitors.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["visits"], row["visitors"])
