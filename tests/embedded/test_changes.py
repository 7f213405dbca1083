"""A stage that takes its results back feeds the next one: what is left in the end is what the last results give."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.continuation import WINDOW_START
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.same import Same

SALES = [
    {"ts": second, "shop": shop, "n": n}
    for second, shop, n in [
        (1, "a", 3),
        (2, "b", 5),
        (61, "a", 1),
        (3, "a", 4),
        (62, "c", 2),
        (2, "b", -5),
        (130, "c", 9),
    ]
]
"""Out of order by up to a minute: each minute is corrected after it has fired early."""


def by_shop(accumulated: str = "retracting") -> fl.Result:
    minutes = (
        fl.stream(SALES, time="ts", unit="s", delay="2 minutes", rows=1).key_by("shop").window(fl.tumbling("1 minute"))
    )
    firing = minutes.trigger(fl.at_watermark(early=fl.after(1)))
    return getattr(firing, accumulated)().agg(total=fl.sum("n"))


def standing(table: pa.Table, *keys: str) -> list[dict[str, Any]]:
    """The table of results that rows with operations make."""
    left: dict[Any, dict[str, Any]] = {}
    for row in table.to_pylist():
        place = tuple(row[key] for key in keys), row["window"]["start"]
        left.pop(place, None)
        if "pane" not in row or row["pane"]["op"] in ("+I", "+U"):
            left[place] = {name: value for name, value in row.items() if name not in ("window", "pane")}
    return list(left.values())


def test_windows_over_a_stage_that_retracts() -> None:
    """The shops of each minute: 7 and 0, then 1 and 2, then 9. The greatest is read from what is left."""
    hours = by_shop().window(fl.tumbling("2 minutes")).agg(shops=fl.count(), all=fl.sum("total"), most=fl.max("total"))
    rows = [{"shops": 4, "all": 10, "most": 7}, {"shops": 1, "all": 9, "most": 9}]
    assert hours.table().select(["shops", "all", "most"]).to_pylist() == rows
    accounting = hours.accounting
    assert accounting.adds_up
    assert accounting.dead_letters == 0


def test_early_results_of_the_second_stage_are_taken_back_too() -> None:
    early = by_shop().window(fl.tumbling("2 minutes")).trigger(fl.at_watermark(early=fl.after(1))).retracting()
    rows = standing(early.agg(all=fl.sum("total"), low=fl.min("total")).table())
    assert rows == [{"all": 10, "low": 0}, {"all": 9, "low": 9}]


@pytest.mark.parametrize("accumulated", ["retracting", "accumulating"])
def test_sort_gives_the_last_results(accumulated: str) -> None:
    rows = by_shop(accumulated).key_by("shop").sort("shop").table()
    assert "op" not in rows.column_names
    assert [(row["shop"], row["total"]) for row in rows.to_pylist()] == [
        ("a", 7),
        ("b", 0),
        ("a", 1),
        ("c", 2),
        ("c", 9),
    ]


def test_results_are_grouped_again_inside_their_windows() -> None:
    """The same windows, of which each takes back what was said before."""
    first = by_shop()
    spec = WindowSpec(
        WINDOW_START,
        Same(first.spec.window),
        (("shops", fl.count()), ("best", fl.top("row", 1, by="total"))),
        watermark=fl.Explicit(),
        changes=first.spec.continuation.changes,
    )
    rows = first.complete(spec, Intake(Preparation(), WINDOW_START)).table().drop_columns(["window"]).to_pylist()
    assert rows == [
        {"shops": 2, "best": [{"shop": "a", "total": 7}]},
        {"shops": 2, "best": [{"shop": "c", "total": 2}]},
        {"shops": 1, "best": [{"shop": "c", "total": 9}]},
    ]
