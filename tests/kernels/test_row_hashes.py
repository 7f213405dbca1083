"""Hashes of rows: equal rows have equal ones, and nearly all others differ."""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.row_hashes import row_hashes


def test_equal_rows_have_equal_hashes() -> None:
    """Zero has no sign, NaN equals NaN, null equals null."""
    numbers = pa.array([0.0, -0.0, float("nan"), -float("nan"), None, None])
    texts = pa.array(["a", "a", None, None, "", ""])
    found = row_hashes([numbers, texts], 6)
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[4] == found[5]
    assert len(set(found.tolist())) == 3


def test_which_column_a_value_stands_in_counts() -> None:
    one, other = pa.array([1, 2]), pa.array([2, 1])
    assert len(set(row_hashes([one, other], 2).tolist())) == 2


def test_hashes_are_the_same_on_every_machine() -> None:
    """State is looked up by them, wherever it is read: this one was written down when there were none before."""
    assert row_hashes([pa.array([7]), pa.array(["seven"])], 1).tolist() == [14111194922919527055]
