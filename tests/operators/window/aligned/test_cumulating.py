"""Cumulating windows over generated streams, against the law read window by window."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.routes import rerouted
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import timestamp
from fanlight.model.windows.cumulating import Cumulating

Key = tuple[str, int, int]
Case = tuple["Shape", list[list[tuple[int, str, int]]]]


class Shape:
    """Windows, and how far out of order and how late records may come."""

    def __init__(self, step: int, steps: int, offset: int, delay: int, earliest: int | None) -> None:
        self.step, self.size, self.offset = step, step * steps, offset
        self.delay, self.earliest = delay, earliest

    def __repr__(self) -> str:
        return f"Shape({self.step}, {self.size // self.step}, {self.offset}, {self.delay}, {self.earliest})"

    def windows(self, time: int) -> list[tuple[int, int]]:
        """The windows of a time."""
        start = (time - self.offset) // self.size * self.size + self.offset
        if self.earliest is not None and start < self.earliest:
            return []
        return [(start, end) for end in range(start + self.step, start + self.size + 1, self.step) if time < end]

    def stream(self, lateness: int = 0) -> fl.Windowed:
        window = Cumulating(Duration(self.size), Duration(self.step), Duration(self.offset))
        keyed = fl.stream([], time="ts", unit="us", delay=Duration(self.delay)).key_by("k")
        return keyed.window(window, lateness=Duration(lateness)).semantics(fl.Semantics(earliest_start=self.earliest))


shapes = st.builds(
    Shape,
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(-5, 5),
    st.integers(0, 6),
    st.none() | st.integers(-9, 40),
)
record = st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.integers(1, 9))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Bundles whose times move on, with records far behind among them."""
    bundles = draw(st.lists(st.lists(record, max_size=6), min_size=1, max_size=8))
    pace = draw(st.integers(0, 9))
    return draw(shapes), [[(time + pace * place, k, v) for time, k, v in part] for place, part in enumerate(bundles)]


def by_hand(case: Case, lateness: int) -> tuple[Counter[Key], Counter[Key], int]:
    """How many records each pane gets and what they sum up to; and how many records are dead letters."""
    shape, bundles = case
    counts: Counter[Key] = Counter()
    sums: Counter[Key] = Counter()
    dead, greatest, watermark = 0, -(10**9), -(10**9)
    for bundle in bundles:
        for time, key, value in bundle:
            live = [window for window in shape.windows(time) if watermark < window[1] + lateness]
            dead += not live
            for window in live:
                counts[key, *window] += 1
                sums[key, *window] += value
            greatest = max(greatest, time)
        watermark = max(watermark, greatest - shape.delay)
    return counts, sums, dead


def run(pipeline: fl.Result, case: Case, *, restores: bool) -> tuple[list[tuple[Key, dict[str, int]]], int]:
    """What leaves, in order, and how many dead letters there are."""
    operator = pipeline.operator()
    rows = []
    for bundle in case[1]:
        operator.add([{"ts": time, "k": key, "v": value} for time, key, value in bundle])
        rows += operator.take().to_pylist() if operator.is_bound else []
        if restores and operator.is_bound:
            operator = fl.WindowOperator.restore(operator.spec, operator.snapshot())
    operator.end()
    rows += operator.take().to_pylist() if operator.is_bound else []
    leaving = [
        ((row["k"], *(_micros(row["window"][side]) for side in ("start", "end"))), {"n": row["n"], "v": row["v"]})
        for row in rows
    ]
    return leaving, operator.accounting.dead_letters


def _micros(moment: datetime) -> int:
    return timestamp(moment)


@pytest.mark.parametrize("restores", [False, True])
@given(case=cases())
def test_panes_that_fire_once(restores: bool, case: Case) -> None:
    pipeline = case[0].stream().agg(n=fl.count(), v=fl.sum("v"))
    leaving, dead = run(pipeline, case, restores=restores)
    counts, sums, expected_dead = by_hand(case, 0)
    assert {pane: values["n"] for pane, values in leaving} == counts
    assert {pane: values["v"] for pane, values in leaving} == sums
    assert len(leaving) == len(counts)
    assert dead == expected_dead
    assert leaving == sorted(leaving, key=lambda row: (row[0][2], row[0][1], row[0][0]))


@pytest.mark.parametrize("stacked", [False, True])
@given(case=cases(), lateness=st.integers(0, 7))
def test_panes_that_fire_with_every_update(stacked: bool, case: Case, lateness: int) -> None:
    """The last firing of a pane has all that came to it, whether a bundle is written out or goes over two stacks."""
    trigger = fl.at_watermark(early=fl.after(1), late=fl.after(1))
    pipeline = case[0].stream(lateness).trigger(trigger).agg(n=fl.count(), v=fl.sum("v"))
    with rerouted(written_out=-1) if stacked else nullcontext():
        leaving, dead = run(pipeline, case, restores=False)
    counts, sums, expected_dead = by_hand(case, lateness)
    last = dict(leaving)
    assert {pane: values["n"] for pane, values in last.items()} == counts
    assert {pane: values["v"] for pane, values in last.items()} == sums
    assert dead == expected_dead


def test_the_day_so_far_every_hour_starts_anew_with_the_day() -> None:
    orders = [{"ts": f"2026-11-{day}T{hour:02}:30Z"} for day, hour in ((14, 1), (14, 3), (14, 22), (15, 0))]
    so_far = fl.stream(orders, time="ts").window(fl.cumulating("1 day", step="6 h")).agg(n=fl.count())
    rows = so_far.table().to_pylist()
    assert [(row["window"]["start"].day, row["window"]["end"].hour, row["n"]) for row in rows] == [
        (14, 6, 2),
        (14, 12, 2),
        (14, 18, 2),
        (14, 0, 3),
        (15, 6, 1),
        (15, 12, 1),
        (15, 18, 1),
        (15, 0, 1),
    ]
