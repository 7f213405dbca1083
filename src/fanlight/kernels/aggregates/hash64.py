"""64-bit hashes of values, column by column: the first half of MurmurHash3 (x64, 128 bits).

This is the hash of Apache DataSketches, with its seed: equal values have the hash that its libraries, in any language,
give them. Numbers of any width are hashed as eight bytes, integers and times as int64, floats as float64; text is
hashed as UTF-8, and decimals as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import dtype_of, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

SEED = 9001

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_BLOCK = 16


def is_hashed(kind: pa.DataType) -> bool:
    """Whether values of `kind` have a hash."""
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return (
        dtype_of(kind) is not None
        or pa.types.is_decimal(kind)
        or pa.types.is_fixed_size_binary(kind)
        or any(is_one(kind) for is_one in texts)
    )


def hashes(values: pa.Array) -> Hashes:
    """The hash of each value; none is null. NaN equals NaN, and zero has no sign."""
    kind = values.type
    if dtype_of(kind) is None:
        texts = values.cast(pa.string()) if pa.types.is_decimal(kind) else values
        found = texts.dictionary_encode()
        places: NDArray[np.int32] = found.indices.to_numpy()
        return _of_bytes(found.dictionary.cast(pa.large_binary()))[places]
    numbers = to_numpy(values)
    if numbers.dtype.kind == "f":
        floats = numbers.astype(np.float64) + 0.0
        floats[np.isnan(floats)] = np.nan
        return _of_words(floats.view(np.uint64))
    wide: Any = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64)
    return _of_words(wide.view(np.uint64))


def _of_words(words: Hashes) -> Hashes:
    """The hashes of eight bytes each."""
    with np.errstate(over="ignore"):
        first = np.full(len(words), SEED, np.uint64) ^ _mixed(words, 31, _C1, _C2)
        return _ended(first, np.full(len(words), SEED, np.uint64), np.full(len(words), 8, np.uint64))


def _of_bytes(values: pa.Array) -> Hashes:
    """The hashes of byte strings of any length, all of them one block at a time."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64, len(values) + 1, 8 * values.offset)
    raw = np.zeros(int(ends[-1]) + _BLOCK, np.uint8)  # room for the last block, which may reach past the end
    if data is not None:
        raw[: ends[-1]] = np.frombuffer(data, np.uint8, int(ends[-1]))
    starts, lengths = ends[:-1], np.diff(ends)
    first, second = (np.full(len(values), SEED, np.uint64) for _ in range(2))
    with np.errstate(over="ignore"):
        for place in range(0, int(lengths.max(initial=0)) // _BLOCK * _BLOCK, _BLOCK):
            rows = np.flatnonzero(lengths >= place + _BLOCK)
            one, other = _words(raw, starts[rows] + place)
            first[rows], second[rows] = _stirred(first[rows], second[rows], one, other)
        whole = lengths // _BLOCK * _BLOCK
        one, other = _words(raw, starts + whole, lengths - whole)
        first ^= _mixed(one, 31, _C1, _C2)
        second ^= _mixed(other, 33, _C2, _C1)
        return _ended(first, second, lengths.astype(np.uint64))


def _words(raw: NDArray[np.uint8], starts: Any, lengths: Any = None) -> tuple[Hashes, Hashes]:
    """The two words of a block at each start; bytes past its length are 0."""
    block = raw[starts[:, None] + np.arange(_BLOCK)]
    if lengths is not None:
        block *= np.arange(_BLOCK) < lengths[:, None]
    words = np.ascontiguousarray(block).view("<u8")
    return words[:, 0], words[:, 1]


def _stirred(first: Hashes, second: Hashes, one: Hashes, other: Hashes) -> tuple[Hashes, Hashes]:
    five = np.uint64(5)
    first = (_turned(first ^ _mixed(one, 31, _C1, _C2), 27) + second) * five + np.uint64(0x52DCE729)
    second = (_turned(second ^ _mixed(other, 33, _C2, _C1), 31) + first) * five + np.uint64(0x38495AB5)
    return first, second


def _ended(first: Hashes, second: Hashes, lengths: Hashes) -> Hashes:
    first, second = first ^ lengths, second ^ lengths
    first = first + second
    second = second + first
    return _spread(first) + _spread(second)


def _mixed(words: Hashes, turn: int, before: np.uint64, after: np.uint64) -> Hashes:
    return _turned(words * before, turn) * after


def _turned(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _spread(words: Hashes) -> Hashes:
    shift = np.uint64(33)
    words = (words ^ (words >> shift)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> shift)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> shift)
