"""When records are worth folding before they travel: where at most half as many rows are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.tumbling import Tumbling
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregator import preaggregator_of
from fanlight.operators.window.preaggregate.slices import RUN, RUNS, sampled

WINDOW = 1_000
SAMPLE = RUNS * RUN
SIZES = [SAMPLE + 1, 40_000, 100_000, 300_000, 1 << 20]
"""Of batches that only a sample is looked at of, up to the largest that is packed at once."""


def preaggregator(**keys: pa.DataType) -> Any:
    spec = WindowSpec("ts", Tumbling(Duration(WINDOW)), (("n", fl.count()),), tuple(keys))
    found = preaggregator_of(Plan.bind(spec, pa.schema({"ts": pa.int64(), **keys})))
    assert found is not None
    return found


def pays(slots: Ints, **keys: pa.Array) -> bool:
    columns = {"ts": pa.array(slots * WINDOW), **keys}
    own = preaggregator(**{name: column.type for name, column in keys.items()})
    return bool(own.pays(pa.record_batch(columns), slots))


def in_one_slot(keys: Ints) -> bool:
    return pays(np.zeros(len(keys), np.int64), k=pa.array(keys))


# ── batches that are looked at as a whole ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ([], True),
        ([1], False),
        ([1, 1], True),
        ([1, 2, 1], False),
        ([1, 2, 1, 2], True),
        ([None, None], True),
        ([None, 0], False),
        ([None, 0, None, 0], True),
        ([-(2**63), 2**63 - 1] * 2, True),
    ],
    ids=str,
)
def test_half_as_many_rows_or_fewer(keys: list[int | None], answer: bool) -> None:
    """One row is not worth it: it stays one row."""
    assert pays(np.zeros(len(keys), np.int64), k=pa.array(keys, pa.int64())) is answer


@pytest.mark.parametrize(("slots", "answer"), [([0, 0], True), ([0, 1], False), ([-(2**61), 2**61] * 2, True)])
def test_a_row_is_left_for_each_slice_where_there_are_no_keys(slots: list[int], answer: bool) -> None:
    assert pays(np.array(slots, np.int64)) is answer


def test_all_key_columns_count() -> None:
    """Each has two values for four rows; together they have four."""
    slots = np.zeros(4, np.int64)
    one, other = pa.array(["a", "a", None, None]), pa.array([0, 1, 0, 1])
    assert not pays(slots, one=one, other=other)
    assert pays(slots, one=pa.array(["a", "a", None, None]), other=pa.array([0, 0, 1, 1]))


def test_a_key_counts_once_in_each_slice() -> None:
    keys = pa.array(["a", "a", "b", "b"])
    assert pays(np.array([0, 0, 1, 1]), k=keys)
    assert not pays(np.array([0, 1, 0, 1]), k=keys)


@pytest.mark.parametrize("count", [0, 1, SAMPLE - 1, SAMPLE])
def test_of_few_rows_all_are_looked_at(count: int) -> None:
    assert sampled(count).tolist() == list(range(count))


# ── batches of which a sample is looked at ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", SIZES)
def test_a_sample_has_as_many_rows_from_every_part_and_none_twice(count: int) -> None:
    rows = sampled(count)
    assert len(rows) == SAMPLE
    assert (np.diff(rows) >= 1).all()
    assert rows[0] >= 0
    assert rows[-1] < count
    assert np.bincount(rows * RUNS // count).tolist() == pytest.approx([RUN] * RUNS, abs=1)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(("share", "answer"), [(0.01, True), (0.2, True), (0.5, True), (0.75, False), (2, False)])
def test_keys_in_no_order(count: int, share: float, answer: bool) -> None:
    """Drawn from half as many keys, 43 of a hundred rows are left; drawn from three quarters, 55."""
    keys = np.random.default_rng(7).integers(0, int(share * count), count)
    assert (2 * np.count_nonzero(np.bincount(keys)) <= count) == answer
    assert in_one_slot(keys) is answer


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(("share", "answer"), [(0.01, True), (0.1, True), (0.2, True), (0.3, True), (1, False)])
def test_keys_that_come_in_turn(count: int, share: float, answer: bool) -> None:
    """1, 2, 3, ... and from the first again: runs at even distances would often see no key twice."""
    assert in_one_slot(np.arange(count) % int(share * count)) is answer


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(("length", "answer"), [(1, False), (8, True), (5_000, True)])
def test_keys_that_come_once_in_runs(count: int, length: int, answer: bool) -> None:
    """Rows far from each other share no key; rows beside each other do."""
    assert in_one_slot(np.arange(count) // length) is answer


@pytest.mark.parametrize(("slots", "answer"), [(4, True), (200, False)])
def test_many_slices_of_few_keys(slots: int, answer: bool) -> None:
    """A thousand keys are 4,000 rows in four slices and up to 200,000 in two hundred."""
    rng, count = np.random.default_rng(7), 100_000
    keys = pa.array(rng.integers(0, 1_000, count).astype(str))
    assert pays(rng.integers(0, slots, count), k=keys) is answer


def test_slices_are_looked_at_where_the_keys_are() -> None:
    """The first rows are all of slices of their own; of a million that does not matter."""
    slots = np.zeros(1 << 20, np.int64)
    slots[:SAMPLE] = np.arange(SAMPLE)
    assert pays(slots, k=pa.nulls(len(slots), pa.int64()))


def test_one_key_and_no_key() -> None:
    slots = np.zeros(1 << 17, np.int64)
    assert pays(slots)
    assert pays(slots, k=pa.nulls(len(slots), pa.string()))
    assert not pays(np.arange(1 << 17))
