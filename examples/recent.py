"""Recent: the orders of the last ten minutes; older ones are taken back."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, number: int) -> dict[str, str | int]:
    """An order of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "id": number}


orders = [  # in the order they arrive
    order("12:02", 1),
    order("12:06", 2),
    order("12:12", 3),  # the watermark is ten minutes past the first order: it stays
    order("12:14", 4),  # and now twelve: it is taken back
    order("12:05", 5),  # behind the watermark, and of the last ten minutes
    order("12:03", 6),  # too late
    order("12:18", 7),  # takes the orders of 12:05 and 12:06 back
]  # the input ends: the rest stays

latest = fl.stream(orders, time="ts", rows=1, delay="0 s").recent("10 minutes")

PICTURES = {"recent.svg": timeline(latest, orders, title="The orders of the last ten minutes")}

if __name__ == "__main__":
    for batch in latest:
        for row in batch.to_pylist():
            print(row["op"], row["ts"], row["id"])
    print("too late:", [letter["record"]["id"] for letter in latest.dead_letters.to_pylist()])
