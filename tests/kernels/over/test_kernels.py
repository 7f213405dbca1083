"""Stretches, frames and the rows that functions take, each beside the same looked up row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.over.frames import frame_rows
from fanlight.kernels.over.peers import order_within_times, ordered_ranks
from fanlight.kernels.over.row_at import (
    NOWHERE,
    ValuedRows,
    last_row,
    nth_row,
    row_after,
    row_before,
    taken_from,
)
from fanlight.kernels.over.stretches import EarlierRows, Stretches
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.time.duration import Duration

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.none() | st.integers(0, 3)), min_size=1, max_size=12
)


def laid(rows: list[tuple[int, int, int | None]], forget: int | None = 4) -> tuple[Stretches, pa.Array]:
    """Rows side by side, and their values."""
    rows = sorted(rows, key=lambda row: row[1])
    codes, times = (np.array(side, np.int64) for side in ([row[0] for row in rows], [row[1] for row in rows]))
    found = Stretches.of(codes, times, forget)
    return found, pa.array([row[2] for row in rows], pa.int64()).take(pa.array(found.order))


class TestStretches:
    @given(ROWS)
    def test_a_gap_longer_than_forgetting_starts_a_new_one(self, rows: list[tuple[int, int, int | None]]) -> None:
        found, _ = laid(rows)
        for place in range(1, len(found)):
            near = found.times[place] - found.times[place - 1] <= 4
            together = bool(found.codes[place] == found.codes[place - 1] and near)
            assert (found.numbers[place] == found.numbers[place - 1]) == together
        for place in range(len(found)):
            own = np.flatnonzero(found.numbers == found.numbers[place])
            assert (found.starts[place], found.ends[place]) == (own[0], own[-1] + 1)

    def test_earlier_rows_are_of_one_stretch_and_their_key_says_whether_it_goes_on(self) -> None:
        codes, times = np.array([0, 0, 1, 0, 1]), np.array([1, 20, 5, 21, 6])
        earlier = EarlierRows(3, np.array([True, False]))
        found = Stretches.of(codes, times, 4, earlier)
        assert found.codes.tolist() == [0, 0, 0, 1, 1]
        assert found.numbers.tolist() == [0, 0, 0, 1, 2]

    def test_there_may_be_no_rows(self) -> None:
        nothing = np.zeros(0, np.int64)
        assert len(Stretches.of(nothing, nothing, 4)) == 0


@pytest.mark.parametrize(
    "frame",
    [
        RowFrame(preceding=2),
        RowFrame(preceding=1, following=2),
        RowFrame(preceding=None),
        RangeFrame(preceding=Duration(3)),
        RangeFrame(preceding=Duration(2), following=Duration(3)),
        RangeFrame(preceding=Duration.FOREVER),
        RowFrame(preceding=3, following=-1),
        RowFrame(preceding=-1, following=2),
        RowFrame(preceding=1, following=-2),
        RowFrame(preceding=None, following=None),
        RangeFrame(preceding=Duration(4), following=Duration(-1)),
        RangeFrame(preceding=Duration(-2), following=Duration(4)),
        RangeFrame(preceding=Duration(-2), following=Duration(1)),
        RangeFrame(preceding=Duration(1), following=Duration.FOREVER),
        SessionFrame(gap=Duration(2)),
    ],
    ids=str,
)
@given(ROWS)
def test_frames_have_the_rows_that_the_law_says(frame: Frame, rows: list[tuple[int, int, int | None]]) -> None:
    found, _ = laid(rows)
    low, high = frame_rows(frame, found, np.arange(len(found)))
    for place in range(len(found)):
        own = [row for row in range(len(found)) if found.numbers[row] == found.numbers[place]]
        if isinstance(frame, RowFrame):
            before = len(own) if frame.preceding is None else frame.preceding
            after = len(found) if frame.following is None else frame.following
            wanted = [row for row in own if place - before <= row <= place + after]
        elif isinstance(frame, RangeFrame):
            since = found.times[place] - (100 if frame.is_unbounded else frame.preceding.micros)
            until = found.times[place] + (100 if frame.is_endless else frame.following.micros)
            wanted = [row for row in own if since <= found.times[row] <= until]
        else:
            assert isinstance(frame, SessionFrame)
            breaks = [row for row in own[1:] if found.times[row] - found.times[row - 1] >= frame.gap.micros]
            wanted = [row for row in own if not any(min(row, place) < at <= max(row, place) for at in breaks)]
        assert list(range(low[place], high[place])) == wanted


@given(ROWS, st.integers(0, 3), st.booleans(), st.booleans())
def test_functions_take_the_rows_that_the_law_says(
    rows: list[tuple[int, int, int | None]], n: int, ignore_nulls: bool, excluded: bool
) -> None:
    found, values = laid(rows)
    at = np.arange(len(found))
    valued = ValuedRows.of(values, ignore_nulls=ignore_nulls)
    low, high = frame_rows(RowFrame(preceding=2, following=2), found, at)
    left_out = np.full(len(found), excluded)
    told = values.to_pylist()
    before, after = row_before(at, n, found.starts, valued), row_after(at, n, found.ends, valued)
    nth = nth_row(n + 1, at, low, high, excluded=left_out, valued=valued)
    last = last_row(at, low, high, excluded=left_out, valued=valued)
    for place in range(len(found)):
        counted = [row for row in at if not ignore_nulls or told[row] is not None]
        stretch = [row for row in counted if found.numbers[row] == found.numbers[place]]
        frame = [row for row in counted if low[place] <= row < high[place] and not (excluded and row == place)]
        earlier, later = [row for row in stretch if row < place], [row for row in stretch if row > place]
        assert before[place] == (place if not n else earlier[-n] if len(earlier) >= n else NOWHERE)
        assert after[place] == (place if not n else later[n - 1] if len(later) >= n else NOWHERE)
        assert nth[place] == (frame[n] if len(frame) > n else NOWHERE)
        assert last[place] == (frame[-1] if frame else NOWHERE)


def test_a_row_that_is_not_there_gives_null() -> None:
    assert taken_from(pa.array([7, 8]), np.array([1, NOWHERE, 0])).to_pylist() == [8, None, 7]


class TestOrder:
    @pytest.mark.parametrize(("descending", "expected"), [(False, [0, 2, 3, 1]), (True, [3, 2, 0, 1])])
    def test_null_is_last_either_way_and_nan_is_the_greatest(self, descending: bool, expected: list[int]) -> None:
        values = pa.array([2.0, None, 5.0, float("nan")])
        assert np.argsort(ordered_ranks(values, descending=descending)).tolist() == expected

    def test_rows_of_one_time_are_put_in_order_and_others_stay(self) -> None:
        order = order_within_times(np.array([1, 1, 2, 2]), [np.array([5, 3, 1, 1])])
        assert order is not None
        assert order.tolist() == [1, 0, 2, 3]
        assert order_within_times(np.array([1, 2, 3]), [np.array([3, 2, 1])]) is None
