"""Whether a contestant is right: a few orders through the whole query, against the definition of the windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import DISORDER, Orders
from benchmarks.spark.contestants import Contestant, Windows
from benchmarks.spark.files import Files
from benchmarks.spark.play import source
from benchmarks.totals import COLUMNS, VALUES, floored, last_firings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = Files(Orders(60_000, keys=300), cut=3, first=3)
_MILLISECOND = 1_000


def check(spark: SparkSession, contestant: Contestant, room: Path) -> None:
    """Stop everything if a closed window of a key is not what the definition says, is missing, or should be open.

    It is the first time a contestant runs, so it also wakes the Python workers and has the code compiled.
    """
    name = "checked"
    rows = contestant.query(source(spark, FEW, room))
    query = rows.writeStream.format("memory").queryName(name).outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination()
    found = _panes(spark.table(name).toArrow())
    spark.catalog.dropTempView(name)
    if contestant.repeats:
        found = _closed(last_firings(found), contestant.windows)
    wanted = _closed(_defined(contestant.windows), contestant.windows)
    ours, theirs = (_in_order(panes) for panes in (found, wanted))
    if not ours.equals(theirs):
        raise SystemExit(
            f"{contestant.name}: its {len(ours)} closed panes are not the {len(theirs)} of the data, so no figure "
            f"stands.\nfound {ours.slice(0, 5).to_pylist()} …\nexpected {theirs.slice(0, 5).to_pylist()} …"
        )


def _panes(rows: pa.Table) -> pa.Table:
    """A contestant's rows as `COLUMNS`; those that take a firing back are left out."""
    start = pc.struct_field(rows.column("window"), "start").cast(pa.int64())
    panes = pa.table([rows.column("key"), start, *(rows.column(name) for name in VALUES)], names=COLUMNS)
    if "pane" not in rows.column_names:
        return panes
    return panes.filter(pc.not_equal(pc.struct_field(rows.column("pane"), "op"), "-U"))


def _defined(windows: Windows) -> pa.Table:
    """Every pane there is: a record counts in each of the `size / every` windows that cover its time."""
    orders = pa.Table.from_batches(FEW.orders.bundles())
    price = orders.column("price")
    cells = [
        orders.column("key"),
        floored(orders.column("ts"), windows.every),
        pa.array(np.ones(len(orders), np.int64)),
    ]
    slices = _summed(pa.table([*cells, price, price], names=COLUMNS))
    start = slices.column("start")
    return _summed(
        pa.concat_tables(
            slices.set_column(1, "start", pc.subtract(start, back)) for back in range(0, windows.size, windows.every)
        )
    )


def _summed(rows: pa.Table) -> pa.Table:
    kinds = zip(VALUES, ("sum", "sum", "max"), strict=True)
    return rows.group_by(["key", "start"], use_threads=False).aggregate(list(kinds)).rename_columns(COLUMNS)


def _closed(panes: pa.Table, windows: Windows) -> pa.Table:
    """The panes that the last watermark has closed; Spark's watermark counts milliseconds."""
    last = max(pc.max(bundle.column("ts").cast(pa.int64())).as_py() for bundle in FEW.orders.bundles())
    watermark = last // _MILLISECOND * _MILLISECOND - DISORDER
    return panes.filter(pc.less_equal(panes.column("start"), watermark - windows.size))


def _in_order(panes: pa.Table) -> pa.Table:
    return panes.sort_by([("key", "ascending"), ("start", "ascending")]).combine_chunks()
