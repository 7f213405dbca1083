"""Putting things that lie side by side on as few rows as they need, so that none covers another."""

from __future__ import annotations

from collections.abc import Iterable


def packed(extents: Iterable[tuple[float, float]], gap: float) -> list[int]:
    """The row of each extent `(left, right)`: the first, from the top, on which it keeps `gap` from what is there.

        [--0--)   [--0--)
            [--1--)

    >>> packed([(0, 10), (5, 15), (11, 20)], gap=1)
    [0, 1, 0]
    """
    rows: list[list[tuple[float, float]]] = []
    places = []
    for left, right in extents:
        row = next((at for at, taken in enumerate(rows) if _is_free(taken, left - gap, right + gap)), len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append((left, right))
        places.append(row)
    return places


def _is_free(taken: list[tuple[float, float]], left: float, right: float) -> bool:
    return all(right <= other_left or other_right <= left for other_left, other_right in taken)
