"""Count windows: three readings of each sensor; and the last four of the whole stream, every two."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def reading(time: str, sensor: str, celsius: float) -> dict[str, str | float]:
    """What a thermometer says."""
    return {"ts": f"2026-03-01T{time}Z", "sensor": sensor, "celsius": celsius}


readings = [
    reading("12:00", "hall", 20.0),
    reading("12:01", "yard", 11.0),
    reading("12:02", "hall", 21.0),
    reading("12:03", "hall", 22.0),  # the third of the hall
    reading("12:04", "yard", 12.0),
    reading("12:05", "hall", 23.0),
    reading("11:30", "hall", 24.0),  # its time is old, its place is not
]

threes = (
    fl.stream(readings, time="ts", rows=1, delay="0 s")
    .key_by("sensor")
    .window(fl.counting(3))
    .agg(n=fl.count(), mean=fl.avg("celsius"))
)

fours = (
    fl.stream(readings, time="ts", rows=1, delay="0 s")
    .window(fl.counting(4, every=2, per="stream"))
    .agg(n=fl.count(), mean=fl.avg("celsius"))
)

PICTURES = {
    "counting.svg": timeline(threes, readings, title="Count windows: three records of a key"),
    "counting_stream.svg": timeline(fours, readings, title="Count windows: the last four of the stream, every two"),
}

if __name__ == "__main__":
    for row in threes.table().to_pylist():
        print(row["sensor"], row["n"], row["mean"])
    for row in fours.table().to_pylist():
        print("stream", row["n"], row["mean"])
