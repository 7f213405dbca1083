"""Sessions with limits: a payment ends a visit, and no visit has more than four clicks or lasts 15 minutes."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def action(time: str, user: str, *, paid: bool = False) -> dict[str, str | bool]:
    """A click that may be a payment."""
    return {"ts": f"2026-03-01T{time}Z", "user": user, "paid": paid}


actions = [
    action("12:01", "pays"),
    action("12:04", "pays", paid=True),
    action("12:07", "pays"),
    *(action(f"12:{minute:02}", "clicks") for minute in (8, 9, 11, 12, 14, 15)),
    *(action(f"12:{minute:02}", "stays") for minute in (16, 22, 28, 34, 38)),
]

visits = (
    fl.stream(actions, time="ts", rows=1, delay="0 s")
    .key_by("user")
    .window(fl.session("10 minutes", ends_on="paid", max_count=4, max_duration="15 minutes"))
    .agg(clicks=fl.count())
)

PICTURES = {"session_limits.svg": timeline(visits, actions, title="Sessions with limits")}

if __name__ == "__main__":
    for row in visits.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M:%S}", row["user"], row["clicks"])
