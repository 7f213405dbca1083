"""Sort: orders that arrive out of order leave by their time, when the watermark has passed them."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, number: int) -> dict[str, str | int]:
    """An order of the morning of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "id": number}


orders = [  # in the order they arrive
    order("12:04", 1),
    order("12:02", 2),  # older than the first, and in time
    order("12:07", 3),  # the watermark comes to 12:05: the orders of 12:02 and 12:04 leave, in this order
    order("12:05", 4),  # as old as the watermark: in time
    order("12:04", 5),  # too late
    order("12:09", 6),  # the watermark comes to 12:07: the order of 12:05 leaves; that of 12:07 waits
    order("12:07", 7),
]  # the input ends: all that waits leaves

in_order = fl.stream(orders, time="ts", delay="2 minutes", rows=1).sort()

PICTURES = {"sort.svg": timeline(in_order, orders, title="Orders, sorted by time")}

if __name__ == "__main__":
    for batch in in_order:
        for row in batch.to_pylist():
            print(row["ts"], row["id"])
    print("too late:", [letter["record"]["id"] for letter in in_order.dead_letters.to_pylist()])
