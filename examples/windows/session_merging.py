"""Sessions that merge: a click between two visits makes one of them, and what was said of the two is taken back."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def click(time: str, user: str) -> dict[str, str]:
    """A click on the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "user": user}


clicks = [
    click("12:01", "ann"),
    click("12:10", "ann"),
    click("12:05", "ann"),  # between the two: they are one visit
    click("12:17", "ann"),
]

visits = (
    fl.stream(clicks, time="ts", delay="10 minutes", rows=1)
    .key_by("user")
    .window(fl.session("6 minutes"))
    .trigger(fl.at_watermark(early=fl.after(1)))
    .retracting()
    .agg(clicks=fl.count())
)

PICTURES = {"session_merging.svg": timeline(visits, clicks, title="Sessions that merge, with retraction")}

if __name__ == "__main__":
    for row in visits.table().to_pylist():
        start, end, pane = row["window"]["start"], row["window"]["end"], row["pane"]
        print(pane["op"], f"{start:%H:%M}-{end:%H:%M}", row["clicks"], pane["timing"])
