"""Things on one row keep their distance, and no row is added while one has room."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from fanlight.viz.packing import packed

EXTENTS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])))


@given(EXTENTS, st.integers(0, 3))
def test_no_two_on_a_row_come_closer_than_the_gap(extents: list[tuple[int, int]], gap: int) -> None:
    placed = list(zip(packed(extents, gap=gap), extents, strict=True))
    for (row, (left, right)), (other_row, (other_left, other_right)) in combinations(placed, 2):
        assert row != other_row or right + gap <= other_left or other_right + gap <= left


@given(EXTENTS)
def test_nothing_is_lower_than_it_must_be(extents: list[tuple[int, int]]) -> None:
    rows = packed(extents, gap=0)
    for place, (left, right) in enumerate(extents):
        above = {row for row, (a, b) in zip(rows[:place], extents[:place], strict=True) if a < right and left < b}
        assert set(range(rows[place])) <= above
