"""Triggers: the same five orders, and every time a window can speak."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def order(time: str, price: float) -> dict[str, str | float]:
    """An order of the example's day."""
    return {"ts": f"2026-03-01T{time}Z", "price": price}


orders = [  # in the order they arrive
    order("12:02", 3.0),
    order("12:05", 4.0),
    order("12:08", 2.0),
    order("12:13", 5.0),  # the watermark comes to 12:12: the first window closes
    order("12:07", 1.0),  # late, within the lateness
]

windowed = fl.stream(orders, time="ts", delay="1 minute", rows=1).window(fl.tumbling("10 minutes"), lateness="1 hour")
early_and_late = fl.at_watermark(early=fl.after(2), late=fl.after(1))

once = windowed.trigger(fl.at_watermark()).agg(revenue=fl.sum("price"))
accumulating = windowed.trigger(early_and_late).accumulating().agg(revenue=fl.sum("price"))
discarding = windowed.trigger(early_and_late).discarding().agg(revenue=fl.sum("price"))
retracting = windowed.trigger(early_and_late).retracting().agg(revenue=fl.sum("price"))
every_record = windowed.trigger(fl.repeat(fl.after(1))).accumulating().agg(revenue=fl.sum("price"))
at_the_end = windowed.trigger(fl.at_expiry()).agg(revenue=fl.sum("price"))

PICTURES = {
    "once.svg": timeline(once, orders, title="at_watermark(): on time, and once for each late order"),
    "accumulating.svg": timeline(accumulating, orders, title="early after 2, accumulating"),
    "discarding.svg": timeline(discarding, orders, title="early after 2, discarding"),
    "retracting.svg": timeline(retracting, orders, title="early after 2, retracting"),
    "every_record.svg": timeline(every_record, orders, title="repeat(after(1)): after every record"),
    "at_the_end.svg": timeline(at_the_end, orders, title="at_expiry(): once, when nothing can come any more"),
}

if __name__ == "__main__":
    for result in (once, accumulating, discarding, retracting, every_record, at_the_end):
        for row in result.table().to_pylist():
            start, pane = row["window"]["start"], row.get("pane", {})
            print(f"{start:%H:%M}", row["revenue"], pane.get("timing", ""), pane.get("op", ""))
        print()
