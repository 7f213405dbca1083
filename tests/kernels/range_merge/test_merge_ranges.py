"""Ranges of rows against the plain merge of the rows of each: the law of `ranges`, for every reducer.

Every range there is, of up to twenty rows, is asked for at once, the empty ones and those upside down too.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.aggregates.reducing import GREATEST, INF, NAN, Order, Seen, Squares
from tests.kernels.aggregates.test_accumulations_properties import INCREMENTAL as ACCUMULATIONS
from tests.kernels.aggregates.test_accumulations_properties import OF_MESSAGES
from tests.kernels.aggregates.test_accumulations_properties import Case as Accumulation
from tests.kernels.aggregates.test_reducers_properties import INCREMENTAL, Case

from fanlight.kernels.aggregates import MessageReducer, Reducer, bind
from fanlight.kernels.aggregates.aggregation import Aggregation, Partials
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.range_merge.spans import Spans
from fanlight.kernels.routes import rerouted
from fanlight.model import aggregates as agg
from fanlight.model.firing import FiringTime
from fanlight.testing.script import same

FEW_EXAMPLES = settings(max_examples=max(settings.default.max_examples // 4, 1))
ROWS = 20

Ints = np.ndarray[Any, np.dtype[np.int64]]


def fold_of(*bound: tuple[agg.Aggregate, pa.DataType | None], stamp: FiringTime = FiringTime.END) -> Aggregation:
    reducers = []
    for aggregate, kind in bound:
        reducer = bind(aggregate, kind)
        assert isinstance(reducer, Reducer)
        reducers.append(reducer)
    return Aggregation(tuple(reducers), stamp)


def row_partials(fold: Aggregation, *values: pa.Array | None, times: Ints | None = None) -> Partials:
    """One partial a row."""
    count = next(len(column) for column in values if column is not None)
    groups = Groups(np.arange(count), count)
    return fold.partial(list(values), np.arange(count) if times is None else times, groups, None)


def plainly(fold: Aggregation, partials: Partials, low: Ints, high: Ints) -> Partials:
    """The rows of each range gathered and merged."""
    lengths = np.maximum(high - low, 0)
    spread = [np.arange(start, end) for start, end in zip(low.tolist(), high.tolist(), strict=True)]
    rows = np.concatenate([np.zeros(0, np.int64), *spread])
    return fold.merge(partials.take(rows), Groups(np.repeat(np.arange(len(low)), lengths), len(low)))


def every_range(rows: int) -> tuple[Ints, Ints]:
    low, high = np.meshgrid(np.arange(rows + 1), np.arange(rows + 1), indexing="ij")
    return low.ravel(), high.ravel()


def agree(fold: Aggregation, found: Partials, wanted: Partials, tolerance: float = 0.0) -> None:
    assert found.rows.tolist() == wanted.rows.tolist()
    assert (found.stamp is None) == (wanted.stamp is None)
    if found.stamp is not None and wanted.stamp is not None:
        assert found.stamp.tolist() == wanted.stamp.tolist()
    for columns, others, reducer in zip(found.columns, wanted.columns, fold.reducers, strict=True):
        for column, other, field in zip(columns, others, reducer.fields, strict=True):
            assert isinstance(column, pa.Array) == isinstance(other, pa.Array)
            assert len(column) == len(other)
            if isinstance(column, np.ndarray):
                assert pa.from_numpy_dtype(column.dtype) == field.type
    for one, other in zip(fold.finish(found), fold.finish(wanted), strict=True):
        assert one.type == other.type
        assert same(one.to_pylist(), other.to_pylist(), tolerance=tolerance)


# ── every reducer ────────────────────────────────────────────────────────────────────────────────────────────────

USERS = [
    Case(Squares("v"), pa.int64(), st.integers(-9, 9), len),
    Case(Seen("v"), pa.string(), st.text("abc", max_size=2), len),
    Case(Order("v"), pa.string(), st.text("abc", max_size=2), len),
]


@FEW_EXAMPLES
@pytest.mark.slow
@pytest.mark.parametrize("case", [*INCREMENTAL, *USERS], ids=str)
@given(data=st.data())
def test_a_range_is_the_merge_of_its_rows(case: Case, data: st.DataObject) -> None:
    fold = fold_of((case.aggregate, case.kind), stamp=data.draw(st.sampled_from(FiringTime)))
    values = data.draw(st.lists(st.one_of(st.none(), case.values), min_size=1, max_size=ROWS))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))), np.int64)
    plain = case.kind.value_type if isinstance(case.kind, pa.DictionaryType) else case.kind
    partials = row_partials(fold, pa.array(values, plain).cast(case.kind), times=times)
    every_range_agrees(fold, partials, data.draw(st.booleans()), case.tolerance)


@FEW_EXAMPLES
@pytest.mark.slow
@pytest.mark.parametrize("case", [*ACCUMULATIONS, *OF_MESSAGES], ids=str)
@given(data=st.data())
def test_a_range_is_the_merge_of_its_rows_for_accumulations(case: Accumulation, data: st.DataObject) -> None:
    bound = bind(case.aggregate, case.kind)
    reducer = GatheredLists(bound, case.kind) if isinstance(bound, MessageReducer) else bound
    rows = data.draw(case.rows().filter(len))
    fold = Aggregation((reducer,), FiringTime.END)
    partials = row_partials(fold, case.array(rows), times=np.array([time for _, time, _ in rows], np.int64))
    every_range_agrees(fold, partials, data.draw(st.booleans()), case.tolerance)


def every_range_agrees(fold: Aggregation, partials: Partials, climbs_for_few: bool, tolerance: float) -> None:
    low, high = every_range(len(partials))
    with rerouted(row_by_row=1 << 30 if climbs_for_few else 1):
        found = ranges(fold, partials, low, high)
    agree(fold, found, plainly(fold, partials, low, high), tolerance)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-(2**40), 2**40)),
            st.one_of(st.none(), st.sampled_from([1.5, -0.0, 0.0, NAN, INF, -INF, 1e300, -7.25])),
        ),
        min_size=1,
        max_size=ROWS,
    ),
    st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS),
)
def test_partials_of_several_rows_and_several_aggregates_at_once(
    rows: list[tuple[int | None, float | None]], gaps: list[int]
) -> None:
    whole, floating = pa.int64(), pa.float64()
    fold = fold_of(
        (agg.count(), None),
        (agg.count("i"), whole),
        (agg.avg("i"), whole),
        (agg.sum("f"), floating),
        (agg.min("f"), floating),
        (agg.max("f"), floating),
        (agg.last("i"), whole),
        (agg.variance("i"), whole),
        stamp=FiringTime.LATEST,
    )
    codes = np.cumsum(gaps[: len(rows)])
    count = int(codes[-1]) + 1
    ints, floats = pa.array([row[0] for row in rows], whole), pa.array([row[1] for row in rows], floating)
    columns = [None, ints, ints, floats, floats, floats, ints, ints]
    partials = fold.partial(columns, np.arange(len(rows)) // 2, Groups(codes, count), None)
    low, high = every_range(count)
    agree(fold, ranges(fold, partials, low, high), plainly(fold, partials, low, high), 1e-9)


# ── where ranges lie ─────────────────────────────────────────────────────────────────────────────────────────────

MANY = fold_of(
    (agg.sum("v"), pa.int64()),
    (agg.sum("f"), pa.float64()),
    (agg.min("v"), pa.int64()),
    (agg.max("v"), pa.int64()),
    (agg.last("v"), pa.int64()),
)
MANY_COLUMNS = [pa.array([5, 3, 9, None], pa.float64() if place == 1 else pa.int64()) for place in range(5)]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 127, 1000, 4096, 4097, 70_000])
@pytest.mark.parametrize("chunk", [64, 1 << 16])
def test_a_trailing_window_of_any_length(length: int, chunk: int) -> None:
    """Window i ends at row i; sums of 0, 1, 2 … have a formula, and the greatest is the last of them.

    Nearly all windows are of one height, which is climbed to at once.
    """
    rows = 2 * length + 1000
    values = pa.array(np.arange(rows))
    high = np.arange(1, rows + 1)
    low = np.maximum(high - length, 0)
    partials = row_partials(MANY, values, values.cast(pa.float64()), values, values, values)
    with rerouted(range_chunk=chunk):
        found = ranges(MANY, partials, low, high)
    sums, floats, least, greatest, last = MANY.finish(found)
    assert sums.to_pylist() == floats.to_pylist() == ((high - low) * (low + high - 1) // 2).tolist()
    assert least.to_pylist() == low.tolist()
    assert greatest.to_pylist() == last.to_pylist() == (high - 1).tolist()


def test_many_rows_in_keys_of_many_lengths() -> None:
    """A hundred thousand rows; the windows of each key begin with its first row and grow with it to its own length."""
    random = np.random.default_rng(7)
    sizes = random.zipf(1.5, 2000).clip(max=5000)
    rows, ends = int(sizes.sum()), np.cumsum(sizes)
    key = np.repeat(np.arange(len(sizes)), sizes)
    high = np.arange(1, rows + 1)
    low = np.maximum(high - random.integers(1, 3000, len(sizes))[key], (ends - sizes)[key])
    fold = fold_of((agg.sum("v"), pa.int64()), (agg.sum("f"), pa.float64()), (agg.min("v"), pa.int64()))
    whole = random.integers(-1000, 1000, rows)
    values = pa.array(whole)
    partials = row_partials(fold, values, pa.array(whole / 4), values)
    sums, floats, least = fold.finish(ranges(fold, partials, low, high))
    running = np.concatenate([[0], np.cumsum(whole)])
    assert np.array_equal(sums, running[high] - running[low])
    # quarters of whole numbers add up exactly
    assert np.array_equal(floats, (running[high] - running[low]) / 4)
    for place in random.integers(0, rows, 300).tolist():
        assert least[place].as_py() == whole[low[place] : high[place]].min()


def test_a_small_window_loses_no_digits_to_a_large_neighbour() -> None:
    """Differences of running sums would give 0 after 1e18 has passed through them."""
    fold = fold_of((agg.sum("v"), pa.float64()))
    values = np.tile([1e18, 0.25, 0.5, 0.125], 100)
    low = np.arange(1, 400, 4)
    found = fold.finish(ranges(fold, row_partials(fold, pa.array(values)), low, low + 3))[0]
    assert found.to_pylist() == [0.875] * 100


def test_thin_partials_are_the_same_rows() -> None:
    """Counts of single records are kept once; what is taken, in parts and twice, is what the full ones give."""
    partials = row_partials(MANY, *MANY_COLUMNS)
    thin = partials.thin()
    assert thin.rows.strides == (0,)
    for places in (np.array([2, 2, 0]), np.zeros(0, np.int64), np.array([True, False, True, False])):
        agree(MANY, thin.take(places), partials.take(places))
    low, high = every_range(4)
    agree(MANY, ranges(MANY, thin, low, high), ranges(MANY, partials, low, high))


def test_no_ranges_and_no_rows() -> None:
    none = np.zeros(0, np.int64)
    partials = row_partials(MANY, *MANY_COLUMNS)
    assert len(ranges(MANY, partials, none, none)) == 0
    empty = ranges(MANY, partials.part(0, 0), np.array([0, 5]), np.array([0, 3]))
    agree(MANY, empty, MANY.identity(2))


def test_heights_are_bounded_by_the_longest_range() -> None:
    """Windows of nine rows that cross every boundary of a million rows climb to blocks of sixteen, not of a million."""
    first = np.arange(1_000_000 - 8)
    spans = Spans.of(first, first + 8, 1_000_000)
    assert [part.height for part in spans.parts] == [3, 4]
    assert sum(len(part.places) for part in spans.parts) == len(first)


# ── what leaves its type ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_whole_sum_is_outside_only_if_a_range_holds_it() -> None:
    """Each half of the largest number fits with its neighbour's opposite; two of one sign do not."""
    fold = fold_of((agg.sum("v"), pa.int64()))
    half = 2**62
    partials = row_partials(fold, pa.array([half, half, -half, -half, half - 1, 5]))
    low, high = np.array([0, 1, 2, 0, 1]), np.array([1, 3, 4, 5, 6])
    assert fold.finish(ranges(fold, partials, low, high))[0].to_pylist() == [
        half,
        0,
        -(2**63),
        half - 1,
        half - 1 - half + 5,
    ]
    found = ranges(fold, partials, np.append(low, 0), np.append(high, 2))
    assert fold.outside(found) == [{5: str(2**63)}]


def test_a_whole_sum_at_the_edge() -> None:
    fold = fold_of((agg.sum("v"), pa.int64()))
    partials = row_partials(fold, pa.array([GREATEST, 0, -1, -GREATEST]))
    found = ranges(fold, partials, np.array([0, 0, 2]), np.array([2, 4, 4]))
    assert fold.finish(found)[0].to_pylist() == [GREATEST, -1, -(2**63)]


def test_a_decimal_sum_is_outside_only_if_a_range_holds_it() -> None:
    """Rows nearly as large as 38 digits can say: blocks of two of them do not fit, and do no harm."""
    fold = fold_of((agg.sum("v"), pa.decimal128(38, 0)))
    great = Decimal(9 * 10**37)
    partials = row_partials(fold, pa.array([great, great, -great, -great] * 16, pa.decimal128(38, 0)))
    low = np.sort(np.concatenate([np.arange(0, 45)] * 40))
    found = ranges(fold, partials, low, low + 16)
    assert fold.finish(found)[0].to_pylist() == [0] * len(low)
    assert fold.outside(found) == [{}]
    beyond = ranges(fold, partials, np.append(low, 0), np.append(low + 16, 2))
    assert fold.outside(beyond) == [{len(low): str(18 * 10**37)}]
