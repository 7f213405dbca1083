"""As-of joins: each trade with the newest quote of its symbol, no older than ten seconds."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def trade(second: int, symbol: str, price: float) -> dict[str, str | float]:
    """A trade of the minute after noon."""
    return {"ts": f"2026-05-01T12:00:{second:02}Z", "symbol": symbol, "price": price}


def quote(second: int, symbol: str, bid: float) -> dict[str, str | float]:
    """A quote of the minute after noon."""
    return {"at": f"2026-05-01T12:00:{second:02}Z", "symbol": symbol, "bid": bid}


trades = [  # in the order they arrive, one in each step
    trade(12, "A", 10.1),
    trade(17, "B", 20.0),
    trade(23, "A", 10.3),
    trade(44, "A", 10.9),
]
quotes = [
    quote(5, "A", 10.0),
    quote(15, "A", 10.4),
    quote(11, "A", 10.2),  # out of order, and in time: it is the newest before the first trade
    quote(20, "B", 20.1),  # later than the trade of B
    quote(30, "A", 10.5),  # more than ten seconds before the last trade
]

t = fl.stream(trades, time="ts", delay="5 seconds", rows=1, name="trades").key_by("symbol")
q = fl.stream(quotes, time="at", delay="5 seconds", rows=1, name="quotes").key_by("symbol")
quoted = t.join(q, fl.as_of("10 s"), how="left")

PICTURES = {"as-of.svg": timeline(quoted, title="Trades, each with the newest quote of its last ten seconds")}

if __name__ == "__main__":
    for row in quoted.table().to_pylist():
        print(row["ts"], row["symbol"], row["price"], "bid", row["bid"])
