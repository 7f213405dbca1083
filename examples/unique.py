"""Unique: a payment that is sent again leaves once."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def payment(time: str, number: str) -> dict[str, str]:
    """A payment of the afternoon of the first of May."""
    return {"ts": f"2026-05-01T12:{time}Z", "id": number}


payments = [  # in the order they arrive
    payment("01:00", "p1"),
    payment("00:20", "p1"),  # older, and no further from it than a minute: a duplicate
    payment("02:00", "p2"),
    payment("01:40", "p1"),  # sent again: a duplicate too
    payment("02:10", "p1"),  # 70 seconds after the first: another payment
    payment("03:00", "p2"),  # just in reach
    payment("01:30", "p2"),  # more than a minute behind the watermark: nobody knows any more what it may repeat
]

stream = fl.stream(payments, time="ts", rows=1, delay="0 s")
once = stream.unique_by("id", within="1 minute")

PICTURES = {"unique.svg": timeline(once, payments, title="Payments, each once")}

if __name__ == "__main__":
    for batch in once:
        for row in batch.to_pylist():
            print(row["ts"], row["id"])
    print("duplicates:", once.accounting.duplicates)
    print("too late:", [letter["record"]["ts"] for letter in once.dead_letters.to_pylist()])
