"""Tables: each order with the exchange rate that was valid at its time, however late either of them came."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(minute: int, currency: str, price: float) -> dict[str, str | float]:
    """An order of the hour after noon."""
    return {"ts": f"2026-05-01T12:{minute:02}Z", "currency": currency, "price": price}


def rate(minute: int, op: str, currency: str, value: float | None) -> dict[str, str | float | None]:
    """A rate of the hour after noon, valid from its time on."""
    return {"at": f"2026-05-01T12:{minute:02}Z", "op": op, "currency": currency, "rate": value}


orders = [  # in the order they arrive, one in each step
    order(6, "EUR", 10.0),
    order(12, "GBP", 5.0),
    order(16, "EUR", 20.0),
    order(13, "EUR", 30.0),  # out of order, and in time
    order(28, "EUR", 40.0),
]
rates = [
    rate(2, "+I", "EUR", 1.08),
    rate(20, "-D", "EUR", None),  # from now on there is none
    rate(14, "+U", "EUR", 1.10),  # out of order: it was valid from 12:14 to 12:20
    rate(9, "+I", "GBP", 1.27),
]

o = fl.stream(orders, time="ts", delay="5 minutes", rows=1, name="o").key_by("currency")
changes = fl.stream(rates, time="at", delay="15 minutes", rows=1, name="rates", op="op", unique="currency")
r = changes.key_by("currency")  # as fl.table has it; here its rows come one by one
priced = o.join(r, fl.version(), how="left")

PICTURES = {"tables.svg": timeline(priced, title="Orders, each with the rate that was valid at its time")}

if __name__ == "__main__":
    for row in priced.table().to_pylist():
        print(row["ts"], row["currency"], row["price"], "rate", row["rate"])
