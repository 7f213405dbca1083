"""Who is measured: each plays the same bundles and yields what it finds. The watch runs only while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl
from benchmarks.audit import Audit, TotalsAudit
from benchmarks.data import BUNDLES, HOUR, START
from benchmarks.stopwatch import Stopwatch
from benchmarks.totals import COLUMNS, Totals

Bundles = Sequence[pa.RecordBatch]
Play = Callable[[Stopwatch], Iterator[pa.Table]]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to compute windows over the bundles, and what says whether it is right."""

    name: str
    play: Play
    audit: Callable[[], Audit]
    """What looks at the rows of a run."""
    rows: int
    steps: int
    """How many tables it yields."""


def pipeline(window: fl.Windowed) -> fl.WindowSpec:
    """The aggregates of every benchmark over these windows."""
    return window.agg(n=fl.count(), revenue=fl.sum("price"), highest=fl.max("price")).spec


def orders() -> fl.Stream:
    """The stream of every benchmark: five seconds of disorder, by key. The bundles are fed by hand."""
    return fl.stream([], time="ts", delay="5 seconds").key_by("key")


def engine(name: str, spec: fl.WindowSpec, bundles: Bundles, expected: Totals) -> Contestant:
    """Fanlight, checked by its totals."""
    audit = partial(TotalsAudit, name, _of_firings, expected, repeats=not spec.fires_once)
    return Contestant(name, fed(spec, bundles), audit, rows_of(bundles), len(bundles) + 1)


def fed(spec: fl.WindowSpec, bundles: Bundles) -> Play:
    """Fanlight as a user has it: `add` a bundle with its clock, `take` what fired, `end` at the end."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        operator = fl.WindowOperator(spec)
        for place, bundle in enumerate(bundles):
            with watch:
                operator.add(bundle, clock=START + (place + 1) * HOUR // BUNDLES)
                fired = operator.take()
            yield fired
        with watch:
            operator.end()
            fired = operator.take()
        yield fired

    return play


def fed_rows(spec: fl.SortSpec | fl.OverSpec, bundles: Bundles) -> Play:
    """Fanlight as a user has it: `add` a bundle, `take` what left, `end` at the end."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        operator = fl.StandaloneOperator(spec)
        for bundle in bundles:
            with watch:
                operator.add(bundle)
                left = operator.take()
            yield left
        with watch:
            operator.end()
            left = operator.take()
        yield left

    return play


def rows_of(bundles: Bundles) -> int:
    """How many rows there are."""
    return sum(len(bundle) for bundle in bundles)


def bare_group_by(name: str, bundles: Bundles, size: int, expected: Totals) -> Contestant:
    """PyArrow's group-by, bundle by bundle: no state, no watermark, windows cut where bundles are."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        for bundle in bundles:
            with watch:
                number = pc.divide(bundle.column("ts").cast(pa.int64()), size)
                keys = {"key": bundle.column("key"), "number": number}
                table = pa.table({**keys, "price": bundle.column("price")})
                grouped = table.group_by(["key", "number"], use_threads=False).aggregate(
                    [([], "count_all"), ("price", "sum"), ("price", "max")]
                )
            yield grouped

    def panes(grouped: pa.Table) -> pa.Table:
        return numbered_panes(grouped, size)

    return Contestant(name, play, partial(TotalsAudit, name, panes, expected), rows_of(bundles), len(bundles))


def numbered_panes(grouped: pa.Table, size: int) -> pa.Table:
    """Key, window number, count, sum and maximum, read as `COLUMNS`."""
    key, number, *values = grouped.columns
    return pa.table([key, pc.multiply(number, size), *values], names=COLUMNS)


def _of_firings(fired: pa.Table) -> pa.Table:
    stands = pc.not_equal(pc.struct_field(fired.column("pane"), "op"), "-U")
    start = pc.struct_field(fired.column("window"), "start").cast(pa.int64())
    values = [fired.column(name) for name in ("n", "revenue", "highest")]
    return pa.table([fired.column("key"), start, *values], names=COLUMNS).filter(stands)
