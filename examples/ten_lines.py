"""The README's example: orders in memory, in the bundles they arrived in, and everything that leaves."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

import fanlight as fl


def at(time: str) -> datetime:
    """A time of the example's day."""
    return datetime.fromisoformat(f"2026-03-01T{time}Z")


def arrive(clock: str, *orders: tuple[str, str, float]) -> pa.RecordBatch:
    """Orders that arrive together: one Arrow batch, one bundle."""
    times, products, prices = zip(*orders, strict=True)
    arrived = [at(clock)] * len(orders)
    return pa.record_batch(
        {"ts": [at(time) for time in times], "product": products, "price": prices, "arrived": arrived}
    )


orders = [
    arrive("12:04:15", ("12:03:20", "tea", 3.0), ("12:04:10", "coffee", 4.5)),
    arrive("12:07:45", ("12:07:40", "tea", 2.5)),  # the clock passed a multiple of ten seconds: an early look
    arrive("12:10:35", ("12:09:30", "tea", 4.0), ("12:10:30", "coffee", 5.0)),  # the watermark passes 12:10
    arrive("12:20:00", ("12:08:15", "tea", 3.5)),  # late, and within the hour
    arrive("13:30:05", ("13:30:00", "coffee", 6.0)),  # the watermark passes 13:10
    arrive("13:30:20", ("12:05:00", "tea", 9.0)),  # all windows of this one have expired
]

totals = (
    fl.stream(orders, time="ts", delay="5 seconds", clock="arrived")
    .key_by("product")
    .window(fl.hopping("10 minutes", every="1 minute"), lateness="1 hour")
    .trigger(fl.at_watermark(early=fl.every("10 seconds"), late=fl.after(1)))
    .retracting()
    .agg(n=fl.count(), revenue=fl.sum("price"), p50=fl.median("price"))
)

firings = totals.table()
print(f"{len(firings)} rows left; those of tea in [12:00, 12:10):\n")
print(f"{'op':<4}{'timing':<9}{'number':>7}{'n':>4}{'revenue':>9}{'p50':>6}  last")
for row in firings.to_pylist():
    if row["product"] == "tea" and f"{row['window']['start']:%H:%M}" == "12:00":
        pane = row["pane"]
        print(
            f"{pane['op']:<4}{pane['timing']:<9}{pane['number']:>7}"
            f"{row['n']:>4}{row['revenue']:>9.2f}{row['p50']:>6.2f}  {'yes' if pane['is_last'] else 'no'}"
        )

print("\ndead letters:")
for letter in totals.dead_letters.to_pylist():
    order = letter["record"]
    print(f"  {letter['reason']}: {order['product']} of {order['ts']:%H:%M:%S}")

counts = totals.accounting
print(
    f"\n{counts.received} in = {counts.accepted} accepted + {counts.duplicates} duplicates"
    f" + {counts.dead_letters} dead letters"
)
