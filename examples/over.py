"""Over: each payment of a card with the number and the mean of those of its last minute."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def payment(time: str, card: str, price: int) -> dict[str, str | int]:
    """A payment of the afternoon of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "card": card, "price": price}


payments = [  # in the order they arrive
    payment("12:00:10", "tea", 4),
    payment("12:00:50", "tea", 8),  # the watermark comes to 12:00:30: the first payment leaves
    payment("12:00:30", "rum", 9),  # older than the one before, and in time
    payment("12:01:20", "tea", 3),  # the watermark comes to 12:01: the two before leave
    payment("12:00:40", "tea", 5),  # too late
    payment("12:01:40", "tea", 1),  # the watermark comes to 12:01:20: a payment of that time could still come
]  # the input ends: all that waits leaves

stream = fl.stream(payments, time="ts", delay="20 seconds", rows=1).key_by("card")
enriched = stream.over(fl.range("60 seconds")).add(n=fl.count(), mean=fl.avg("price"))

PICTURES = {"over.svg": timeline(enriched, payments, title="Payments, each with the last minute of its card")}

if __name__ == "__main__":
    for batch in enriched:
        for row in batch.to_pylist():
            print(row["ts"], row["card"], row["price"], "n", row["n"], "mean", row["mean"])
    print("too late:", [letter["record"]["ts"] for letter in enriched.dead_letters.to_pylist()])
