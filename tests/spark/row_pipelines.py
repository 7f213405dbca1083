"""Pipelines of rows: every operator that gives rows in order, in every way that its values or its rows differ.

Rows of one micro-batch reach a stage that shares no keys with the one before in any order, so what such a stage gives
does not depend on it: `place` is another for every record. One whose name ends with `changes` reads changes, one that
ends with `two-inputs` reads two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import fanlight as fl

Declared = Callable[[Any], Any]
"""Makes a pipeline of a stream."""


def added_up() -> Any:
    """A function of complete rows: what their values add up to. It is made here, so that it travels to Spark whole."""

    def total(table: pa.Table) -> int:
        return sum(value for value in table.column("v").to_pylist() if value is not None)

    return fl.batch(total, pa.int64(), "v")


FIRST_TO_LAST = fl.rows("unbounded", following="unbounded")

ON_CLOSE: dict[str, Declared] = {
    "range": lambda s: (
        s.key_by("text").over(fl.range("10 s")).add(n=fl.count(), sum=fl.sum("v"), mean=fl.avg("number"))
    ),
    "range-around-without-itself": lambda s: (
        s.key_by("flag", "day")
        .over(fl.range("8 s", following="4 s", exclude="current"))
        .add(middle=fl.median("v"), most=fl.max("price"), kinds=fl.count_distinct("text"))
    ),
    "range-that-ends-before": lambda s: (
        s.key_by("text").over(fl.range("20 s", following="-1 s")).add(sum=fl.sum("v"), last=fl.last_value("at"))
    ),
    "range-of-peers": lambda s: s.over(fl.range("0 s")).add(peers=fl.count(), first=fl.first_value("place")),
    "range-lists": lambda s: (
        s.key_by("price")
        .over(fl.range("15 s"))
        .add(all=fl.list("raw"), best=fl.top("v", 2), low=fl.quantile("v", 0.25))
    ),
    "rows-ordered-by-numbers": lambda s: (
        s.key_by("flag")
        .over(fl.rows(2), order=(fl.desc("number"), "place"), forget="15 s")
        .add(first=fl.first_value("number"), second=fl.nth_value("text", 2), values=fl.list("v"))
    ),
    "rows-around": lambda s: (
        s.key_by("price").over(fl.rows(1, following=1), forget="8 s").add(sum=fl.sum("v"), last=fl.last_value("spot"))
    ),
    "rows-after": lambda s: (
        s.key_by("raw").over(fl.rows(-1, following=2), forget="12 s").add(n=fl.count(), least=fl.min("day"))
    ),
    "rows-before-for-ever": lambda s: s.over(fl.rows("unbounded", following=-1), forget="never").add(
        sum=fl.sum("price"), n=fl.count("v")
    ),
    "ranks": lambda s: (
        s.key_by("flag")
        .over(fl.rows("unbounded"), order="text", forget="never")
        .add(nth=fl.row_number(), rank=fl.rank(), dense=fl.dense_rank(), sum=fl.sum("v"))
    ),
    "other-rows": lambda s: (
        s.key_by("day")
        .over(fl.rows(), forget="12 s")
        .add(before=fl.lag("v", 2), known=fl.lag("number", ignore_nulls=True), then=fl.lead("text", ignore_nulls=True))
    ),
    "next-row-that-is-near": lambda s: (
        s.key_by("text").over(fl.range("5 s")).add(then=fl.lead("place", within="6 s"), n=fl.count())
    ),
    "sessions": lambda s: (
        s.key_by("flag").over(fl.session_frame("3 s")).add(n=fl.count(), values=fl.list("v"), last=fl.last_value("raw"))
    ),
    "several-frames": lambda s: (
        s.key_by("text")
        .over(fl.range("10 s", following="2 s"), forget="20 s")
        .add(near=fl.sum("v"))
        .over(fl.rows(1, following=1))
        .add(beside=fl.avg("v"))
        .over(fl.rows("unbounded"))
        .add(nth=fl.row_number(), most=fl.max("number"))
        .over(fl.session_frame("6 s"))
        .add(spread=fl.stddev("v"))
    ),
    "two-inputs": lambda s: (
        s.key_by("text").over(fl.range("10 s")).add(n=fl.count(), inputs=fl.count_distinct("input"))
    ),
}
"""Rows that leave once, when nothing can change them."""

EAGER: dict[str, Declared] = {
    "range": lambda s: s.key_by("text").over(fl.range("10 s")).add(n=fl.count(), sum=fl.sum("price")).eager(),
    "range-that-ends-before": lambda s: (
        s.key_by("flag").over(fl.range("20 s", following="-1 s", exclude="current")).add(mean=fl.avg("v")).eager()
    ),
    "rows": lambda s: (
        s.key_by("number").over(fl.rows(2), forget="15 s").add(sum=fl.sum("v"), before=fl.lag("text")).eager()
    ),
    "totals": lambda s: (
        s.over(fl.rows("unbounded"), forget="never").add(n=fl.count(), sum=fl.sum("v"), most=fl.max("at")).eager()
    ),
    "ranks": lambda s: (
        s.key_by("day")
        .over(fl.rows(), order=fl.desc("number"), forget="never")
        .add(nth=fl.row_number(), rank=fl.rank(), dense=fl.dense_rank())
        .eager()
    ),
}
"""Rows that leave as they come."""

RETRACTING: dict[str, Declared] = {
    "range-around": lambda s: (
        s.key_by("text")
        .over(fl.range("10 s", following="5 s"))
        .add(n=fl.count(), sum=fl.sum("v"))
        .retracting(retention="15 s")
    ),
    "totals": lambda s: (
        s.over(fl.rows("unbounded"), forget="never")
        .add(nth=fl.row_number(), sum=fl.sum("v"))
        .retracting(retention="forever")
    ),
    "sessions": lambda s: (
        s.key_by("flag").over(fl.session_frame("4 s")).add(n=fl.count(), least=fl.min("v")).retracting(retention="10 s")
    ),
    "next-rows": lambda s: (
        s.key_by("text")
        .over(fl.rows(0, following=1), forget="20 s")
        .add(then=fl.lead("place", within="9 s"), near=fl.sum("v"))
        .retracting(retention="20 s")
    ),
    "by-values": lambda s: (
        s.over(fl.rows(1), by=fl.desc("v"))
        .add(rank=fl.rank(), then=fl.lead("v"), near=fl.count("number"))
        .retracting(retention="10 s")
    ),
    "by-numbers-of-keys": lambda s: (
        s.key_by("flag")
        .over(fl.range("unbounded"), by=("number", "place"))
        .add(sum=fl.sum("v"), dense=fl.dense_rank())
        .retracting(retention="1 minute")
    ),
    "by-time-descending": lambda s: (
        s.key_by("text").over(fl.range("10 s"), by=fl.desc("ts")).add(after=fl.count()).retracting(retention="30 s")
    ),
    "changes": lambda s: (
        s.key_by("text")
        .over(fl.rows("unbounded"), order="place", forget="never")
        .add(nth=fl.row_number(), sum=fl.sum("v"))
        .retracting(retention="1 hour")
    ),
}
"""Rows that are kept up to date."""

IN_WINDOWS: dict[str, Declared] = {
    "tumbling-ranks": lambda s: (
        s.key_by("flag")
        .window(fl.tumbling("10 s"))
        .over(order=fl.desc("v"))
        .add(rank=fl.rank(), dense=fl.dense_rank(), share=fl.percent_rank(), dist=fl.cume_dist(), part=fl.ntile(3))
    ),
    "hopping-with-lateness": lambda s: (
        s.key_by("text")
        .window(fl.hopping("20 s", every="10 s"), lateness="5 s")
        .over(FIRST_TO_LAST)
        .add(middle=fl.median("v"), n=fl.count(), last=fl.last_value("spot"))
    ),
    "sessions": lambda s: (
        s.key_by("flag")
        .window(fl.session("4 s"))
        .over(fl.range("3 s"))
        .add(sum=fl.sum("price"), dist=fl.cume_dist(), then=fl.lead("place", within="2 s"))
    ),
    "sliding": lambda s: (
        s.key_by("text")
        .window(fl.sliding("8 s"))
        .over(fl.rows(1, following=1))
        .add(nth=fl.row_number(), sum=fl.sum("v"))
    ),
    "calendar": lambda s: (
        s.key_by("day")
        .window(fl.calendar("day", zone="America/St_Johns"))
        .over(fl.session_frame("5 s"))
        .add(n=fl.count(), third=fl.nth_value("raw", 3))
    ),
    "without-keys-by-two-columns": lambda s: (
        s.window(fl.tumbling("15 s"))
        .over(fl.rows("unbounded", exclude="current"), order=("flag", fl.desc("number"), "place"))
        .add(values=fl.list("v"), before=fl.lag("number"))
    ),
    "function-of-complete-rows": lambda s: (
        s.key_by("flag").window(fl.tumbling("10 s")).over(FIRST_TO_LAST, order=("v", "place")).add(sum=added_up())
    ),
}
"""Partitions of keys and windows."""

UNIQUE: dict[str, Declared] = {
    "first": lambda s: s.unique_by("text", within="6 s"),
    "first-of-keys": lambda s: s.key_by("flag").unique_by("number", within="20 s"),
    "first-of-many-types": lambda s: s.unique_by("price", "raw", "day", within="1 minute"),
    "last": lambda s: s.unique_by("text", "flag", within="10 s", keep="last"),
    "last-of-keys": lambda s: s.key_by("day").unique_by("number", within="15 s", keep="last"),
}

TOP: dict[str, Declared] = {
    "once": lambda s: s.key_by("flag").window(fl.tumbling("10 s")).top(2, by=("v", fl.asc("place"))),
    "early-and-late": lambda s: (
        s.key_by("flag")
        .window(fl.tumbling("20 s"), lateness="20 s")
        .trigger(fl.at_watermark(early=fl.after(1), late=fl.after(1)))
        .top(2, by="v")
    ),
    "numbers-when-they-expire": lambda s: (
        s.key_by("text")
        .window(fl.hopping("20 s", every="10 s"), lateness="8 s")
        .trigger(fl.at_expiry())
        .top(3, by=("number", fl.asc("price")))
    ),
    "sessions-that-grow": lambda s: (
        s.key_by("text")
        .window(fl.session("6 s"), lateness="30 s")
        .trigger(fl.at_watermark(early=fl.after(1)))
        .top(1, by=("price", fl.asc("place")))
    ),
    "changes": lambda s: (
        s.key_by("text")
        .window(fl.tumbling("30 s"), lateness="1 minute")
        .trigger(fl.at_watermark(early=fl.after(1)))
        .top(2, by=("v", "place"))
    ),
}

FILL: dict[str, Declared] = {
    "null": lambda s: s.key_by("text").window(fl.tumbling("5 s")).agg(n=fl.count(), sum=fl.sum("v")).fill("null"),
    "last": lambda s: (
        s.key_by("flag").window(fl.hopping("10 s", every="5 s")).agg(last=fl.last("text"), n=fl.count()).fill("last")
    ),
    "linear": lambda s: (
        s.key_by("text")
        .window(fl.tumbling("3 s"))
        .agg(price=fl.max("price"), mean=fl.avg("v"), n=fl.count())
        .fill("linear", longest="20 s")
    ),
}

WHOLE_ROWS: dict[str, Declared] = {
    "recent": lambda s: s.recent("12 s"),
    "recent-of-keys": lambda s: s.key_by("text").recent("5 s"),
    "recent-changes": lambda s: s.recent("12 s"),
    "sort": lambda s: s.key_by("text").sort("flag", "number"),
    "sort-in-total": lambda s: s.key_by("day").sort("place", order="total"),
    "sort-changes": lambda s: s.sort("place"),
    "batch": lambda s: s.key_by("flag").window(fl.tumbling("10 s")).agg(total=added_up()),
}

AFTER_A_STAGE: dict[str, Declared] = {
    "unique-over": lambda s: (
        s.key_by("text")
        .unique_by("flag", within="5 s")
        .key_by("text")
        .over(fl.range("20 s"), order="place")
        .add(n=fl.count(), values=fl.list("v"))
    ),
    "over-unique": lambda s: (
        s.key_by("text")
        .over(fl.rows("unbounded"), order="place", forget="10 s")
        .add(nth=fl.row_number())
        .unique_by("text", "nth", within="30 s", keep="last")
    ),
    "windows-over": lambda s: (
        s.key_by("text", "flag")
        .window(fl.tumbling("5 s"))
        .agg(n=fl.count(), sum=fl.sum("v"))
        .key_by("text")
        .over(fl.rows(2), order="flag", forget="30 s")
        .add(running=fl.sum("sum"), before=fl.lag("n"))
    ),
    "over-windows-top": lambda s: (
        s.key_by("text")
        .over(fl.range("10 s"))
        .add(sum=fl.sum("v"))
        .window(fl.tumbling("15 s"))
        .top(3, by=("sum", fl.asc("place")))
    ),
    "corrected-over-windows": lambda s: (
        s.key_by("text")
        .over(fl.range("10 s", following="5 s"))
        .add(sum=fl.sum("v"))
        .retracting(retention="15 s")
        .key_by("text")
        .window(fl.tumbling("30 s"))
        .agg(n=fl.count(), most=fl.max("sum"))
    ),
    "fill-over": lambda s: (
        s.key_by("text")
        .window(fl.tumbling("5 s"))
        .agg(sum=fl.sum("v"))
        .fill("last", longest="30 s")
        .key_by("text")
        .over(fl.rows(3), forget="1 minute")
        .add(mean=fl.avg("sum"))
    ),
    "sort-over-in-windows": lambda s: (
        s.key_by("day")
        .sort("place")
        .key_by("day", "flag")
        .window(fl.tumbling("20 s"))
        .over(order=("v", "place"))
        .add(part=fl.ntile(2), share=fl.percent_rank())
    ),
    "eager-eager": lambda s: (
        s.key_by("text")
        .over(fl.range("10 s"), order="place")
        .add(n=fl.count())
        .eager()
        .key_by("text", "n")
        .over(fl.rows("unbounded"), order="place", forget="never")
        .add(nth=fl.row_number())
        .eager()
    ),
}

GROUPS: dict[str, dict[str, Declared]] = {
    "on-close": ON_CLOSE,
    "eager": EAGER,
    "retracting": RETRACTING,
    "in-windows": IN_WINDOWS,
    "unique": UNIQUE,
    "top": TOP,
    "fill": FILL,
    "whole": WHOLE_ROWS,
    "after": AFTER_A_STAGE,
}
