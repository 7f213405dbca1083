"""Every accumulation in a pipeline: over bundles, slices and firings it says what the oracle says of the whole."""

from __future__ import annotations

from operator import add
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.testing.oracle.aggregates import every as oracle
from fanlight.testing.script import same

ROWS: list[dict[str, Any]] = [
    {
        "ts": (n * 7) % 40,
        "shop": "ab"[n % 3 % 2],
        "product": ("tea", "milk", "rice", None)[n % 4],
        "price": None if n % 11 == 0 else (n * 13) % 17,
        "weight": float(n % 3),
        "order": {"id": n % 5, "name": "xyz"[n % 3]},
    }
    for n in range(40)
]
TABLE = pa.Table.from_pylist(ROWS).set_column(
    2, "product", pa.array([row["product"] for row in ROWS]).dictionary_encode()
)
AGGREGATES: dict[str, fl.Aggregate] = {
    "sorted": fl.sorted("order", descending=True),
    "distinct": fl.distinct("product"),
    "top_by_key": fl.top_by_key("product", "price", 2),
    "fold": fl.fold("product", "", lambda state, value: f"{state}{value[0]}", pa.string()),
    "merged": fl.fold("price", 0, add, pa.int64(), merge=add),
    "reduce": fl.reduce("product", max),
    "composite": fl.composite(n=fl.count(), best=fl.arg_max("product", by="price"), prices=fl.list("price")),
    "lean": fl.composite(n=fl.count("price"), greatest=fl.max("price"), mode=fl.mode("product")),
    "weighted": fl.weighted_avg("price", "weight"),
    "arg_min": fl.arg_min("order", by="price"),
    "histogram": fl.histogram("price", [4, 8.5, 12]),
    "mode": fl.mode("product"),
    "joined": fl.join_text("product"),
    "different": fl.approx_count_distinct("product"),
    "middle": fl.approx_quantile("price", 0.5),
    "heavy": fl.heavy_hitters("product", 2),
}


def wanted(start: int, end: int, shop: str) -> dict[str, Any]:
    rows = [row for row in ROWS if start <= row["ts"] < end and row["shop"] == shop]
    return {
        name: oracle.compute(aggregate, [(row["ts"], oracle.given(aggregate, row)) for row in rows])
        for name, aggregate in AGGREGATES.items()
    }


@pytest.mark.parametrize("rows", [1, 7, 40])
@pytest.mark.parametrize(
    "window", [fl.tumbling("20 us"), fl.hopping("20 us", every="5 us")], ids=["tumbling", "hopping"]
)
@pytest.mark.parametrize("early", [None, fl.after(2)], ids=["once", "early"])
def test_the_last_firing_is_what_the_oracle_says(rows: int, window: Any, early: Any) -> None:
    firings = (
        fl.stream(TABLE, time="ts", unit="us", delay="50 us", rows=rows)
        .key_by("shop")
        .window(window)
        .trigger(fl.at_watermark(early=early, late=None))
        .retracting()
        .agg(**AGGREGATES)
        .table()
        .to_pylist()
    )
    last = {(row["shop"], row["window"]["start"]): row for row in firings if row.get("pane", {}).get("op") != "-U"}
    assert last
    for row in last.values():
        start, end = (int(row["window"][side].timestamp() * 1_000_000) for side in ("start", "end"))
        said = {name: row[name] for name in AGGREGATES}
        expected = wanted(start, end, row["shop"])
        assert same(said, expected, tolerance=1e-9), f"{said} is not {expected}"


def test_what_is_taken_back_was_said_before() -> None:
    """Retraction needs nothing of an accumulation: the row before is shown again."""
    rows = (
        fl.stream(TABLE, time="ts", unit="us", delay="50 us", rows=4)
        .window(fl.tumbling("40 us"))
        .trigger(fl.at_watermark(early=fl.after(1), late=None))
        .retracting()
        .agg(**AGGREGATES)
        .table()
        .to_pylist()
    )
    standing: Any = None
    for row in rows:
        said = {name: row[name] for name in AGGREGATES}
        if row["pane"]["op"] == "-U":
            assert same(said, standing)
        else:
            standing = said
    assert [row["pane"]["op"] for row in rows[:3]] == ["+I", "-U", "+U"]
