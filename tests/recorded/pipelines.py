"""Pipelines of every kind of state, and the steps they take, up to a snapshot and beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

import fanlight as fl

SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "v": pa.int64(),
        "f": pa.float64(),
        "done": pa.bool_(),
    }
)
BASE = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
CLOCK = int(BASE.timestamp()) * SECOND
BUNDLES, RECORDS = 8, 9
HALF = BUNDLES // 2
"""How many bundles come before the snapshot."""

KEYS = ("tea", "water", None, "café")
DISORDER = (0, 7, -4, 2, -11, 5, 1, -2, 9)
"""How many seconds each record of a bundle is off; the next bundle is ten seconds later."""


def bundle(number: int) -> pa.RecordBatch:
    """The records of one step; one has no time, and from the third step on one is thirty seconds late."""
    return pa.RecordBatch.from_pylist([_record(number, place) for place in range(RECORDS)], schema=SCHEMA)


def _record(number: int, place: int) -> dict[str, Any]:
    at = number * RECORDS + place
    second = number * 10 + DISORDER[place] - (30 if place == 4 and number > 1 else 0) + at % 4 / 4
    return {
        "ts": None if at % 23 == 22 else BASE + timedelta(seconds=second),
        "k": KEYS[at * 7 % 4],
        "v": None if at % 11 == 3 else at * 5 % 13 - 4,
        "f": (0.5, -0.0, None, 1e9, float("nan"), 0.1, 0.7)[at % 7],
        "done": at % 8 == 5,
    }


def doubling(times: Any, _batch: Any) -> tuple[Any, ...]:
    """Windows of eight seconds, every second of them twice as long."""
    step = 8 * SECOND
    starts = times // step * step
    return starts, starts + step * (1 + times // step % 2)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline; and whether what it has fired still waits in it when the snapshot is taken."""

    spec: fl.WindowSpec
    waits: bool = False
    sided: bool = False
    """Whether its records come from two sources, with positions and with watermarks of their own."""

    def take(self, operator: fl.WindowOperator, number: int) -> None:
        """One step: the bundle of that number, at its time on the clock; after the last one the input ends."""
        if number == BUNDLES:
            operator.end()
            return
        side = "LR"[number % 2] if self.sided else None
        offset = number // 2 * RECORDS - number // 4 if self.sided else None  # two of the later ones come again
        clock = CLOCK + number * 5 * SECOND
        operator.add(bundle(number), clock=clock, source=side, offset=offset)
        if number % 3 == 2:
            operator.advance(clock=clock + 2 * SECOND)


STREAM = fl.stream([], time="ts", delay="5 s").key_by("k")
WHOLE = fl.stream([], time="ts", delay="5 s")
BESIDE = fl.stream(
    [], time="ts", watermark=fl.several({"L": fl.bounded_disorder("5 s"), "R": fl.bounded_disorder("8 s")})
).key_by("k")

PLAIN = {"n": fl.count(), "total": fl.sum("v")}
MANY = {**PLAIN, "mean": fl.avg("f"), "last": fl.last("k"), "all": fl.list("v", by_arrival=True)}
LOW: dict[str, Any] = {"low": fl.min("f"), "kinds": fl.count_distinct("v"), "middle": fl.median("v"), "n": fl.count()}
EAGER = fl.at_watermark(early=fl.after(2), late=fl.after(1))
CLOCKED = fl.at_watermark(early=fl.every("3 s"), late=fl.after(2))


def _agg(windowed: fl.Windowed, named: dict[str, Any], **beside: bool) -> Pipeline:
    return Pipeline(windowed.agg(**named).spec, **beside)


PIPELINES: dict[str, Pipeline] = {
    "tumbling once": _agg(STREAM.window(fl.tumbling("10 s")).trigger(fl.at_expiry()), MANY),
    "tumbling late": _agg(STREAM.window(fl.tumbling("10 s"), lateness="1 minute"), MANY),
    "hopping once": _agg(STREAM.window(fl.hopping("20 s", every="5 s")).trigger(fl.at_expiry()), LOW),
    "hopping late": _agg(STREAM.window(fl.hopping("20 s", every="5 s"), lateness="1 minute"), PLAIN),
    "hopping, listing, late": _agg(STREAM.window(fl.hopping("15 s", every="5 s"), lateness="1 minute"), MANY),
    "early retracting": _agg(STREAM.window(fl.tumbling("15 s"), lateness="1 minute").trigger(EAGER).retracting(), MANY),
    "early discarding": _agg(
        WHOLE.window(fl.hopping("20 s", every="10 s"), lateness="9 s").trigger(CLOCKED).discarding(), PLAIN
    ),
    "only what changed": _agg(
        STREAM.window(fl.tumbling("20 s"), lateness="1 minute").trigger(EAGER, updated_only=True).retracting(),
        {"high": fl.max("v"), "n": fl.count()},
    ),
    "triggers in triggers": _agg(
        STREAM.window(fl.tumbling("30 s"), lateness="10 s").trigger(
            fl.in_order(fl.after(2), fl.any_of(fl.after(3), fl.after_delay("4 s")), fl.at_watermark(late=fl.after(2)))
        ),
        PLAIN,
    ),
    "global": _agg(STREAM.window(fl.global_window()).trigger(fl.repeat(fl.after(4))), LOW),
    "cumulating": _agg(STREAM.window(fl.cumulating("30 s", step="10 s"), lateness="10 s"), PLAIN),
    "calendar": _agg(WHOLE.window(fl.calendar("day", zone="America/St_Johns")).trigger(EAGER), PLAIN),
    "custom": _agg(STREAM.window(fl.custom(doubling), lateness="10 s").trigger(EAGER).retracting(), PLAIN),
    "sessions once": _agg(STREAM.window(fl.session("4 s")).trigger(fl.at_expiry()), MANY),
    "sessions early": _agg(
        STREAM.window(fl.session("5 s", ends_on="done", max_duration="25 s", max_count=6), lateness="1 minute")
        .trigger(EAGER)
        .retracting(),
        MANY,
    ),
    "sessions of positions": _agg(STREAM.window(fl.tuple_session(6)).trigger(EAGER).retracting(), PLAIN),
    "sliding once": _agg(STREAM.window(fl.sliding("8 s")).trigger(fl.at_expiry()), PLAIN),
    "sliding late": _agg(STREAM.window(fl.sliding("8 s", anchor="both"), lateness="1 minute").trigger(EAGER), PLAIN),
    "counting by key": _agg(STREAM.window(fl.counting(5)).trigger(fl.at_watermark(early=fl.after(2))), PLAIN),
    "counting the stream": _agg(STREAM.window(fl.counting(6, every=4, per="stream")), MANY),
    "kept for reading": _agg(
        STREAM.window(fl.tumbling("10 s"), lateness="5 s", retention=fl.retention("1 minute", messages=True)), PLAIN
    ),
    "waiting": _agg(STREAM.window(fl.tumbling("10 s"), lateness="5 s").trigger(EAGER), MANY, waits=True),
    "two sources": _agg(BESIDE.window(fl.tumbling("10 s"), lateness="5 s"), PLAIN, sided=True),
    "by the clock": _agg(STREAM.window(fl.session("6 s", domain="processing")), PLAIN),
}
