"""Sessions with a gap from a column: who reads a long page is silent for longer."""

from __future__ import annotations

from datetime import timedelta

import fanlight as fl
from fanlight.viz import timeline


def view(time: str, page: str, minutes: int) -> dict[str, str | timedelta]:
    """A page that was opened, with the time a reader may take for it."""
    return {"ts": f"2026-03-01T{time}Z", "page": page, "patience": timedelta(minutes=minutes)}


views = [
    view("12:00", "list", 2),
    view("12:01", "novel", 10),
    view("12:09", "list", 2),  # eight minutes later, and still the same visit
    view("12:13", "list", 2),
]

readings = (
    fl.stream(views, time="ts", rows=1, delay="0 s")
    .window(fl.session(gap_from="patience"))
    .agg(views=fl.count(), pages=fl.list("page"))
)

PICTURES = {"session_gap_from.svg": timeline(readings, views, title="A gap from a column")}

if __name__ == "__main__":
    for row in readings.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["views"], row["pages"])
