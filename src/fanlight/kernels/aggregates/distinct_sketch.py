"""The approximate count of distinct values: Theta sketches of Apache DataSketches, made and merged column by column.

A sketch keeps the least hashes of its values, and `theta`: every hash below it is kept.

    0 ..x...x.x...x.......theta....................... 2**63     different values = hashes kept / (theta / 2**63)

Up to `K` hashes are all kept, and the count is exact. The library takes one value a call, so sketches are made here;
their bytes are the library's own (compact, ordered, serial version 3), and it reads them, in any language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import without_nulls
from fanlight.kernels.aggregates.hash64 import hashes
from fanlight.kernels.aggregates.sorting import by_group_then
from fanlight.kernels.grouping.groups import Groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Column, Ints

K = 4096
"""How many hashes a sketch keeps: the standard error is one in the square root of it, 1.6 %."""

_WHOLE = 2**63 - 1
"""The theta of a sketch that has kept everything."""

_WORD = 8
_HEAD = 0x93CC_1A_0000_03_03_00
"""The first word without its first byte, which is the number of words before the hashes."""
_EMPTY = 0x93CC_1E_0000_03_03_01


@dataclass(frozen=True, slots=True)
class Thetas:
    """One sketch for each group. It depends only on the set of the group's values, not on their order or split."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("theta", pa.large_binary()),)

    @property
    def output(self) -> pa.DataType:
        return pa.int64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        present, groups = without_nulls(values, groups)
        found = (hashes(present) >> np.uint64(1)).view(np.int64)
        return [_sketches(found, np.full(groups.count, _WHOLE), groups)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        found, thetas, own = _read(partials[0])
        least = np.full(groups.count, _WHOLE)
        np.minimum.at(least, groups.codes, thetas)
        return [_sketches(found, least, Groups(groups.codes[own], groups.count))]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        count = len(left[0])
        return self.merge([pa.concat_arrays([left[0], right[0]])], Groups(np.tile(np.arange(count), 2), count))

    def identity(self, count: int) -> list[Column]:
        return [_sketches(np.zeros(0, np.int64), np.full(count, _WHOLE), Groups(np.zeros(0, np.int64), count))]

    def finish(self, partials: list[Any]) -> pa.Array:
        _, thetas, own = _read(partials[0])
        kept = np.bincount(own, minlength=len(thetas))
        return pa.array(np.where(thetas == _WHOLE, kept, np.rint(kept / (thetas / 2.0**63))).astype(np.int64))


def _sketches(found: Ints, thetas: Ints, groups: Groups) -> pa.Array:
    """The sketch of each group, from its distinct hashes below theta; of more than `K` hashes only the least stay."""
    below = found < thetas[groups.codes]
    codes, found = groups.codes[below], found[below]
    order = by_group_then(Groups(codes, groups.count), found)
    codes, found = codes[order], found[order]
    again = (np.diff(codes, prepend=-1) == 0) & (np.diff(found, prepend=-1) == 0)
    codes, found = codes[~again], found[~again]
    sizes = np.bincount(codes, minlength=groups.count)
    starts = np.cumsum(sizes) - sizes
    full = np.flatnonzero(sizes > K)
    if len(full):
        thetas = thetas.copy()
        thetas[full] = found[starts[full] + K]
        kept = found < thetas[codes]
        codes, found, sizes = codes[kept], found[kept], np.minimum(sizes, K)
    return _written(found, sizes, thetas)


def _written(found: Ints, sizes: Ints, thetas: Ints) -> pa.Array:
    heads = np.where(thetas < _WHOLE, 3, np.where(sizes > 1, 2, 1))
    ends = np.cumsum(heads + sizes)
    starts = ends - heads - sizes
    words = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint64)
    words[starts] = np.where((heads == 1) & (sizes == 0), np.uint64(_EMPTY), heads.astype(np.uint64) | np.uint64(_HEAD))
    several, estimating = heads > 1, heads > 2
    words[starts[several] + 1] = sizes[several].astype(np.uint64)
    words[starts[estimating] + 2] = thetas[estimating].astype(np.uint64)
    hashed = np.repeat(starts + heads - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(found))
    words[hashed] = found.view(np.uint64)
    offsets = pa.array(np.concatenate(([0], ends)) * _WORD, pa.int64())
    buffers = [None, offsets.buffers()[1], pa.py_buffer(words.astype("<u8", copy=False))]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers)


def _read(sketches: pa.Array) -> tuple[Ints, Ints, Ints]:
    """The hashes of sketches, the theta of each sketch, and the sketch that each hash belongs to."""
    _, offsets, data = sketches.buffers()
    ends = np.frombuffer(offsets, np.int64, len(sketches) + 1, _WORD * sketches.offset) // _WORD
    words: NDArray[np.uint64] = np.frombuffer(data, "<u8") if data is not None else np.zeros(0, np.uint64)
    starts = ends[:-1]
    heads = (words[starts] & np.uint64(0xFF)).astype(np.int64)
    thetas = np.full(len(sketches), _WHOLE)
    estimating = heads == 3
    thetas[estimating] = words[starts[estimating] + 2].view(np.int64)
    sizes = np.diff(ends) - heads
    own = np.repeat(np.arange(len(sketches)), sizes)
    places = np.repeat(starts + heads - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(own))
    return words[places].view(np.int64), thetas, own
