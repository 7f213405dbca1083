"""Over as rows come, and kept up to date: each payment of a card with the number of those of its last minute."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def payment(time: str, price: int) -> dict[str, str | int]:
    """A payment of the first of May."""
    return {"ts": f"2026-05-01T12:{time}Z", "card": "tea", "price": price}


payments = [  # in the order they arrive
    payment("00:50", 4),
    payment("01:30", 8),
    payment("01:00", 9),  # older than the one before, which has left: kept up to date, that one is corrected
    payment("02:00", 3),
    payment("01:10", 5),  # too late for rows as they come; kept up to date, it corrects two others
    payment("02:40", 1),
]

stream = fl.stream(payments, time="ts", delay="40 seconds", rows=1).key_by("card")
counted = stream.over(fl.range("60 seconds")).add(n=fl.count())
eager = counted.eager()
corrected = counted.retracting(retention="10 minutes")

PICTURES = {
    "over-eager.svg": timeline(
        eager, payments, title="Payments as they come, each with the last minute as it is known"
    ),
    "over-retracting.svg": timeline(
        corrected, payments, title="Payments as they come, each with the last minute, corrected as others come"
    ),
}

if __name__ == "__main__":
    for row in eager.table().to_pylist():
        print(row["ts"], "n", row["n"])
    for row in corrected.table().to_pylist():
        print(row["op"], row["ts"], "n", row["n"])
