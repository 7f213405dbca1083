"""The global window: a running total for each product, with every second order."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, product: str, price: float) -> dict[str, str | float]:
    """An order of the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "product": product, "price": price}


orders = [
    order("12:01", "tea", 3.0),
    order("12:04", "coffee", 4.5),
    order("12:06", "tea", 2.5),
    order("12:03", "tea", 3.0),  # no order is ever late here
    order("12:11", "coffee", 5.0),
    order("12:15", "tea", 4.0),
    order("12:18", "tea", 3.5),
]

totals = (
    fl.stream(orders, time="ts", rows=1, delay="0 s")
    .key_by("product")
    .window(fl.global_window())
    .trigger(fl.repeat(fl.after(2)))
    .agg(n=fl.count(), revenue=fl.sum("price"))
)

PICTURES = {"global.svg": timeline(totals, orders, title="The global window")}

if __name__ == "__main__":
    for row in totals.table().to_pylist():
        print(row["product"], row["n"], row["revenue"], row["pane"]["timing"], row["pane"]["op"])
