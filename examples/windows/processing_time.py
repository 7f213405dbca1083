"""Processing-time windows: what arrived in each five minutes, whenever it happened."""

from __future__ import annotations

from datetime import datetime

import fanlight as fl
from fanlight.viz import timeline


def at(time: str) -> datetime:
    """A time of the example's day."""
    return datetime.fromisoformat(f"2026-03-01T{time}Z")


def request(arrived: str, ts: str, route: str) -> dict[str, str | datetime]:
    """A request, with the time it was sent and the time it came in."""
    return {"arrived": at(arrived), "ts": at(ts), "route": route}


requests = [
    request("12:01", "12:00", "/tea"),
    request("12:03", "12:01", "/tea"),
    request("12:04", "11:20", "/coffee"),  # sent long ago, counted when it came
    request("12:08", "12:07", "/tea"),
    request("12:09", "11:58", "/coffee"),
    request("12:13", "12:12", "/tea"),
]

load = (
    fl.stream(requests, time="ts", clock="arrived", rows=1, delay="0 s")
    .key_by("route")
    .window(fl.tumbling("5 minutes", domain="processing"))
    .agg(n=fl.count())
)

PICTURES = {"processing_time.svg": timeline(load, requests, clock="arrived", title="Processing-time windows")}

if __name__ == "__main__":
    for row in load.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["route"], row["n"])
