"""Sort rows by key and time.

Key, time and place of a row are packed into one 64-bit number, and the numbers are sorted: NumPy sorts plain numbers
several times faster than it orders by two columns. Where they do not fit, the last digits of the times are left out,
and the few rows that are equal without these digits are sorted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import encode_in_order
from fanlight.kernels.routes import ROUTES
from fanlight.kernels.search_key_time import in_line, searched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Bools, Codes, Ints

_BITS = 64
_SIGN = np.uint64(1 << 63)
"""Turns the order of signed numbers into that of unsigned ones."""
_PIECE = 1 << 14
_MANY = 8
"""Codes are numbered first where there are this many times as many rows as are looked at to see whether it pays."""


class RowOrder(NamedTuple):
    """Rows sorted by key and time, stably: `order` gives the original place of each."""

    order: Ints
    codes: Ints
    times: Ints


def sort_by_key_time(codes: Codes, times: Ints, kept: Bools | None = None) -> RowOrder:
    """Sort rows by key code and time; with `kept`, only the rows it marks. Places count all rows.

    >>> [part.tolist() for part in sort_by_key_time(np.array([1, 0, 1]), np.array([5, 9, 3]))]
    [[1, 2, 0], [0, 1, 1], [9, 3, 5]]
    """
    if not len(codes):
        return RowOrder(*(np.zeros(0, np.int64) for _ in range(3)))
    least, greatest = int(codes.min()), int(codes.max())
    earliest, latest = int(times.min()), int(times.max())
    keys, span, rows = greatest - least + 1, latest - earliest + 1, len(codes)
    bits = (rows - 1).bit_length()
    room = (1 << _BITS - bits) // keys
    if not room:
        order = _by_wide_codes(codes, times, bits)
        order = order if kept is None else order[kept[order]]
        return RowOrder(order, codes[order].astype(np.int64), times[order])
    left_out = 0
    while (span - 1 >> left_out) >= room:
        left_out += 1
    span = (span - 1 >> left_out) + 1
    packed = np.empty(rows, np.uint64)
    for piece in pieces(rows):
        number = np.subtract(codes[piece], least, dtype=np.int64).view(np.uint64)
        number *= np.uint64(span)
        since = (times[piece] - earliest).view(np.uint64)  # int64 cannot hold every difference of two of its numbers
        if left_out:
            since >>= np.uint64(left_out)
        number += since
        number <<= np.uint64(bits)
        np.bitwise_or(number, np.arange(piece.start, piece.stop, dtype=np.uint64), out=packed[piece])
    packed = packed if kept is None else packed[kept]
    packed.sort()
    order, sorted_codes, sorted_times = (np.empty(len(packed), np.int64) for _ in range(3))
    for piece in pieces(len(packed)):
        np.bitwise_and(packed[piece], np.uint64((1 << bits) - 1), out=order[piece].view(np.uint64))
        packed[piece] >>= np.uint64(bits)
        own = packed[piece] // np.uint64(span)
        np.add(own.view(np.int64), least, out=sorted_codes[piece])
        if not left_out:
            own *= np.uint64(span)
            np.subtract(packed[piece], own, out=own)
            np.add(own.view(np.int64), earliest, out=sorted_times[piece])
    if left_out:
        _order_ties(packed, times, order)
        sorted_times = times[order]
    return RowOrder(order, sorted_codes, sorted_times)


def sort_by_key(codes: Codes) -> tuple[Ints, Ints]:
    """The stable order of rows by key code, and the codes in that order.

    >>> [part.tolist() for part in sort_by_key(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1, 1]]
    """
    if not len(codes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    least, bits = int(codes.min()), (len(codes) - 1).bit_length()
    if int(codes.max()) - least >= 1 << _BITS - bits:
        order = np.argsort(codes, kind="stable")
        return order, codes[order].astype(np.int64, copy=False)
    packed = np.subtract(codes, least, dtype=np.int64).view(np.uint64)
    packed <<= np.uint64(bits)
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    packed >>= np.uint64(bits)
    return order, np.add(packed.view(np.int64), least)


def _by_wide_codes(codes: Codes, times: Ints, bits: int) -> Ints:
    """The order by code and time where codes fill 64 bits, as hashes do.

    Codes that repeat are numbered first. Others are sorted by their first digits, and then numbered: few codes have
    the same first digits; if two have, rows are ordered by both columns.
    """
    if _repeat(codes):
        numbers = encode_in_order([pa.array(codes)], len(codes)).codes
        return sort_by_key_time(numbers, times).order
    mixed = codes.astype(np.int64, copy=False).view(np.uint64) ^ _SIGN
    packed = mixed >> np.uint64(bits) << np.uint64(bits)
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    found = codes[order]
    differs = found[1:] != found[:-1]
    packed >>= np.uint64(bits)
    if (differs & (packed[1:] == packed[:-1])).any():
        return np.lexsort([times, codes])
    numbers = np.zeros(len(codes), np.int64)
    np.cumsum(differs, out=numbers[1:])
    return order[sort_by_key_time(numbers, times[order]).order]


def _repeat(codes: Codes) -> bool:
    """Whether many rows have the same code, by the first of them."""
    some = ROUTES.get().first_codes
    return len(codes) >= _MANY * some and 2 * pc.count_distinct(pa.array(codes[:some])).as_py() <= some


def pieces(count: int) -> Iterator[slice]:
    """Cut rows into pieces that stay in the cache while they are packed."""
    for start in range(0, count, _PIECE):
        yield slice(start, min(start + _PIECE, count))


def _order_ties(packed: NDArray[np.uint64], times: Ints, order: Ints) -> None:
    """Sort rows with the same packed number by time, then by place."""
    is_tied = np.zeros(len(packed), np.bool_)
    np.equal(packed[1:], packed[:-1], out=is_tied[1:])
    is_tied[:-1] |= is_tied[1:]
    tied = np.flatnonzero(is_tied)
    rows = order[tied]
    order[tied] = rows[np.lexsort([rows, times[rows], packed[tied]])]


def parts_of_keys(codes: Ints) -> Iterator[slice]:
    """Cut sorted rows into parts of whole keys, small enough that the work on a part stays in the cache."""
    start, size = 0, ROUTES.get().keys_part
    while start < len(codes):
        end = start + size
        if end < len(codes):
            before = int(np.searchsorted(codes, codes[end]))
            end = before if before > start else int(np.searchsorted(codes, codes[end], side="right"))
        yield slice(start, min(end, len(codes)))
        start = end


def merge_sorted(codes: Ints, times: Ints, other_codes: Ints, other_times: Ints) -> Ints:
    """Merge two sorted sets of rows: their order, in which the others are numbered after these; ties put these first.

    >>> zeros = np.zeros(2, np.int64)
    >>> merge_sorted(zeros, np.array([1, 4]), zeros, np.array([1, 3])).tolist()
    [0, 2, 3, 1]
    """
    count, others = len(codes), len(other_codes)
    lines = in_line((codes, times), (other_codes, other_times))
    if lines is None:
        return np.lexsort([np.concatenate([times, other_times]), np.concatenate([codes, other_codes])])
    these, those = lines
    order = np.empty(count + others, np.int64)
    is_free = np.ones(count + others, np.bool_)
    # Search the smaller set in the larger one.
    if count <= others:
        places = np.arange(count) + searched(those, these)
        order[places] = np.arange(count)
        is_free[places] = False
        order[is_free] = np.arange(count, count + others)
    else:
        places = np.arange(others) + searched(these, those, after_equal=True)
        order[places] = np.arange(count, count + others)
        is_free[places] = False
        order[is_free] = np.arange(count)
    return order
