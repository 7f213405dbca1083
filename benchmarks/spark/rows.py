"""Row operators on Spark, their rows written to parquet files: `over` and `sort`, and the bars of their ratios."""

from __future__ import annotations

from benchmarks.data import Orders
from benchmarks.figures import Scale
from benchmarks.spark import in_order, over
from benchmarks.spark.files import Files
from benchmarks.spark.pairs import BY_KEY, BY_SPARK, OURS, Contest, held
from benchmarks.spark.report import SparkFigures

REPARTITIONED = "Spark `repartition` by key"
OVER, OVER_SPEED, SORT = 12, 1.0, 0.5

_WARM, _WARM_SLOW = 3, 1
"""Batches of a play that do not count."""
_SLOW = 3
"""Batches that are enough for a contestant that takes most of a minute for one."""


def contests(scale: Scale) -> tuple[Contest, ...]:
    """Both over twenty million orders of ten thousand keys; or fewer."""
    orders = Orders(scale.rows, keys=scale.rows // 2_000)
    files = Files(orders)
    rows = over.RowsWithAverage("each row with its average over 60 s")
    in_time = in_order.RowsByKey("rows in the order of their times", sorted=True)
    in_none = in_order.RowsByKey(in_time.name, sorted=False)
    return (
        Contest(
            (
                over.fanlight(OURS, rows, files, _WARM),
                over.by_key(BY_KEY, rows, Files(orders, first=_SLOW), _WARM_SLOW),
                over.fanlight(BY_SPARK, rows, files, _WARM, by_spark=True),
            ),
            OVER,
            speed=OVER_SPEED,
        ),
        Contest(
            (
                in_order.fanlight(OURS, in_time, files, _WARM),
                in_order.repartitioned(REPARTITIONED, in_none, files, _WARM),
            ),
            SORT,
        ),
    )


def run(scale: Scale) -> SparkFigures:
    return held("rows", scale, contests(scale))
