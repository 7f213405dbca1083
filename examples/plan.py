"""A plan: orders and their payments are joined, and of each hour it is counted how many are paid."""

from __future__ import annotations

import fanlight as fl

orders = fl.stream([], time="ts", delay="30 seconds", name="orders").key_by("id")
payments = fl.stream([], time="at", delay="1 minute", name="payments").where(fl.col("cents") > 0).key_by("order")
paid = orders.join(payments, fl.interval("0 s", "5 min"), how="left")
hours = paid.window(fl.tumbling("1 hour"), lateness="1 day").agg(orders=fl.count(), cents=fl.sum("cents"))

PICTURES = {"plan.svg": hours.explain("svg")}

if __name__ == "__main__":
    print(hours.explain())
