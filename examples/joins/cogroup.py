"""Cogroups: what was ordered and what was paid in each ten minutes, side by side."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, shop: str, price: int) -> dict[str, str | int]:
    """An order of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "shop": shop, "price": price}


def payment(time: str, shop: str, paid: int) -> dict[str, str | int]:
    """A payment of the first of May."""
    return {"at": f"2026-05-01T{time}Z", "place": shop, "paid": paid}


orders = [  # in the order they arrive, one in each step
    order("12:01", "north", 30),
    order("12:05", "south", 12),
    order("12:13", "north", 7),
    order("12:21", "north", 9),
]
payments = [
    payment("12:03", "north", 20),
    payment("12:08", "north", 10),
    payment("12:16", "south", 12),
    payment("12:23", "north", 5),
    payment("12:06", "south", 4),  # all have passed 12:10: too late
]

o = fl.stream(orders, time="ts", delay="2 minutes", rows=1).key_by("shop")
p = fl.stream(payments, time="at", delay="2 minutes", rows=1).key_by("place")
sums = fl.cogroup(o=o, p=p).window(fl.tumbling("10 minutes")).agg(price=fl.sum("o.price"), paid=fl.sum("p.paid"))

PICTURES = {"cogroup.svg": timeline(sums, title="Ordered and paid in ten minutes, two streams in one window")}

if __name__ == "__main__":
    for row in sums.table().to_pylist():
        print(f"{row['window']['start']:%H:%M}", row["shop"], row["price"], row["paid"])
    print("too late:", sums.accounting.dead_letters)
