"""A trailing average for each record through the whole engine, against Polars' rolling; and how its cost grows.

A window holds a key's records of the sixty seconds up to one of them. Polars has the whole hour in memory, and nothing
arrives.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl
from benchmarks.contestants import Bundles, Contestant, fed, orders, rows_of
from benchmarks.data import HOUR, Orders
from benchmarks.figures import Figures, Scale, at_most, table, verdict
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.measure import Measured, side_by_side
from benchmarks.rolling import polars, rolling, rolling_by
from benchmarks.trailing import Trailing

MINUTE = 60_000_000
BAR, GROWTH = 0.4, 3

RECORDS = (10, 100, 1_000, 10_000)
"""In a window, about, where the cost's growth is measured: the same orders, in longer and longer windows."""
KEYS_EACH = 100_000
"""Orders of each key there: an hour of a key has more than its longest window."""

OURS, BY, FRAMES = "Fanlight, in bundles", "Polars, `rolling_mean_by`, one shot", "Polars, `rolling`, one shot"
AVERAGE, HIGHEST = "average", "highest"
AGGREGATES = {AVERAGE: fl.avg("price"), HIGHEST: fl.max("price")}


def run(scale: Scale) -> Figures:
    against, growth = _against_polars(scale), _growth(scale)
    rows = [
        [
            name,
            f"{times.speed:.2f}",
            f"{times.rows_out:,}",
            f"{against.ratio(OURS, name):.2f}",
            "" if name == OURS else verdict(against.ratio(OURS, name), BAR),
        ]
        for name, times in against.times.items()
    ]
    first = str(RECORDS[0])
    grown = [
        [
            f"{records:,} ({_difference(records) / 1e6:g} s)",
            *(
                cell
                for kind in AGGREGATES
                for cell in _cells(growth[kind], str(records), growth[kind].ratio(first, str(records)))
            ),
        ]
        for records in RECORDS
    ]
    tables = (
        table(["trailing average over 60 s, 10 k keys", "M rows/s", "rows out", "Fanlight to it", "bar"], rows),
        table(
            [
                "records a window",
                *(f"{kind}{what}" for kind in AGGREGATES for what in (", ns a row", ", to 10", " bar")),
            ],
            grown,
        ),
    )
    busy = max(measured.busy for measured in (against, *growth.values()))
    return Figures("sliding", scale, tables, busy, ("polars",))


def _cells(measured: Measured, name: str, ratio: float) -> list[str]:
    bar = "" if name == str(RECORDS[0]) else at_most(ratio, GROWTH)
    return [f"{measured.times[name].nanoseconds:.0f}", f"{ratio:.2f}", bar]


def _against_polars(scale: Scale) -> Measured:
    bundles = Orders(scale.rows, keys=scale.rows // 2_000).bundles()
    whole = pa.Table.from_batches(bundles)
    wanted = Fingerprint.of(Trailing.of(whole, MINUTE).averages())
    contestants = [
        engine(OURS, bundles, MINUTE, AVERAGE, wanted),
        polars(BY, whole, rolling_by, wanted),
        polars(FRAMES, whole, rolling, wanted),
    ]
    return side_by_side("sliding", contestants, scale.rounds)


def _growth(scale: Scale) -> dict[str, Measured]:
    bundles = Orders(scale.rows, keys=scale.rows // KEYS_EACH).bundles()
    contestants: dict[str, list[Contestant]] = {kind: [] for kind in AGGREGATES}
    for records in RECORDS:
        difference = _difference(records)
        windows = Trailing.of(pa.Table.from_batches(bundles), difference)
        for kind, wanted in ((AVERAGE, windows.averages), (HIGHEST, windows.highest)):
            contestants[kind].append(engine(str(records), bundles, difference, kind, Fingerprint.of(wanted())))
    return {kind: side_by_side(f"sliding, {kind}", each, scale.rounds) for kind, each in contestants.items()}


def _difference(records: int) -> int:
    return records * HOUR // KEYS_EACH


def engine(name: str, bundles: Bundles, difference: int, kind: str, wanted: Fingerprint) -> Contestant:
    """Fanlight's trailing windows, bundle by bundle."""
    windows = orders().window(fl.sliding(timedelta(microseconds=difference)))
    spec = windows.agg(value=AGGREGATES[kind]).spec
    audit = partial(FingerprintAudit, name, _of_firings, wanted)
    return Contestant(name, fed(spec, bundles), audit, rows_of(bundles), len(bundles) + 1)


def _of_firings(fired: pa.Table) -> Columns:
    end = pc.struct_field(fired.column("window"), "end").cast(pa.int64()).to_numpy()
    return fired.column("key").to_numpy(), end - 1, fired.column("value").to_numpy()
