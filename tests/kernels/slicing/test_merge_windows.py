"""Windows merged from the rows of their slices, by either way, against a dict of windows and keys."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.aggregates import Reducer, bind
from fanlight.kernels.aggregates.aggregation import Aggregation, SlicedPartials
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.slicing.merge_windows import in_any, is_sparse, merge_windows
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.kernels.slicing.slicing import Slicing, covered
from fanlight.model.firing import FiringTime
from fanlight.model.semantics import Semantics
from fanlight.model.time.duration import Duration
from fanlight.model.windows.kind import WindowKind

COUNT = bind(fl.count(), None)
assert isinstance(COUNT, Reducer)
FOLD = Aggregation((COUNT,), FiringTime.END)
KINDS = {
    "hopping": fl.hopping(Duration(12), every=Duration(3)),
    "hopping with a rest": fl.hopping(Duration(11), every=Duration(4)),
    "cumulating": fl.cumulating(Duration(12), step=Duration(3)),
    "tumbling": fl.tumbling(Duration(5)),
}
Row = tuple[int, str | None]
"""The time of a record and its key."""

records = st.lists(st.tuples(st.integers(-30, 60), st.sampled_from(["a", "b", None])), max_size=30)


def rows_of(slicing: Slicing, found: list[Row]) -> SlicedPartials:
    """Each record a row of its slice, ordered by slice."""
    slices = slicing.slices(np.array([time for time, _ in found], np.int64))
    order = np.argsort(slices, kind="stable")
    keys = pa.array([key for _, key in found], pa.string())
    partials = FOLD.partial([None], slices, Groups.alone(len(found)), None)
    return SlicedPartials(slices[order], [keys.take(pa.array(order))], partials)


def by_hand(slicing: Slicing, found: list[Row], windows: list[int]) -> dict[tuple[int, str | None], int]:
    starts, ends = slicing.bounds(np.array(windows, np.int64))
    held: Counter[tuple[int, str | None]] = Counter()
    for window, start, end in zip(windows, starts.tolist(), ends.tolist(), strict=True):
        held.update((window, key) for time, key in found if start <= time < end)
    return dict(held)


def merged(slicing: Slicing, rows: SlicedPartials, windows: list[int]) -> dict[tuple[int, str | None], int]:
    owners, keys, partials = merge_windows(slicing, FOLD, np.array(windows, np.int64), rows)
    panes = list(zip(owners.tolist(), keys[0].to_pylist(), strict=True))
    assert panes == sorted(panes, key=lambda pane: (pane[0], pane[1] is None, pane[1] or ""))  # null last
    return dict(zip(panes, partials.rows.tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@given(found=records, wanted=st.sets(st.integers(-15, 30), min_size=1, max_size=12))
def test_a_window_holds_the_records_between_its_bounds(kind: WindowKind, found: list[Row], wanted: set[int]) -> None:
    slicing, windows = slicing_of(kind, Semantics()), sorted(wanted)
    assert merged(slicing, rows_of(slicing, found), windows) == by_hand(slicing, found, windows)


@pytest.mark.parametrize("kind", [KINDS["hopping"], KINDS["cumulating"]], ids=["hopping", "cumulating"])
def test_many_rows_in_few_windows_are_merged_over_stacks(kind: WindowKind) -> None:
    """80,000 records, each in one or two of the windows asked for: more pairs than are written out for 16 windows."""
    slicing, windows = slicing_of(kind, Semantics()), list(range(0, 32, 2))
    found: list[Row] = [(time % 100, "ab"[time % 2]) for time in range(80_000)]
    found.append((50, "only here"))
    rows = rows_of(slicing, found)
    assert not is_sparse(slicing, np.array(windows), rows.slices)
    assert merged(slicing, rows, windows) == by_hand(slicing, found, windows)


def test_few_rows_in_many_windows_are_written_out() -> None:
    slicing = slicing_of(fl.hopping("1 hour", every="90 ms"), Semantics())
    slices = slicing.slices(np.array([0]))
    assert is_sparse(slicing, covered(*slicing.windows(slices)), slices)


def test_slices_of_windows_that_nobody_asks_for_are_left_out() -> None:
    """Slice s belongs to the windows s - 3 to s: of windows 0 and 10 the slices are 0 to 3 and 10 to 13."""
    slicing = slicing_of(KINDS["hopping"], Semantics())
    slices = np.arange(-2, 16)
    assert slices[in_any(slicing, np.array([0, 10]), slices)].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9))))
def test_what_ranges_cover_is_what_lies_in_one_of_them(ranges: list[tuple[int, int]]) -> None:
    first, last = (np.array([one[side] for one in ranges], np.int64) for side in (0, 1))
    assert covered(first, last).tolist() == sorted({n for low, high in ranges for n in range(low, high + 1)})
