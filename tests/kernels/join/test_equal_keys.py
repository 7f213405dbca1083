"""Keys that are equal as SQL compares them, whichever way they are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.kernels.join.equal_keys import equal_at

NAN = float("nan")


@pytest.mark.parametrize(
    ("these", "those", "expected"),
    [
        (["a", None, "b"], ["b", "c", None], [[False, False, False], [False, False, False], [True, False, False]]),
        ([1.5, NAN, None], [NAN, -0.0, None], [[False, False, False], [True, False, False], [False, False, False]]),
    ],
    ids=["text", "numbers"],
)
def test_null_equals_nothing_and_nan_itself(these: list[Any], those: list[Any], expected: list[list[bool]]) -> None:
    """Every pair, and one at a time, which is compared without numbering texts first."""
    left, right = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    one, other = pa.array(these), pa.array(those)
    assert equal_at(one, other, left, right).reshape(3, 3).tolist() == expected
    alone = [equal_at(one, other, left[at : at + 1], right[at : at + 1])[0] for at in range(9)]
    assert np.array(alone).reshape(3, 3).tolist() == expected
