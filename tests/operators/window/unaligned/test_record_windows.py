"""Records paired with the windows they are in: (record, window) pairs joined with the panes that are there already."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import fanlight as fl
from fanlight.operators.window.unaligned.record_windows import Paired, among, without_pairs

from .test_end_buckets import Kept


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


PAIRS = Paired(rows=ints(0, 0, 2), starts=ints(10, 20, 10), ends=ints(20, 30, 20))
"""Record 0 is in [10, 20) and [20, 30), record 2 in [10, 20), record 1 in none."""


def test_pairs_that_are_kept() -> None:
    kept = PAIRS.where(np.array([False, True, True]))
    assert (kept.rows.tolist(), kept.starts.tolist(), kept.ends.tolist()) == ([0, 2], [20, 10], [30, 20])


def test_records_without_a_pair() -> None:
    assert without_pairs(PAIRS.rows, 4).tolist() == [False, True, False, True]


def test_when_records_are_left_out_the_others_are_numbered_anew() -> None:
    """Record 1 goes, so record 2 is record 1."""
    assert PAIRS.over(np.array([True, False, True])).rows.tolist() == [0, 0, 1]


def test_rows_that_are_also_among_others() -> None:
    """(1, 20, 10) is there; (1, 20, 11) and (2, 20, 10) differ in one number each."""
    rows = ints(1, 1, 2), ints(20, 20, 20), ints(10, 11, 10)
    assert among(rows, (ints(7, 1), ints(8, 20), ints(9, 10))).tolist() == [True, False, False]
    assert among(rows, (ints(), ints(), ints())).tolist() == [False, False, False]


def test_pairs_and_live_panes_of_one_key_and_window_are_one_pane() -> None:
    """Live: a in [10, 20) and a in [15, 20), which is another window. Records 0 and 2 are of a (code 0) and b (code 1).

    There are four panes: two of a's pairs, the first of which is live, one of b's, and the live one nothing came to.
    """
    kept = Kept(trigger=fl.after(1))
    live = kept.evaluator.shape.fresh(ints(20, 20), [pa.array(["a", "a"])])
    live.state["start"] = ints(10, 15)
    found = PAIRS.gathered(ints(0, 9, 1), live, ours=ints(0, 0))
    panes = list(zip(found.codes.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True))
    assert sorted(panes) == [(0, 10, 20), (0, 15, 20), (0, 20, 30), (1, 10, 20)]
    assert [panes[owner] for owner in found.owners.tolist()] == [(0, 10, 20), (0, 15, 20)]
    assert [panes[owner] for owner in found.came.tolist()] == [(0, 10, 20), (0, 20, 30), (1, 10, 20)]
