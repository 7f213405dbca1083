"""Two stacks against the plain merge of every slice of every window."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.aggregates import Reducer, bind
from fanlight.kernels.aggregates.aggregation import Aggregation, Partials
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.routes import rerouted
from fanlight.kernels.slicing.two_stacks import SliceRows, Stacks, by_slice
from fanlight.model import aggregates as agg
from fanlight.model.firing import FiringTime


def reducer(aggregate: agg.Aggregate, kind: pa.DataType | None) -> Reducer:
    bound = bind(aggregate, kind)
    assert isinstance(bound, Reducer)
    return bound


FOLD = Aggregation(
    (
        reducer(agg.count(), None),
        reducer(agg.sum("v"), pa.int64()),
        reducer(agg.max("v"), pa.int64()),
        reducer(agg.min("s"), pa.string()),
        reducer(agg.last("v"), pa.int64()),
    ),
    FiringTime.EARLIEST,
)
CODES = 5

rows = st.lists(st.tuples(st.integers(0, 11), st.integers(0, CODES - 1), st.integers(-9, 9)), max_size=30)


def folded(part: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, Partials]:
    """Rows of (slice, code, value) as partials, one a (slice, code), ordered."""
    slices = np.array([row[0] for row in part], np.int64)
    codes = np.array([row[1] for row in part], np.int64)
    values = pa.array([row[2] for row in part], pa.int64())
    texts = pa.array([str(row[2]) for row in part], pa.string())
    pairs = np.unique(slices * CODES + codes)
    groups = Groups(np.searchsorted(pairs, slices * CODES + codes), len(pairs))
    partials = FOLD.partial([None, values, values, texts, values], slices * 10 + codes, groups, None)
    return pairs // CODES, pairs % CODES, partials


def plain(part: list[tuple[int, int, int]], first: int, last: int) -> dict[int, list[object]]:
    """The values of each code over the slices first..last, folded from scratch."""
    _, codes, partials = folded([row for row in part if first <= row[0] <= last])
    merged = FOLD.merge(partials, Groups(codes, CODES))
    return shown(merged)


def shown(dense: Partials) -> dict[int, list[object]]:
    values = [column.to_pylist() for column in FOLD.finish(dense)]
    stamps = dense.stamp.tolist() if dense.stamp is not None else []
    return {code: [stamps[code], *(column[code] for column in values)] for code in np.flatnonzero(dense.rows).tolist()}


@given(rows, st.integers(1, 6), st.integers(1, 3))
def test_every_window_is_the_merge_of_its_slices(part: list[tuple[int, int, int]], width: int, stride: int) -> None:
    stacks = Stacks(FOLD, CODES)
    stacks.load(by_slice(*folded(part)))
    for first in range(-width, 13, stride):
        served = stacks.serve(first, first + width - 1)
        assert shown(served) == plain(part, first, first + width - 1)


@given(rows, rows, st.integers(1, 6))
def test_late_rows_are_patched_into_slices_that_were_served(
    part: list[tuple[int, int, int]], late: list[tuple[int, int, int]], width: int
) -> None:
    """After each window one more late row comes, to a slice that the next windows still hold."""
    stacks = Stacks(FOLD, CODES)
    stacks.load(by_slice(*folded(part)))
    everything, waiting = list(part), list(late)
    for first in range(13):
        last = first + width - 1
        assert shown(stacks.serve(first, last)) == plain(everything, first, last)
        if waiting:
            slice_, code, value = waiting.pop()
            row = (first + slice_ % width, code, value)
            everything.append(row)
            for owner, rows in by_slice(*folded([row])).items():
                stacks.patch(owner, rows)


@given(rows, rows, st.integers(1, 5))
def test_windows_that_start_together_are_the_merge_of_their_slices(
    part: list[tuple[int, int, int]], late: list[tuple[int, int, int]], steps: int
) -> None:
    """They grow slice by slice and start anew after `steps`; after each of them one more late row comes."""
    stacks = Stacks(FOLD, CODES, slides=False)
    stacks.load(by_slice(*folded(part)))
    everything, waiting = list(part), list(late)
    for last in range(13):
        first = last // steps * steps
        assert shown(stacks.serve(first, last)) == plain(everything, first, last)
        if waiting:
            slice_, code, value = waiting.pop()
            row = (first + slice_ % (last - first + 1), code, value)
            everything.append(row)
            for owner, rows in by_slice(*folded([row])).items():
                stacks.patch(owner, rows)


@given(rows, rows, st.integers(1, 4))
def test_without_room_for_a_front_the_values_are_the_same(
    part: list[tuple[int, int, int]], late: list[tuple[int, int, int]], width: int
) -> None:
    with rerouted(front_bytes=-1):
        test_every_window_is_the_merge_of_its_slices.hypothesis.inner_test(part, width, 1)
        test_late_rows_are_patched_into_slices_that_were_served.hypothesis.inner_test(part, late, width)
        test_windows_that_start_together_are_the_merge_of_their_slices.hypothesis.inner_test(part, late, width)


def test_codes_may_grow_and_be_numbered_anew() -> None:
    """Slice 0 knows codes 0 and 1; slice 1 brings code 2; then only 1 and 2 are still in use and become 0 and 1."""
    stacks = Stacks(FOLD, 2)
    stacks.load(by_slice(*folded([(0, 0, 5), (0, 1, 6)])))
    stacks.serve(0, 1)
    stacks.count = 3
    stacks.load({2: SliceRows(np.array([1, 2]), folded([(2, 1, 7), (2, 2, 8)])[2])})
    assert {code: values[2] for code, values in shown(stacks.serve(1, 2)).items()} == {1: 7, 2: 8}
    stacks.renumber(np.array([1, 2]), 2)
    assert {code: values[2] for code, values in shown(stacks.serve(2, 3)).items()} == {0: 7, 1: 8}
