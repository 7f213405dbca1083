"""A column scanned in blocks: each row merged with those before it in its block, and with those after it."""

from __future__ import annotations

import numpy as np
import pytest

from fanlight.kernels.range_merge.scans import Scans


def test_the_picture_of_the_module() -> None:
    """Eight rows in blocks of four, as bits: suffix(b) and prefix(f) together are the range from b to f."""
    rows = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    scans = Scans(rows, np.bitwise_or, 2)
    scans.climb(2)
    assert scans.prefix.tolist() == [1, 3, 7, 15, 16, 48, 112, 240]
    assert scans.suffix.tolist() == [15, 14, 12, 8, 240, 224, 192, 128]
    assert scans.suffix[1] | scans.prefix[5] == 2 | 4 | 8 | 16 | 32


@pytest.mark.parametrize("heights", [[7], [1, 2, 3, 4, 5, 6, 7], [3, 7], [6, 7]], ids=str)
def test_however_it_climbs_a_block_is_scanned_as_a_whole(heights: list[int]) -> None:
    """Two hundred rows in blocks of 128; up to 32 they are joined place by place, then block by block."""
    rows = np.random.default_rng(7).integers(-99, 99, 200)
    scans = Scans(rows, np.add, 7)
    for height in heights:
        scans.climb(height)
    block = rows[:128]
    assert scans.prefix[:128].tolist() == np.cumsum(block).tolist()
    assert scans.suffix[:128].tolist() == np.cumsum(block[::-1])[::-1].tolist()
    assert scans.prefix[128:200].tolist() == np.cumsum(rows[128:]).tolist()


def test_to_climb_where_one_is_changes_nothing() -> None:
    scans = Scans(np.arange(8), np.maximum, 3)
    scans.climb(2)
    before = scans.prefix.copy()
    scans.climb(2)
    scans.climb(1)
    assert scans.prefix.tolist() == before.tolist()
