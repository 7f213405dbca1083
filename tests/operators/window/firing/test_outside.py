"""Values outside their types keep to their rows, however these are taken, cut and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanlight.operators.window.firing.outside import Outside

Words = list[str | None]
"""The exact words of each row's first aggregate; None where its type holds the value."""
words = st.lists(st.none() | st.sampled_from(["2e400", "-2e400", "9" * 20]), max_size=6)


def outside(rows: Words) -> Outside:
    return Outside(len(rows), {row: {0: exact} for row, exact in enumerate(rows) if exact is not None})


def told(found: Outside) -> Words:
    return [found.exact[row][0] if row in found.exact else None for row in range(found.count)]


@given(words, st.data())
def test_rows_are_taken_with_their_words(rows: Words, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    assert told(outside(rows).take(np.array(places, np.int64))) == [rows[place] for place in places]


@given(words, st.data())
def test_a_part_has_the_words_of_its_rows(rows: Words, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    end = data.draw(st.integers(start, len(rows)))
    assert told(outside(rows).part(start, end)) == rows[start:end]


@given(st.lists(words, min_size=1))
def test_rows_stand_one_after_the_other(parts: list[Words]) -> None:
    assert told(Outside.concat([outside(part) for part in parts])) == [word for part in parts for word in part]


@given(words)
def test_a_row_fits_if_nothing_is_told_of_it(rows: Words) -> None:
    found = outside(rows)
    assert found.fits.tolist() == [exact is None for exact in rows]
    assert found.rows.tolist() == np.flatnonzero(~found.fits).tolist()
    assert bool(found) is any(exact is not None for exact in rows)
