"""Pipeline shapes and the records they run on: every kind of window, trigger, accumulation, key and value.

Not every combination: each shape takes the next choice of every list, at a pace of its own, so that every choice meets
many of the others. The lists and paces are fixed, so the shapes are the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

import fanlight as fl
from fanlight.model.aggregates import Aggregate
from fanlight.model.firing import Accumulation
from fanlight.model.semantics import Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.model.triggers import Trigger
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.custom import Assign
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding

MOMENT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    {
        "ts": MOMENT,
        "text": pa.string(),
        "price": pa.decimal128(10, 2),
        "day": pa.date32(),
        "at": MOMENT,
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "number": pa.float64(),
        "v": pa.int64(),
        "gap": pa.int64(),
        "place": pa.int64(),
        "pair": pa.struct({"x": pa.int64(), "name": pa.string()}),
        "spot": pa.struct(
            {
                "x": pa.int32(),
                "tags": pa.list_(pa.string()),
                "place": pa.struct({"name": pa.string(), "on": pa.date32()}),
            }
        ),
    }
)

BASE = datetime(2026, 1, 1, tzinfo=UTC)
DELAY = 5_000_000

SECONDS: tuple[tuple[float | None, ...], ...] = (
    (1.5, 9.25, 4, 12.75, 3.125, 19.5, 7, 16.25, 11, 20.0004, 14.5, 2.25),
    (24, 15.75, 31.5, 22.25, 40.5, 18, 27.0625, 36, None, 29.75, 33.5, 17.125),
    (2.75, 45, 13.5, 52.25, 6.5, 60.001, 38.75, 9.75, 55.5, 21.5, None, 48.125, 34.25, 0.5),
)
"""The times of three micro-batches, in order of arrival. The third comes behind the watermark of the first, 15 s."""

TEXTS = ("tea", "water", None, "café", "")
PRICES = (Decimal("3.25"), None, Decimal("-1.00"), Decimal("99999999.99"))
DAYS = (date(2026, 1, 1), date(1969, 12, 31), None)
MOMENTS = (BASE, BASE - timedelta(microseconds=1), None, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC))
FLAGS = (True, False, None, True)
RAWS = (b"\x00\xff", None, b"", b"tea", b"\x00")
NUMBERS = (0.25, -0.0, None, 2.0, math.nan, 0.0, -7.75)
VALUES = (4, -1, None, 7, 0, 12, -3)
GAPS = (4_000_000, 1_500_000, None, 9_000_000, 0, 2_000_000, -1)
"""In the unit of the time: microseconds."""


def bundles() -> list[pa.Table]:
    """The records of each micro-batch."""
    tables, number = [], 0
    for seconds in SECONDS:
        rows = [record(number + place, second) for place, second in enumerate(seconds)]
        tables.append(pa.Table.from_pylist(rows, schema=SCHEMA))
        number += len(rows)
    return tables


def record(number: int, second: float | None) -> dict[str, Any]:
    """One record; every column has its own rhythm, and most have nulls."""
    tags = [None, [], ["a", None], ["b"]][number % 4]
    place = None if number % 5 == 0 else {"name": TEXTS[number % 5], "on": DAYS[number % 3]}
    return {
        "ts": None if second is None else BASE + timedelta(seconds=second),
        "text": TEXTS[number % 5],
        "price": PRICES[number % 4],
        "day": DAYS[number % 3],
        "at": MOMENTS[number % 4],
        "flag": FLAGS[number // 2 % 4],
        "raw": RAWS[number % 5],
        "number": NUMBERS[number % 7],
        "v": VALUES[number * 3 % 7],
        "gap": GAPS[number % 7],
        "place": (number ^ 1) + 1,  # neighbours have changed places; no bundle starts between two of them
        "pair": None if number % 6 == 2 else {"x": VALUES[number % 7], "name": TEXTS[number // 2 % 5]},
        "spot": None if number % 7 == 3 else {"x": number, "tags": tags, "place": place},
    }


WINDOWS: tuple[WindowKind, ...] = (
    fl.tumbling("10 seconds"),
    fl.hopping("20 seconds", every="5 seconds"),
    fl.tumbling("7 seconds", offset="3 seconds"),
    fl.hopping("10 seconds", every="4 seconds"),
    fl.global_window(),
    fl.hopping("1 minute", every="15 seconds", offset="-5 seconds"),
)


def steps_of(seconds: int) -> Assign:
    """Windows of so many seconds, every second of them twice as long."""

    def assign(times: Any, _batch: Any) -> tuple[Any, ...]:
        step = seconds * 1_000_000
        starts = times // step * step
        return starts, starts + step * (1 + times // step % 2)

    return assign


KINDS: tuple[WindowKind, ...] = (
    fl.cumulating("30 seconds", step="10 seconds"),
    fl.calendar("day", zone="America/St_Johns"),
    fl.custom(steps_of(5)),
    fl.session("1800 milliseconds"),
    fl.session(gap_from="gap", touching=True),
    fl.session("6 seconds", ends_on="flag", max_duration="12 seconds", max_count=4),
    fl.tuple_session(9),
    fl.sliding("10 seconds"),
    fl.sliding("7 seconds", anchor="forward"),
    fl.sliding("4 seconds", anchor="both"),
    fl.counting(5),
    fl.counting(6, every=4, per="stream"),
    fl.counting(4, per="stream", by="place"),
)
"""One of every other kind, and of every way in which it differs."""

LASTING: tuple[Trigger, ...] = (
    fl.at_watermark(),
    fl.at_watermark(early=fl.after(2), late=fl.after(1)),
    fl.repeat(fl.after(3)),
    fl.at_watermark(early=fl.every("10 seconds"), late=fl.after(2)),
    fl.at_expiry(),
    fl.at_watermark(early=fl.every("6 seconds", domain="event"), late=fl.every("4 seconds")),
    fl.never(),
    fl.repeat(fl.any_of(fl.after(4), fl.after_delay("3 seconds"))),
    fl.at_watermark(early=fl.in_order(fl.after(1), fl.all_of(fl.after(2), fl.after_delay("1 second")))),
    fl.every("5 seconds"),
    fl.in_order(fl.after(2), fl.at_watermark(late=fl.after(2))),
)
"""Triggers that do not finish before their window expires: nothing is lost to them."""

KEYS: tuple[tuple[str, ...], ...] = (
    ("text",),
    ("price",),
    (),
    ("day",),
    ("at",),
    ("flag",),
    ("raw",),
    ("text", "flag"),
    ("number",),
    ("day", "price", "raw"),
)

AGGREGATES: tuple[dict[str, Aggregate], ...] = (
    {"least": fl.min("price"), "most": fl.max("at"), "mean": fl.avg("v")},
    {"best": fl.top("pair", 2, by="x"), "first": fl.first("text"), "last": fl.last("at")},
    {"all": fl.list("spot")},
    {"kinds": fl.count_distinct("text"), "middle": fl.median("v"), "low": fl.quantile("number", 0.25)},
    {"some": fl.any("flag"), "every": fl.all("flag"), "spread": fl.stddev("v"), "wide": fl.variance("price")},
    {"least": fl.min("text"), "most": fl.max("raw"), "first": fl.first("day"), "last": fl.last("text")},
    {"came": fl.list("v", by_arrival=True), "known": fl.count("spot"), "sum": fl.sum("price")},
)

ACCUMULATIONS = (Accumulation.ACCUMULATING, Accumulation.RETRACTING, Accumulation.DISCARDING)
LATENESSES = (Duration.of("1 hour"), Duration.FOREVER, Duration.of("40 seconds"))
"""Longer than anything here is late."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A pipeline, and the name a test calls it by."""

    name: str
    spec: WindowSpec


