"""Sliding windows: a window for each distinct set of records that are at most ten seconds apart."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def attempt(second: int, host: str = "web") -> dict[str, str]:
    """A failed login on the example's day."""
    return {"ts": f"2026-03-01T12:00:{second:02}Z", "host": host}


attempts = [  # in the order they arrive
    attempt(5),
    attempt(9),
    attempt(17),
    attempt(14),  # out of order, within the lateness
    attempt(38),
    attempt(8),  # too late
]

rows = fl.stream(attempts, time="ts", rows=1, delay="0 s").key_by("host")

trailing = rows.window(fl.sliding("10 seconds"), lateness="15 seconds").agg(n=fl.count())
forward = rows.window(fl.sliding("10 seconds", "forward"), lateness="15 seconds").agg(n=fl.count())
both = rows.window(fl.sliding("10 seconds", "both"), lateness="15 seconds").agg(n=fl.count())

PICTURES = {
    "sliding_trailing.svg": timeline(trailing, attempts, title="Sliding windows that end at each record"),
    "sliding_forward.svg": timeline(forward, attempts, title="Sliding windows that start at each record"),
    "sliding_both.svg": timeline(both, attempts, title="Sliding windows as Kafka Streams has them"),
}

if __name__ == "__main__":
    for name, result in (("trailing", trailing), ("forward", forward), ("both", both)):
        for row in result.table().to_pylist():
            start, end = row["window"]["start"], row["window"]["end"]
            print(f"{name:<9}{start:%H:%M:%S}-{end:%H:%M:%S}", row["host"], row["n"], row["pane"]["timing"])
