"""Top: the two dearest sales of each shop and minute, corrected when a late sale takes a rank."""

from __future__ import annotations

import fanlight as fl
from fanlight.viz import timeline


def sale(time: str, shop: str, price: int) -> dict[str, str | int]:
    """A sale of the first of May."""
    return {"ts": f"2026-05-01T{time}Z", "shop": shop, "price": price}


sales = [  # in the order they arrive
    sale("12:00:10", "tea", 4),
    sale("12:00:20", "tea", 9),
    sale("12:00:40", "rum", 7),
    sale("12:00:50", "tea", 2),
    sale("12:01:20", "tea", 5),  # the first minute closes: 9 and 4 of tea, 7 of rum
    sale("12:00:30", "tea", 8),  # late: it takes the second rank from 4
    sale("12:00:55", "tea", 3),  # late, and too cheap: nothing changes
]  # the input ends

stream = fl.stream(sales, time="ts", rows=1, delay="0 s").key_by("shop")
dearest = stream.window(fl.tumbling("1 minute"), lateness="1 hour").top(2, by="price")

PICTURES = {"top.svg": timeline(dearest, sales, title="The two dearest sales of each shop and minute")}

if __name__ == "__main__":
    for batch in dearest:
        for row in batch.to_pylist():
            print(f"{row['window_start']:%H:%M}", row["shop"], row["op"], "rank", row["rank"], "price", row["price"])