def shape(number: int, **fields: Any) -> Shape:
    """The shape of that number, with some fields given."""
    named: Mapping[str, Aggregate] = {"n": fl.count(), "total": fl.sum("v"), **_next(AGGREGATES, number)}
    spec = WindowSpec(
        **{
            "time": "ts",
            "window": _next(WINDOWS, number),
            "aggregates": tuple(named.items()),
            "keys": _next(KEYS, number),
            "trigger": _next(LASTING, number),
            "accumulation": _next(ACCUMULATIONS, number + number // 6),
            "lateness": _next(LATENESSES, number // 2),
            "watermark": BoundedDisorder(Duration(DELAY)),
            **fields,
        }
    )
    return Shape(f"{number:02d}-{type(spec.window).__name__}-{'-'.join(spec.keys) or 'whole'}".lower(), spec)


def _next(choices: tuple[Any, ...], number: int) -> Any:
    return choices[number % len(choices)]


CALM = [shape(number) for number in range(60)]
"""Shapes that lose nothing, whatever the order and the cut: every engine ends up with the same panes."""


def of_kind(number: int, kind: WindowKind, **fields: Any) -> Shape:
    """A shape of a given kind, in what else it takes like that of the same number."""
    like = shape(number).spec
    allowed: dict[str, Any] = {"accumulation": like.accumulation, "lateness": like.lateness, "trigger": like.trigger}
    if isinstance(kind, Session):
        allowed["accumulation"] = Accumulation.RETRACTING  # without it nothing says which panes were replaced
    if isinstance(kind, Sliding) and like.accumulation is Accumulation.DISCARDING:
        allowed["accumulation"] = Accumulation.ACCUMULATING
    if kind.domain is not TimeDomain.EVENT:
        allowed["lateness"] = Duration(0)
    if isinstance(kind, Counting):
        allowed["trigger"] = _next(_COUNTED, number)
    return shape(number, window=kind, **{**allowed, **fields})


_COUNTED: tuple[Trigger, ...] = (
    fl.at_watermark(early=fl.after(2)),
    fl.at_watermark(),
    fl.repeat(fl.after(3)),
    fl.at_expiry(),
)
"""Triggers that ask no watermark: keys that count for themselves have none in common."""

EVERY_KIND = [of_kind(100 + 3 * place + n, kind) for place, kind in enumerate(KINDS) for n in range(3)]
"""Shapes of every other kind, three of each, that lose nothing."""

_FINISHING: tuple[Trigger, ...] = (
    fl.after(2),
    fl.at_watermark(early=fl.after(1), late=None),
    fl.until(fl.repeat(fl.after(2)), fl.at_watermark(late=None)),
    fl.any_of(fl.after(3), fl.at_watermark(late=None)),
)

_PEERS = ("beam", "flink", "kafka", "malhar")

LOSSY = [
    *(shape(60 + n, lateness=Duration.of(f"{n % 3 * 4} seconds"), updated_only=n % 2 == 1) for n in range(4)),
    *(shape(64 + n, trigger=trigger, lateness=Duration.of("3 seconds")) for n, trigger in enumerate(_FINISHING)),
    *(
        shape(68 + n, semantics=Semantics.named(peer), lateness=Duration.of("6 seconds"))
        for n, peer in enumerate(_PEERS)
    ),
    *(
        of_kind(140 + n, kind, semantics=Semantics.named(peer), lateness=Duration.of("2 seconds"))
        for n, (kind, peer) in enumerate(
            (kind, peer)
            for kind in KINDS
            for peer in ("kafka", "spark")
            if isinstance(kind, Session | Sliding) and kind.domain is TimeDomain.EVENT
        )
    ),
    *(of_kind(160 + n, kind, trigger=fl.after(2)) for n, kind in enumerate(KINDS)),
]
"""Shapes of which some records come too late, or find a pane that has finished."""

BY_CLOCK = [
    of_kind(200 + place, kind)
    for place, kind in enumerate(
        (
            fl.tumbling("2 seconds", domain="processing"),
            fl.hopping("6 seconds", every="2 seconds", domain="processing"),
            fl.cumulating("6 seconds", step="2 seconds", domain="processing"),
            fl.session("6 seconds", domain="processing"),
            fl.sliding("4 seconds", domain="processing"),
        )
    )
]
"""Shapes of windows that follow the clock: a batch DataFrame has none."""
