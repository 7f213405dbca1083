"""128-bit integers as two columns of 64 bits: `high * 2**64 + low`, both signed.

`high` is 0 exactly where int64 holds the number, as it holds nearly all sums. A column of such zeros is stored as one
zero (its stride is 0) and costs nothing to add. Carries are computed only where numbers are large enough to have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fanlight.kernels.aggregates.arrow_numpy import added

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Bools, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans

    Floats = NDArray[np.float64]

GREATEST = 2**63 - 1
_ZERO = bytes(8)
_HALF, _MASK = 32, 0xFFFFFFFF
EXACT = 2**53
"""Up to here a float64 holds every integer."""
_SHORT = 2**31
"""Below this a divisor leaves remainders that have room for 32 more bits."""


def zeros(count: int) -> Ints:
    """`count` zeros, stored once; read them, never write."""
    return np.ndarray((count,), np.int64, _ZERO, 0, (0,))  # the same as broadcast_to, in a fraction of its time


def reach(low: Ints) -> int:
    """The greatest distance of a number from zero."""
    return max(int(low.max(initial=0)), -int(low.min(initial=0)))


def is_small(high: Ints) -> bool:
    """Whether every number lies in int64."""
    return not (len(high) and (high[0] if high.strides == (0,) else high.any()))


def summed(low: Ints, high: Ints, groups: Groups, rows: int) -> tuple[Ints, Ints]:
    """The sum of each group; no group has more than `rows` rows."""
    sums = added(low, groups)
    carried = zeros(groups.count)
    if reach(low) * rows > GREATEST:
        carried = _carries(sums, added(low >> _HALF, groups), added(low & _MASK, groups))
    return sums, _plus(carried, zeros(groups.count) if is_small(high) else added(high, groups))


def scanned_sums(low: Ints, high: Ints, spans: Spans) -> tuple[Ints, Ints]:
    """The sum over each range."""
    sums = spans.added(low)
    carried = zeros(len(spans))
    if reach(low) * spans.longest > GREATEST:
        carried = _carries(sums, spans.added(low >> _HALF), spans.added(low & _MASK))
    return sums, _plus(carried, zeros(len(spans)) if is_small(high) else spans.added(high))


def paired_sums(left: Ints, left_high: Ints, right: Ints, right_high: Ints) -> tuple[Ints, Ints]:
    """Number i of the left plus number i of the right."""
    sums = left + right
    # A wrapped sum differs in sign from both of its terms.
    wrapped: Bools = ((left ^ sums) & (right ^ sums)) < 0
    carried = zeros(len(sums))
    if wrapped.any():
        carried = np.where(wrapped, np.where(left < 0, -1, 1), 0)
    if is_small(left_high) and is_small(right_high):
        return sums, carried
    return sums, left_high + right_high + carried


def negated(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The numbers with the other sign.

    >>> exact(*negated(*parted([5, -(2**63), 2**63])))
    [-5, 9223372036854775808, -9223372036854775808]
    """
    carried = low == -GREATEST - 1  # which is its own negative in 64 bits
    if is_small(high):
        return -low, carried.astype(np.int64) if carried.any() else zeros(len(low))
    return -low, carried - high


def _carries(sums: Ints, upper: Ints, lower: Ints) -> Ints:
    """The high words of sums, from the sums of the upper and of the lower halves of the low words."""
    carried: Ints = ((upper + (lower >> _HALF)) >> _HALF) + (sums < 0)
    return carried if carried.any() else zeros(len(carried))


def _plus(carried: Ints, high: Ints) -> Ints:
    if is_small(high):
        return carried
    return high if is_small(carried) else carried + high


def exact(low: Ints, high: Ints) -> list[int]:
    """The numbers themselves."""
    return [(top << 64) + word for top, word in zip(high.tolist(), low.tolist(), strict=True)]


def parted(numbers: list[int]) -> tuple[Ints, Ints]:
    """Numbers of up to 127 bits as low and high words.

    >>> [column.tolist() for column in parted([5, 2**63, -1])]
    [[5, -9223372036854775808, -1], [0, 1, 0]]
    """
    tops = [(number + 2**63) >> 64 for number in numbers]
    words = [number - (top << 64) for number, top in zip(numbers, tops, strict=True)]
    return np.array(words, np.int64), np.array(tops, np.int64)


def quotients(low: Ints, high: Ints, divisors: Ints) -> tuple[Ints, Ints, Ints]:
    """Each number divided by its positive divisor: both words of the floor, and the remainder."""
    if is_small(high):
        floor, rest = np.divmod(low, divisors)
        return floor, zeros(len(low)), rest
    if divisors.max(initial=1) >= _SHORT:
        pairs = [divmod(n, d) for n, d in zip(exact(low, high), divisors.tolist(), strict=True)]
        return *parted([floor for floor, _ in pairs]), np.array([rest for _, rest in pairs], np.int64)
    # Long division, 32 bits at a time, from the number with its low word unsigned.
    top, rest = np.divmod(high - (low < 0), divisors)
    upper, rest = np.divmod((rest << _HALF) | ((low >> _HALF) & _MASK), divisors)
    lower, rest = np.divmod((rest << _HALF) | (low & _MASK), divisors)
    floor = (upper << _HALF) | lower
    return floor, top + (floor < 0), rest


def float_quotients(low: Ints, high: Ints, divisors: Ints) -> Floats:
    """Each number divided by its positive divisor: the float64 nearest to the true quotient."""
    if is_small(high) and reach(low) <= EXACT:
        near: Floats = low / divisors
        return near
    near = low / divisors
    far = np.flatnonzero((high != 0) | (low > EXACT) | (low < -EXACT))
    near[far] = _rounded(low[far], high[far], divisors[far])
    return near


def _rounded(low: Ints, high: Ints, divisors: Ints) -> Floats:
    """Quotients of numbers beyond 2**53: the first 55 bits or more go into one word, which is rounded once.

    Of the bits that follow it matters only whether one is set: the last bit of the word says so.
    """
    if divisors.max(initial=1) >= _SHORT:
        return np.array([n / d for n, d in zip(exact(low, high), divisors.tolist(), strict=True)])
    sign = np.where((high < 0) | ((high == 0) & (low < 0)), -1, 1)
    low, high = _magnitudes(low, high, sign)
    floor, _, rest = quotients(low, high, divisors)
    whole = floor.view(np.uint64)
    # The floor is below 2**64, because this is a mean of values that are.
    spare = np.minimum(64 - _digits(whole), _HALF)
    fraction, rest = np.divmod(rest << spare, divisors)
    word = (whole << spare.astype(np.uint64)) | fraction.view(np.uint64) | (rest > 0).astype(np.uint64)
    return np.ldexp(word.astype(np.float64), -spare) * sign


def _magnitudes(low: Ints, high: Ints, sign: Ints) -> tuple[Ints, Ints]:
    """The numbers without their sign."""
    turned = sign < 0
    least = turned & (low == -GREATEST - 1)  # minus the least word is itself, one high word up
    return np.where(turned, -low, low), np.where(turned, -high + least, high)


def _digits(whole: NDArray[np.uint64]) -> Ints:
    """How many binary digits each number has."""
    upper, lower = whole >> np.uint64(_HALF), whole & np.uint64(_MASK)
    half = np.where(upper > 0, upper, lower).astype(np.float64)
    return np.frexp(half)[1] + np.where(upper > 0, _HALF, 0)
