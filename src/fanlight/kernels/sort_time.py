"""Sort rows by time; ties are ordered by other columns, then by arrival."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools, Ints, encode_in_order
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.sort_key_time import sort_by_key_time


def sort_by_time(times: Ints, ties: list[pa.Array]) -> Ints:
    """The order of rows by time, then by the columns `ties` (ascending, null last), then by place.

    >>> sort_by_time(np.array([5, 3, 5]), []).tolist()
    [1, 0, 2]
    >>> sort_by_time(np.array([5, 3, 5]), [pa.array(["b", "c", "a"])]).tolist()
    [1, 2, 0]
    """
    order = sort_by_key_time(np.zeros(len(times), np.int8), times).order
    if ties:
        _settle_ties(times, ties, order)
    return order


def check_tie(name: str, kind: pa.DataType, word: str = "sort") -> None:
    """Refuse a column for ties whose values have no order; `word` is what asked for it."""
    kind = plain_type(kind)
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind):
        raise InputError(
            f"{word}: column {name!r} is {kind}, whose values have no order; rows cannot be sorted by it. "
            "Name a column with numbers, text or times."
        )


def cut_at_times(ordered: Ints, rows: int) -> Ints:
    """Where to cut sorted times into pieces of about the same size, `rows` rows or somewhat more.

    Rows with the same time stay in one piece.

    >>> cut_at_times(np.array([1, 2, 2, 2, 3, 4, 5]), 2).tolist()
    [0, 1, 4, 7]
    """
    pieces = max(len(ordered) // rows, 1)
    places = np.arange(pieces) * len(ordered) // pieces
    first_of_time = np.searchsorted(ordered, ordered[places]) if len(ordered) else places[:0]
    return np.append(np.unique(first_of_time), len(ordered))


def _settle_ties(times: Ints, ties: list[pa.Array], order: Ints) -> None:
    """Sort rows with the same time by the columns `ties`. Only the values of these rows are read."""
    places = np.flatnonzero(_is_tied(times[order]))
    if not len(places):
        return
    rows = order[places]
    chosen = pa.array(rows)
    values = [column.take(chosen).cast(plain_type(column.type)) for column in ties]
    codes = encode_in_order(values, len(rows)).codes
    order[places] = rows[np.lexsort([codes, times[rows]])]


def _is_tied(ordered: Ints) -> Bools:
    """Which of sorted numbers have an equal neighbour."""
    is_same = np.zeros(len(ordered) + 1, np.bool_)
    np.equal(ordered[1:], ordered[:-1], out=is_same[1:-1])
    return is_same[1:] | is_same[:-1]
