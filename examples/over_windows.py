"""Over in windows: the place of each runner among those of the same heat."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def finish(time: str, track: str, seconds: float) -> dict[str, str | float]:
    """A run of the first of May."""
    return {"ts": f"2026-05-01T12:{time}Z", "track": track, "seconds": seconds}


runs = [  # in the order they arrive
    finish("01", "north", 12.1),
    finish("03", "north", 11.4),
    finish("02", "south", 13.0),
    finish("04", "north", 11.9),  # older or newer is all the same: places go by the seconds
    finish("06", "south", 12.2),  # the first five minutes are over: their runs leave, each with its place
    finish("03", "south", 12.0),  # too late
    finish("08", "south", 11.8),
    finish("09", "north", 12.6),
]  # the input ends: the second five minutes leave too

tracks = fl.stream(runs, time="ts", rows=1, delay="0 s").key_by("track")
placed = tracks.window(fl.tumbling("5 minutes")).over(order="seconds").add(place=fl.rank())

PICTURES = {"over-windows.svg": timeline(placed, runs, title="Runs, each with its place in its five minutes")}

if __name__ == "__main__":
    for row in placed.table().to_pylist():
        print(f"{row['window_start']:%H:%M}", row["track"], row["seconds"], "place", row["place"])
    print("too late:", [letter["record"]["ts"] for letter in placed.dead_letters.to_pylist()])
