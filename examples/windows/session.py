"""Session windows: visits to a shop, as long as clicks keep coming."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def click(time: str, user: str) -> dict[str, str]:
    """A click on the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "user": user}


clicks = [  # in the order they arrive
    click("12:01", "ann"),
    click("12:04", "bob"),
    click("12:05", "ann"),
    click("12:08", "ann"),
    click("12:16", "bob"),  # the watermark comes to 12:14: the first visits close
    click("12:10", "ann"),  # her visit went on to 12:15: it is open again
    click("12:22", "ann"),  # the watermark comes to 12:20: it closes
    click("12:06", "ann"),  # late, within the lateness
    click("12:30", "bob"),  # the watermark comes to 12:28: visits that ended before 12:18 expire
    click("12:02", "bob"),  # too late
]

visits = (
    fl.stream(clicks, time="ts", delay="2 minutes", rows=1)
    .key_by("user")
    .window(fl.session("5 minutes"), lateness="10 minutes")
    .retracting()
    .agg(clicks=fl.count())
)

PICTURES = {"session.svg": timeline(visits, clicks, title="Session windows")}

if __name__ == "__main__":
    for row in visits.table().to_pylist():
        start, end, pane = row["window"]["start"], row["window"]["end"], row["pane"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["user"], row["clicks"], pane["timing"], pane["op"])
    for letter in visits.dead_letters.to_pylist():
        print(letter["reason"], letter["record"]["ts"], letter["record"]["user"])
