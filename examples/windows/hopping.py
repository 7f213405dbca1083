"""Hopping windows: the mean of the last ten minutes, every five."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def reading(time: str, celsius: float) -> dict[str, str | float]:
    """What a thermometer says."""
    return {"ts": f"2026-03-01T{time}Z", "celsius": celsius}


readings = [  # in the order they arrive
    reading("12:01", 20.0),
    reading("12:06", 21.0),
    reading("12:09", 24.0),
    reading("12:12", 25.0),  # the watermark comes to 12:12: [12:00, 12:10) closes
    reading("12:07", 22.0),  # too late for one of its windows, in time for the other
    reading("12:19", 23.0),
    reading("12:03", 19.0),  # too late for both
]

means = (
    fl.stream(readings, time="ts", rows=1, delay="0 s")
    .window(fl.hopping("10 minutes", every="5 minutes"))
    .agg(n=fl.count(), mean=fl.avg("celsius"))
)

PICTURES = {"hopping.svg": timeline(means, readings, title="Hopping windows")}

if __name__ == "__main__":
    for row in means.table().to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["n"], f"{row['mean']:.1f}")
    for letter in means.dead_letters.to_pylist():
        print(letter["reason"], letter["record"]["ts"])
