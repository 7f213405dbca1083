"""Joins by window: orders and payments of the same ten minutes."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, number: int) -> dict[str, str | int]:
    """An order of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "id": number}


def payment(time: str, number: int) -> dict[str, str | int]:
    """A payment of the first of May."""
    return {"at": f"2026-05-01T{time}Z", "order": number}


orders = [  # in the order they arrive, one in each step
    order("12:01", 7),
    order("12:04", 7),
    order("12:08", 8),
    order("12:14", 7),
]
payments = [
    payment("12:06", 7),  # the same ten minutes as two orders of 7
    payment("12:12", 8),  # the ten minutes after its order: they are in no window together
    payment("12:17", 7),
    payment("12:02", 7),  # its window has left: too late
]

o = fl.stream(orders, time="ts", delay="1 minute", rows=1, name="o").key_by("id")
p = fl.stream(payments, time="at", delay="2 minutes", rows=1, name="p").key_by("order")
both = o.join(p, fl.same_window(fl.tumbling("10 minutes")), how="full")

PICTURES = {"window-join.svg": timeline(both, title="Orders and payments of the same ten minutes")}

if __name__ == "__main__":
    for row in both.table().to_pylist():
        print(f"{row['window']['start']:%H:%M}", row["id"], row["ts"], row["at"])
    print("too late:", [letter["record"]["p"]["at"] for letter in both.dead_letters.to_pylist()])
