"""Stages: orders are counted every five minutes, and of each quarter of an hour the busiest five minutes are found."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import stages


def order(time: str, shop: str) -> dict[str, str]:
    """An order of the morning of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "shop": shop}


orders = [  # in the order they arrive
    order("12:01", "north"),
    order("12:03", "south"),
    order("12:04", "north"),
    order("12:06", "south"),  # closes 12:00-12:05: both shops have a result, and stage 2 has its first records
    order("12:02", "south"),  # late: the result of south is taken back, and there is a new one
    order("12:12", "north"),
    order("12:17", "south"),  # closes 12:10-12:15 in stage 1, and in the same step 12:00-12:15 in stage 2
    order("12:13", "north"),  # late: stage 1 corrects its result, and stage 2 looks again
]  # the input ends: all that is open leaves stage 1, and then stage 2

counts = (
    fl.stream(orders, time="ts", rows=1, delay="0 s")
    .key_by("shop")
    .window(fl.tumbling("5 minutes"), lateness="10 minutes")
    .retracting()
    .agg(n=fl.count())
)
busiest = counts.window(fl.tumbling("15 minutes")).agg(most=fl.max("n"), orders=fl.sum("n"))

PICTURES = {"stages.svg": stages(busiest, orders, title="Orders in five minutes, and in a quarter of an hour")}

if __name__ == "__main__":
    for row in busiest.table().to_pylist():
        start, end, pane = row["window"]["start"], row["window"]["end"], row["pane"]
        print(f"{start:%H:%M}-{end:%H:%M}", row["most"], row["orders"], pane["timing"], pane["op"])
    for number, stage in enumerate(busiest.stages, 1):
        print(
            f"stage {number}:", stage.accounting.received, "records,", stage.own_dead_letters.num_rows, "dead letters"
        )
