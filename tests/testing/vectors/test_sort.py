"""The peers' cases about sort, and some of our own, on the sort buffer, on the oracle and on both engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from fanlight.errors import VectorError
from fanlight.testing.vectors import Vector, load
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.sort import BufferSort, OracleSort, SortDriver, engine_sort, sort, sort_differences

FILES = sorted((Path(__file__).parents[2] / "vectors").glob("*.yaml"))
PEERS = {vector.name: vector for file in FILES for vector in load(file) if vector.op == "sort"}
OWN = """
- name: rows of one time leave in the order they came, in one bundle or in several
  row_order: exact
  steps:
  - {in: [{ts: 5, v: a}, {ts: 1, v: b}, {ts: 5, v: c}]}
  - {watermark: 2}
  - {in: [{ts: 5, v: d}]}
  - {checkpoint_restore: true}
  - {end: true}
  expect:
  - {after: 1, rows: [{ts: 1, v: b}]}
  - {after: 4, rows: [{ts: 5, v: a}, {ts: 5, v: c}, {ts: 5, v: d}]}

- name: a record below the watermark before its bundle is not among the rows; one below that of its bundle is
  watermark_policy: {kind: max_minus, delay: 5, update: per_step}
  row_order: exact
  steps:
  - {in: [{ts: 20}, {ts: 3}]}
  - {in: [{ts: 14}, {ts: 15}, {ts: 21}]}
  - {end: true}
  expect:
  - {after: 0, rows: [{ts: 3}]}
  - {after: 1, rows: [{ts: 15}]}
  - {after: 2, rows: [{ts: 20}, {ts: 21}]}

- name: record by record each is judged by those before it
  watermark_policy: {kind: max_minus, delay: 5, update: per_record}
  bundles: per_step
  row_order: exact
  steps:
  - {in: [{ts: 14}, {ts: 20}, {ts: 14}, {ts: 15}]}
  - {end: true}
  expect:
  - {after: 0, rows: [{ts: 14}]}
  - {after: 1, rows: [{ts: 15}, {ts: 20}]}

- name: a bundle for each record moves the watermark with each
  watermark_policy: {kind: max_minus, delay: 5, update: per_step}
  bundles: per_record
  row_order: exact
  steps:
  - {in: [{ts: 14}, {ts: 20}, {ts: 14}, {ts: 15}]}
  - {end: true}
  expect:
  - {after: 0, rows: [{ts: 14}]}
  - {after: 1, rows: [{ts: 15}, {ts: 20}]}

- name: a view has all that has left
  expect_mode: state
  steps:
  - {in: [{ts: 2}, {ts: 1}]}
  - {watermark: 2}
  - {watermark: 3}
  expect:
  - {after: 0, rows: []}
  - {after: 1, rows: [{ts: 1}]}
  - {after: 2, rows: [{ts: 1}, {ts: 2}]}
"""


def own(fields: dict[str, object]) -> Vector:
    return Vector(str(fields["name"]), "sort", "", "", fields)


CASES = PEERS | {fields["name"]: own(fields) for fields in yaml.safe_load(OWN)}
drivers = pytest.mark.parametrize(
    "driver", [BufferSort, OracleSort, partial(engine_sort, engine="embedded")], ids=["buffer", "oracle", "embedded"]
)


@drivers
@pytest.mark.parametrize("name", CASES)
def test_rows_leave_as_the_case_says(name: str, driver: Callable[[Vector], SortDriver]) -> None:
    assert sort_differences(CASES[name], driver) == []


@pytest.mark.parametrize("name", CASES)
def test_the_processor_on_spark_gives_the_same(name: str) -> None:
    """But it judges a micro-batch as a whole, never record by record."""
    if CASES[name].get("watermark_policy", {}).get("update") == "per_record":
        with pytest.raises(NotAdoptedError, match="judges a micro-batch as a whole"):
            sort(CASES[name], "spark")
    else:
        assert sort(CASES[name], "spark") == []


def test_there_are_cases_of_the_peer_and_of_the_seed() -> None:
    assert set(PEERS) == {"rw_sort_executor", "rw_watermark_select", "seed_risingwave_sort_releases_in_order"}


@drivers
def test_another_order_is_a_difference(driver: Callable[[Vector], SortDriver]) -> None:
    fields = {
        "name": "wrong",
        "row_order": "exact",
        "steps": [{"in": [{"ts": 2}, {"ts": 1}]}, {"end": True}],
        "expect": [{"after": 1, "rows": [{"ts": 2}, {"ts": 1}]}],
    }
    assert sort_differences(own(fields), driver) == [
        "after step 1: row 0: expected {ts: 2}, got {ts: 1}",
        "after step 1: row 1: expected {ts: 1}, got {ts: 2}",
    ]


def test_a_step_that_is_not_known_is_refused() -> None:
    with pytest.raises(VectorError, match="`upsert`"):
        sort_differences(own({"name": "odd", "steps": [{"upsert": []}, {"in": [{"ts": 1}]}]}), OracleSort)
