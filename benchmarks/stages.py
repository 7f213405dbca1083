"""What another stage and another input cost, beside the first stage alone and beside one input with the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl
from benchmarks.audit import Audit
from benchmarks.contestants import Contestant, rows_of
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, at_most, table
from benchmarks.measure import side_by_side
from benchmarks.stopwatch import Stopwatch
from benchmarks.totals import floored

COUNTS, BEST = "counts by key, 1 min", "then the top 10 of each window"
EARLY, SUMS = "hopping 10 min / 1 min, early at every bundle, retracting", "then sums of 10 min over all keys"
ONE, TWO = "one input", "two inputs, half the rows each"

MINUTE = 60_000_000
OVERLAP = 10
"""Hopping windows over a record."""
TOP = 10


class CountAudit:
    """Looks whether every record counts once in each of its windows: what was taken back counts no more."""

    def __init__(self, name: str, records: int) -> None:
        self._name = name
        self._missing = records

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""
        if not len(table):
            return
        signs = np.ones(len(table), np.int64)
        if "pane" in table.column_names:
            taken = pc.is_in(pc.struct_field(table.column("pane"), "op"), pa.array(["-U", "-D"]))
            signs[np.asarray(taken)] = -1
        self._missing -= int((table.column("n").to_numpy() * signs).sum())

    def close(self) -> None:
        """Stop everything if a record is missing, or counts twice."""
        if self._missing:
            raise SystemExit(f"{self._name}: {self._missing} records do not count, so no figure stands.")


class TopAudit:
    """Looks whether the greatest counts of each window are those of the data."""

    def __init__(self, name: str, expected: dict[int, list[int]]) -> None:
        self._name = name
        self._expected = expected
        self._found: dict[int, list[int]] = {}

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""
        if not len(table):
            return
        for start, counts in first_counts(table).items():
            self._found.setdefault(start, []).extend(counts)

    def close(self) -> None:
        """Stop everything if they are others."""
        if self._found != self._expected:
            raise SystemExit(f"{self._name}: the greatest counts are not those of the data, so no figure stands.")


@dataclass(frozen=True, slots=True)
class Contest:
    """Two contestants, and how many times the cost of the first the second may have."""

    first: Contestant
    second: Contestant
    bar: float


def run(scale: Scale) -> Figures:
    rows, busy = [], []
    for contest in contests(scale):
        first, second = contest.first.name, contest.second.name
        measured = side_by_side(first, [contest.first, contest.second], scale.rounds)
        cost = measured.ratio(first, second)
        told = {first: ("1.00", ""), second: (f"{cost:.2f}", at_most(cost, contest.bar))}
        for name, times in measured.times.items():
            rows.append([name, f"{times.speed:.1f}", f"{times.rows_out:,}", *told[name]])
        busy.append(measured.busy)
    head = ["10 k keys, int64", "M rows/s", "rows out", "cost", "bar"]
    return Figures("stages", scale, (table(head, rows),), max(busy))


def contests(scale: Scale) -> list[Contest]:
    """All over the same orders."""
    bundles = Orders(scale.rows).bundles()
    count = rows_of(bundles)
    halves = [[_every_other(bundle, place) for bundle in bundles] for place in (0, 1)]

    def contestant(name: str, declared: Callable[[], Any], audit: Callable[[], Audit]) -> Contestant:
        return Contestant(name, _read(declared), audit, count, len(bundles) + 1)

    def counted(name: str, declared: Callable[[], Any], records: int) -> Contestant:
        return contestant(name, declared, partial(CountAudit, name, records))

    def both() -> fl.Result:
        return counts(fl.union(web=orders(halves[0]), shop=orders(halves[1])))

    expected = greatest(pa.Table.from_batches(bundles))
    return [
        Contest(
            counted(COUNTS, lambda: counts(orders(bundles)), count),
            contestant(BEST, lambda: best(counts(orders(bundles))), partial(TopAudit, BEST, expected)),
            1.3,
        ),
        Contest(
            counted(EARLY, lambda: early(orders(bundles)), OVERLAP * count),
            counted(SUMS, lambda: sums(early(orders(bundles))), OVERLAP * count),
            3,
        ),
        Contest(counted(ONE, lambda: counts(orders(bundles)), count), counted(TWO, both, count), 1.1),
    ]


def orders(source: Any) -> fl.Stream:
    """The stream of every benchmark."""
    return fl.stream(source, time="ts", delay="5 seconds")


def counts(stream: fl.Stream) -> fl.Result:
    """How many orders a key has in each minute."""
    return stream.key_by("key").window(fl.tumbling("1 minute")).agg(n=fl.count())


def best(counted: fl.Result) -> fl.RowResult[Any]:
    """The keys with the greatest counts of each minute."""
    return counted.rewindow().top(TOP, by="n")


def early(stream: fl.Stream) -> fl.Result:
    """Windows that are shown with every bundle, each time after what was shown before is taken back."""
    windows = stream.key_by("key").window(fl.hopping("10 minutes", every="1 minute"))
    return windows.trigger(fl.at_watermark(early=fl.after(1))).retracting().agg(n=fl.count())


def sums(shown: fl.Result) -> fl.Result:
    """What the windows that end in the same ten minutes count together."""
    return shown.window(fl.tumbling("10 minutes")).agg(n=fl.sum("n"), panes=fl.count())


def greatest(rows: pa.Table) -> dict[int, list[int]]:
    """The greatest counts of each minute, by the definition."""
    cells = pa.table({"key": rows.column("key"), "start": floored(rows.column("ts"), MINUTE)})
    counted = cells.group_by(["key", "start"], use_threads=False).aggregate([([], "count_all")])
    ordered = counted.sort_by([("start", "ascending"), ("count_all", "descending")])
    starts, found = ordered.column("start").to_numpy(), ordered.column("count_all").to_numpy()
    firsts = np.flatnonzero(np.diff(starts, prepend=starts[0] - 1))
    ends = np.append(firsts[1:], len(starts))
    return {
        int(starts[first]): found[first : min(first + TOP, end)].tolist()
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
    }


def first_counts(rows: pa.Table) -> dict[int, list[int]]:
    """By the start of its window: the counts of these rows, by their rank."""
    starts = rows.column("window_start").cast(pa.int64())
    found: dict[int, list[int]] = {}
    ranked = pa.table({"start": starts, "rank": rows.column("rank"), "n": rows.column("n")}).sort_by("rank")
    for start, count in zip(ranked.column("start").to_pylist(), ranked.column("n").to_pylist(), strict=True):
        found.setdefault(start, []).append(count)
    return found


def _read(declared: Callable[[], Any]) -> Callable[[Stopwatch], Iterator[pa.Table]]:
    """A pipeline of several stages is read step by step, as a user iterates over it."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        result = declared()
        steps = result.embedded_run().steps(bounded=True)
        while True:
            with watch:
                step = next(steps, None)
                fired = None if step is None else pa.Table.from_batches(step.fired, _columns(step.fired))
            if fired is None:
                return
            yield fired

    return play


def _columns(fired: list[pa.RecordBatch]) -> pa.Schema:
    return fired[0].schema if fired else pa.schema({"n": pa.int64()})


def _every_other(bundle: pa.RecordBatch, place: int) -> pa.RecordBatch:
    return bundle.take(pa.array(np.arange(place, len(bundle), 2)))
