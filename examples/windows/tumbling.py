"""Tumbling windows: the revenue of each product, every ten minutes."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, product: str, price: float) -> dict[str, str | float]:
    """An order of the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "product": product, "price": price}


orders = [  # in the order they arrive
    order("12:02", "tea", 3.0),
    order("12:04", "coffee", 4.5),
    order("12:07", "tea", 2.5),
    order("12:12", "tea", 4.0),  # the watermark comes to 12:11: the first window closes
    order("12:09", "tea", 3.5),  # late, within the lateness
    order("12:18", "coffee", 5.0),  # the watermark comes to 12:17: the first window expires
    order("12:05", "tea", 9.0),  # too late
]

totals = (
    fl.stream(orders, time="ts", delay="1 minute", rows=1)
    .key_by("product")
    .window(fl.tumbling("10 minutes"), lateness="5 minutes")
    .agg(n=fl.count(), revenue=fl.sum("price"))
)

PICTURES = {"tumbling.svg": timeline(totals, orders, title="Tumbling windows")}

if __name__ == "__main__":
    for row in totals.table().to_pylist():
        start, end, pane = row["window"]["start"], row["window"]["end"], row["pane"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["product"], row["n"], row["revenue"], pane["timing"], pane["op"])
    for letter in totals.dead_letters.to_pylist():
        print(letter["reason"], letter["record"]["ts"], letter["record"]["product"])
