"""Whole numbers in two words, against Python's own, which know no bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fanlight.kernels.aggregates import int128 as words
from fanlight.kernels.grouping.groups import Groups

EDGES = [0, 1, 2**31, 2**32, 2**53, 2**54 + 1, 2**55 + 3, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = st.one_of(
    st.sampled_from([sign * edge for edge in EDGES for sign in (1, -1)]), st.integers(-(2**100), 2**100)
)
COUNTS = st.one_of(st.integers(1, 9), st.integers(1, 2**31 - 1), st.integers(2**31, 2**40))


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 3)), max_size=20))
def test_sums_are_exact(rows: list[tuple[int, int]]) -> None:
    low, high = words.parted([number for number, _ in rows])
    groups = Groups(np.array([group for _, group in rows], np.int64), 4)
    found = words.exact(*words.summed(low, high, groups, len(rows)))
    assert found == [sum(number for number, own in rows if own == group) for group in range(4)]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20))
def test_pairs_are_added_exactly(pairs: list[tuple[int, int]]) -> None:
    left, right = words.parted([one for one, _ in pairs]), words.parted([other for _, other in pairs])
    assert words.exact(*words.paired_sums(*left, *right)) == [one + other for one, other in pairs]


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(-(2**63), 2**64 - 1), COUNTS, st.integers(0, 2**40)), min_size=1, max_size=8))
def test_a_mean_is_the_float_nearest_to_the_true_one(parts: list[tuple[int, int, int]]) -> None:
    """Sums of values from -2**63 up to 2**64, as int64 and uint64 have them; Python rounds fractions once."""
    sums = [mean * count + rest % count if mean < 2**64 - 1 else mean * count for mean, count, rest in parts]
    counts = [count for _, count, _ in parts]
    low, high = words.parted(sums)
    floor, top, rest = words.quotients(low, high, np.array(counts))
    assert list(zip(words.exact(floor, top), rest.tolist(), strict=True)) == list(map(divmod, sums, counts))
    found = words.float_quotients(low, high, np.array(counts)).tolist()
    assert found == [float(Fraction(one, count)) for one, count in zip(sums, counts, strict=True)]
