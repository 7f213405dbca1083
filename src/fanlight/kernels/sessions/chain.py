"""A fast first step of clustering: chains of overlapping intervals, key by key.

    intervals    [----)    [--)
                    [----)       [-)
    chains       [-------) [--)  [-)

Intervals are compared only with their neighbours, nearly in the order of their starts. So a cluster may come out as
several chains, but a chain never holds intervals of two clusters. Clustering the chains gives the clusters of the
intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fanlight.kernels.grouping.groups import Codes, Groups, Ints
from fanlight.kernels.sessions.cluster import Clusters, cluster
from fanlight.kernels.sort_key_time import pieces

_BITS = 64


def chain(codes: Codes, starts: Ints, ends: Ints, *, touching: bool) -> Clusters:
    """Join neighbouring intervals of one key that overlap, nearly in the order of their starts.

    With `touching`, intervals that only meet are joined too.

    >>> found = chain(np.array([0, 0, 0]), np.array([5, 0, 9]), np.array([8, 6, 12]), touching=False)
    >>> found.starts.tolist(), found.ends.tolist(), found.groups.codes.tolist()
    ([0, 9], [8, 12], [0, 0, 1])
    """
    rows = _sorted(codes, starts)
    if rows is None:
        return cluster(codes.astype(np.int64), starts, ends, touching=touching)
    start, end = starts[rows.order], ends[rows.order]
    first = np.ones(len(rows.order), np.bool_)
    is_after = np.greater if touching else np.greater_equal
    first[1:] = is_after(start[1:], end[:-1])
    first[1:] |= is_after(start[:-1], end[1:])
    first[1:] |= rows.keys[1:] != rows.keys[:-1]
    heads = np.flatnonzero(first)
    owner = np.empty(len(first), np.int64)
    owner[rows.order] = np.repeat(np.arange(len(heads)), np.diff(heads, append=len(first)))
    return Clusters(
        Groups(owner, len(heads)),
        rows.keys[heads].view(np.int64) + rows.least,
        np.minimum.reduceat(start, heads),
        np.maximum.reduceat(end, heads),
    )


class _Sorted(NamedTuple):
    """Rows sorted by key and nearly by time: their original places, and their key codes counted from the least."""

    order: Ints
    keys: NDArray[np.uint64]
    least: int


def _sorted(codes: Codes, times: Ints) -> _Sorted | None:
    """Sort rows by key, and by the leading bits of their times; None if 64 bits cannot hold key and place.

    Each part of a packed number has a whole number of bits, because shifting is far cheaper than dividing.
    """
    if not len(codes):
        return None
    least, earliest = int(codes.min()), int(times.min())
    place_bits = (len(codes) - 1).bit_length()
    room = _BITS - place_bits - (int(codes.max()) - least).bit_length()
    if room < 0:
        return None
    span = (int(times.max()) - earliest).bit_length()
    time_bits = min(span, room)
    left_out = span - time_bits
    packed = np.empty(len(codes), np.uint64)
    for piece in pieces(len(codes)):
        number = np.subtract(codes[piece], least, dtype=np.int64).view(np.uint64)
        number <<= np.uint64(time_bits)
        number |= ((times[piece] - earliest) >> left_out).view(np.uint64)
        number <<= np.uint64(place_bits)
        np.bitwise_or(number, np.arange(piece.start, piece.stop, dtype=np.uint64), out=packed[piece])
    packed.sort()
    order = np.bitwise_and(packed, np.uint64((1 << place_bits) - 1)).view(np.int64)
    packed >>= np.uint64(place_bits)
    packed >>= np.uint64(time_bits)
    return _Sorted(order, packed, least)
