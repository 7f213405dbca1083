"""Joins: each order with its payments of the next five minutes; and what is shown at once, corrected when they come."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, number: int) -> dict[str, str | int]:
    """An order of the first of May."""
    return {"ts": f"2026-05-01T12:{time}Z", "id": number}


def payment(time: str, number: int, cents: int) -> dict[str, str | int]:
    """A payment of the first of May."""
    return {"at": f"2026-05-01T12:{time}Z", "order": number, "cents": cents}


orders = [  # in the order they arrive, one in each step
    order("00:30", 7),
    order("02:00", 8),
    order("03:00", 7),
    order("06:00", 8),
    order("00:50", 8),  # too late for its side
]
payments = [
    payment("01:30", 8, 250),  # before both orders of 8
    payment("01:00", 7, 400),
    payment("05:00", 7, 100),  # pays for both orders of 7
    payment("09:00", 7, 300),  # more than five minutes after the last order of 7
    payment("09:30", 8, 900),
]

o = fl.stream(orders, time="ts", delay="30 seconds", rows=1, name="o").key_by("id")
p = fl.stream(payments, time="at", delay="1 minute", rows=1, name="p").key_by("order")
paid = o.join(p, fl.interval("0 s", "5 min"), how="left")
shown = paid.retracting()
sums = paid.agg(n=fl.count(), cents=fl.sum("p.cents"))

PICTURES = {
    "join.svg": timeline(paid, title="Orders, each with the payments of the next five minutes"),
    "join-retracting.svg": timeline(shown, title="The same at once, and corrected as payments come"),
    "join-aggregates.svg": timeline(sums, title="The same in one row for each order, with what was paid in all"),
}

if __name__ == "__main__":
    for row in paid.table().to_pylist():
        print(row["ts"], row["id"], row["cents"])
    for row in shown.table().to_pylist():
        print(row["op"], row["ts"], row["id"], row["cents"])
    for row in sums.table().to_pylist():
        print(row["ts"], row["id"], "n", row["n"], "cents", row["cents"])
    print("too late:", [letter["record"]["o"]["ts"] for letter in paid.dead_letters.to_pylist()])
