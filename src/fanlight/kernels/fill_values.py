"""Values for windows in which nothing came, from those of the windows before and after the gap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Ints
from fanlight.model.fill import FillWith

_PLACES = pa.decimal256(6, 0)
"""Holds the number of a window in its gap."""
_WIDE = 38
"""How many digits decimals may have: with those of a quotient they still fit in Arrow's 76."""


def filled_type(how: FillWith, kind: pa.DataType) -> pa.DataType:
    """The type of a column whose gaps are filled: on a line between whole numbers lie fractions.

    >>> filled_type(FillWith.LINEAR, pa.int32()), filled_type(FillWith.LAST, pa.int32())
    (DataType(double), DataType(int32))
    """
    return pa.float64() if how is FillWith.LINEAR and pa.types.is_integer(kind) else kind


def filled_values(how: FillWith, before: pa.Array, after: pa.Array, places: Ints, spans: Ints) -> pa.Array:
    """The values of missing windows; each is number `places` of the steps from the window before to the one after.

    There are `spans` steps. What is no number has no line, and is null there.

    >>> three, nine = pa.array([3, 3]), pa.array([9, 9])
    >>> filled_values(FillWith.LINEAR, three, nine, np.array([1, 2]), np.array([3, 3])).to_pylist()
    [5.0, 7.0]
    """
    kind = before.type
    if how is FillWith.LAST:
        return before
    if how is FillWith.LINEAR and pa.types.is_decimal(kind) and kind.precision <= _WIDE:
        return _between_decimals(before, after, places, spans)
    if how is FillWith.LINEAR and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return _between_numbers(before, after, places, spans)
    return pa.nulls(len(before), filled_type(how, kind))


def _between_numbers(before: pa.Array, after: pa.Array, places: Ints, spans: Ints) -> pa.Array:
    known = pc.and_(before.is_valid(), after.is_valid())
    low, high = (side.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy() for side in (before, after))
    with np.errstate(all="ignore"):
        line = low + (high - low) * places / spans
        # far apart, their difference does not fit, but each share of them does
        shares = low * ((spans - places) / spans) + high * (places / spans)
    line = np.where(np.isfinite(line) | ~(np.isfinite(low) & np.isfinite(high)), line, shares)
    found = pa.array(line, mask=~known.to_numpy(zero_copy_only=False))
    return found.cast(filled_type(FillWith.LINEAR, before.type), safe=False)


def _between_decimals(before: pa.Array, after: pa.Array, places: Ints, spans: Ints) -> pa.Array:
    """Exact, then rounded to the digits of the column, halves away from zero."""
    kind = before.type
    low, high = (side.cast(pa.decimal256(_WIDE, kind.scale)) for side in (before, after))
    part, whole = (pa.array(side).cast(pa.decimal256(19, 0)).cast(_PLACES) for side in (places, spans))
    share = pc.divide(pc.multiply(pc.subtract(high, low), part), whole)
    return pc.round(pc.add(low, share), ndigits=kind.scale, round_mode="half_towards_infinity").cast(kind)
