"""Joins of every type, with all kinds of keys and bounds, conditions, lateness, answers of peers and stages after.

As in `graph_shapes`, each takes the next choice of every list, at a pace of its own, so that they are the same
everywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pyarrow as pa

import fanlight as fl
from fanlight.testing.oracle.join.sides import Holds

COUNT = 48
BATCHES = 3
DELAY = "6 s"

MOMENT = pa.timestamp("us", "UTC")
LEFT = pa.schema({"ts": MOMENT, "k": pa.int64(), "s": pa.string(), "f": pa.float64(), "v": pa.int64()})
RIGHT = pa.schema({"at": MOMENT, "k": pa.int64(), "s": pa.string(), "g": pa.float64(), "w": pa.int64()})

HOWS: tuple[Literal["inner", "left", "right", "full", "semi", "anti"], ...] = (
    "inner",
    "left",
    "right",
    "full",
    "semi",
    "anti",
)
KEYS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("k",), ("k",)),
    (("s",), ("s",)),
    ((), ()),
    (("k", "s"), ("k", "s")),
    (("f",), ("g",)),
    (("v",), ("k",)),
    (("s", "f"), ("s", "g")),
)
"""Whole numbers, text, none, two columns, floats, other names."""

MATCHES: tuple[tuple[fl.Interval, fl.Retention | None], ...] = (
    (fl.interval("-4 s", "4 s"), None),
    (fl.interval("0 s", "9 s"), None),
    (fl.interval("-12 s", "-1 s", "left"), None),
    (fl.interval("0 s", "forever"), fl.retention("15 s")),
    (fl.same_time(), None),
    (fl.interval("2 s", "7 s", "neither"), None),
    (fl.interval("-forever", "1 s"), fl.retention()),
    (fl.interval("-1 s", "20 s", "right"), None),
    (fl.interval("3 s", "5 s"), None),
)
SPREADS = ("8 s", "10 s", "11 s", "15 s", "1 s", "5 s", None, "24 s", "2 s")
"""How wide the spans are where a join is spread: as wide as its match needs; without an end there are none."""
ANSWERS = (None, None, "kafka", None, "flink", None, "flink_sql", None, "spark", None, "risingwave")
"""Whose answers; None is Fanlight's own."""
LATENESS = ("0 s", "0 s", "3 s", "0 s", "10 s")
AFTER = (None, "window", None, "sort", None)
"""What follows the join, where its rows have a time."""
CONDITIONS: tuple[tuple[Any, Holds] | None, ...] = (
    None,
    (fl.col("v") < fl.col("w"), lambda left, right: _less(left["v"], right["w"])),
    None,
    None,
    (fl.col("o.k") == fl.col("p.k"), lambda left, right: _same(left["k"], right["k"])),
    None,
    None,
)
"""A condition as the engines read it, and as the oracle does."""


@dataclass(frozen=True, slots=True)
class JoinShape:
    """A join, and what follows it; `name` is what a test calls it by."""

    number: int

    @property
    def name(self) -> str:
        """What is special about it."""
        peer = ANSWERS[self.number % len(ANSWERS)]
        return f"{self.number:02d}-{self.how}-{self.after or 'alone'}-{peer or 'own'}"

    @property
    def how(self) -> Literal["inner", "left", "right", "full", "semi", "anti"]:
        """Its type."""
        return HOWS[self.number % len(HOWS)]

    @property
    def after(self) -> str | None:
        """What follows it; rows of a full join have no time to go by."""
        return None if self.how == "full" else AFTER[self.number % len(AFTER)]

    @property
    def condition(self) -> Holds | None:
        """The condition of a pair, as the oracle reads it."""
        chosen = CONDITIONS[self.number % len(CONDITIONS)]
        return None if chosen is None else chosen[1]

    @property
    def spread(self) -> str | None:
        """How wide the spans of time are that go to different shards: three joins of five are."""
        return None if self.number % 5 % 2 or self.how == "full" else SPREADS[self.number % len(SPREADS)]

    def joined(self, left: Any, right: Any) -> fl.JoinResult:
        """The join over two sources."""
        number = self.number
        (match, kept), (own, other) = MATCHES[number % len(MATCHES)], KEYS[(number // 2) % len(KEYS)]
        condition, peer = CONDITIONS[number % len(CONDITIONS)], ANSWERS[number % len(ANSWERS)]
        orders = fl.stream(left, time="ts", delay=DELAY, name="o", ahead=None)
        paid = fl.stream(right, time="at", delay=DELAY, name="p", ahead=None)
        result = (orders.key_by(*own) if own else orders).join(
            paid.key_by(*other) if other else paid,
            match,
            how=self.how,
            where=None if condition is None else condition[0],
            lateness=LATENESS[number % len(LATENESS)],
            combine="greatest" if peer == "kafka" else "least",
            retention=kept,
            spread=self.spread,
        )
        mode = (result.on_close, result.eager, result.retracting)[number // len(HOWS) % 3]
        result = result.on_close() if mode == result.retracting and self.after else mode()
        if self.how == "inner" and number % 4 == 0:
            result = result.stamped("right")
        return result if peer is None else result.semantics(peer)

    def over(self, left: Any, right: Any) -> Any:
        """The whole pipeline over two sources."""
        result = self.joined(left, right)
        if self.after == "sort":
            return result.sort()
        if self.after == "window":
            windows = result.window(fl.tumbling("8 s"))
            return windows.agg(n=fl.count(), most=fl.max("w" if self.how == "right" else "v"))
        return result


SHAPES = [JoinShape(number) for number in range(COUNT)]


def bundles(schema: pa.Schema) -> list[pa.Table]:
    """What one side brings, micro-batch by micro-batch: disorder, late records, nulls, keys that come again."""
    draw = random.Random(len(schema.names[0]))  # noqa: S311 -- records that are the same everywhere
    time, _, _, floats, values = schema.names
    found = []
    for batch in range(BATCHES):
        rows = []
        for _ in range(24):
            second = batch * 18 + draw.randrange(-9, 24)
            moment = None if draw.random() < 0.05 else datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
            rows.append(
                {
                    time: moment,
                    "k": draw.choice([None, 1, 2, 3]),
                    "s": draw.choice([None, "", "a", "b"]),
                    floats: draw.choice([None, 0.5, 1.5, float("nan")]),
                    values: draw.randrange(4),
                }
            )
        found.append(pa.Table.from_pylist(rows, schema))
    return found


def _less(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one < other


def _same(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one == other
