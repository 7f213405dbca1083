"""Fill: the temperature of each minute, also of minutes in which no reading came."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def reading(time: str, room: str, degrees: float) -> dict[str, str | float]:
    """A reading of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "room": room, "degrees": degrees}


readings = [  # in the order they arrive
    reading("12:00:20", "hall", 18.0),
    reading("12:00:50", "cellar", 11.0),
    reading("12:01:40", "cellar", 12.0),  # the first minute is over
    reading("12:03:10", "cellar", 12.0),  # of the cellar one minute is missing, of the hall nobody knows yet
    reading("12:04:30", "hall", 22.0),
    reading("12:06:05", "cellar", 15.0),  # the hall has come again: its three minutes are filled
]  # the input ends

stream = fl.stream(readings, time="ts", rows=1, delay="0 s").key_by("room")
minutes = stream.window(fl.tumbling("1 minute")).agg(mean=fl.avg("degrees"))
filled = minutes.fill("linear", longest="10 minutes")

PICTURES = {"fill.svg": timeline(filled, readings, title="The temperature of each minute, also where no reading came")}

if __name__ == "__main__":
    for batch in filled:
        for row in batch.to_pylist():
            print(f"{row['window']['start']:%H:%M}", row["room"], row["mean"])
