"""What one step costs when it brings a single record, and what it costs to write down 50,000 open windows.

Neither is about rows a second: the first is what every call pays whatever it brings, the second what every chunk pays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.figures import Figures, Scale, at_most, table

RECORDS, WINDOWS, KEYS = 3000, 50_000, 3
_WARM = 200
_BEGIN = 1_767_225_600  # 2026-01-01, in seconds
_BUNDLE = 5_000
_QUICKLY = 20
"""How many times less is done where it only has to run."""

MICROSECONDS, MEGABYTES, SECONDS = 400, 10, 2
"""The bars."""


def run(scale: Scale) -> Figures:
    """Measure both; rounds are repeated, and the median of them counts."""
    less = 1 if scale.rows >= Scale().rows else _QUICKLY
    records, windows = RECORDS // less, WINDOWS // less
    wall, processor = time.perf_counter(), time.process_time()
    tables = (
        table(
            ["a bundle of one record", "µs an `add`", "bar"], [_single(name, records, scale.rounds) for name in SINGLE]
        ),
        table(
            [f"{windows:,} open windows, {KEYS} keys", "MB", "write, s", "restore, s", "bar"],
            [_written(name, windows, scale.rounds) for name in OPEN],
        ),
    )
    busy = (time.perf_counter() - wall) / (time.process_time() - processor)
    return Figures("steps", Scale(records, scale.rounds), tables, busy)


def _stream(**options: str | fl.Explicit) -> fl.Stream:
    return fl.stream([], time="ts", unit="s", **options).key_by("k")


def _totals(windowed: fl.Windowed) -> fl.WindowSpec:
    return windowed.agg(n=fl.count(), total=fl.sum("v")).spec


SINGLE: dict[str, Callable[[], fl.WindowSpec]] = {
    "tumbling 1 min": lambda: _totals(_stream(delay="5 s").window(fl.tumbling("1 minute"))),
    "hopping 5 min / 1 min": lambda: _totals(_stream(delay="5 s").window(fl.hopping("5 minutes", "1 minute"))),
    "tumbling 1 min, an hour of lateness": lambda: _totals(
        _stream(delay="5 s").window(fl.tumbling("1 minute"), lateness="1 hour")
    ),
    "sessions 30 s": lambda: _totals(_stream(delay="5 s").window(fl.session("30 s"))),
}
OPEN: dict[str, Callable[[], fl.WindowSpec]] = {
    "tumbling 1 s": lambda: _totals(_stream(watermark=fl.Explicit()).window(fl.tumbling("1 s"))),
    "tumbling 1 s, a day of lateness": lambda: _totals(
        _stream(watermark=fl.Explicit()).window(fl.tumbling("1 s"), lateness="1 day")
    ),
    "the same, retracting": lambda: _totals(
        _stream(watermark=fl.Explicit()).window(fl.tumbling("1 s"), lateness="1 day").retracting()
    ),
    "sessions 500 ms": lambda: _totals(_stream(watermark=fl.Explicit()).window(fl.session("500 ms"))),
}


def _single(name: str, records: int, rounds: int) -> list[str]:
    """The middle `add` of the middle round."""
    micros = median(_adding(SINGLE[name](), records) for _ in range(rounds))
    bar = at_most(micros, MICROSECONDS) if name == "tumbling 1 min" else ""
    return [name, f"{micros:,.0f}", bar]


def _adding(spec: fl.WindowSpec, records: int) -> float:
    operator, took = fl.WindowOperator(spec), []
    for number in range(_WARM + records):
        record = {"ts": _BEGIN + number // 4, "k": number % 10, "v": number}
        began = time.process_time_ns()
        operator.add([record])
        took.append(time.process_time_ns() - began)
        if number % 100 == 0:
            operator.take()
    return median(took[_WARM:]) / 1e3


def _written(name: str, windows: int, rounds: int) -> list[str]:
    spec = OPEN[name]()
    operator = _full(spec, windows)
    written, restored = [], []
    for _ in range(rounds):
        began = time.process_time()
        data = operator.snapshot()
        between = time.process_time()
        again = fl.WindowOperator.restore(spec, data)
        restored.append(time.process_time() - between)
        written.append(between - began)
    if again.windows().num_rows != windows * KEYS:
        raise SystemExit(f"{name}: not every window came back. No figure stands on that.")
    size, most = len(data) / 1e6, max(median(written), median(restored))
    met = size <= MEGABYTES and most <= SECONDS
    bar = f"{'met' if met else 'MISSED'}: at most {MEGABYTES} MB, {SECONDS} s"
    return [name, f"{size:.1f}", f"{median(written):.2f}", f"{median(restored):.2f}", bar]


def _full(spec: fl.WindowSpec, windows: int) -> fl.WindowOperator:
    """An operator with so many windows of each key open: a record a second of each. What has fired is taken."""
    operator = fl.WindowOperator(spec)
    for first in range(0, windows, _BUNDLE):
        seconds = np.repeat(_BEGIN + np.arange(first, min(first + _BUNDLE, windows)), KEYS)
        columns = {"ts": seconds, "k": np.arange(len(seconds)) % KEYS, "v": np.arange(len(seconds))}
        late = spec.lateness.micros > 0
        operator.add(pa.table(columns), watermark=int(seconds[-1]) * 1_000_000 if late else None)
        operator.take()
    return operator
