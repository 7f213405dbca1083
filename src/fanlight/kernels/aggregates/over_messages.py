"""Aggregates that need all records: lists, sorted values, exact quantiles, exact counts of distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import from_numpy, is_valid, to_numpy, without_nulls
from fanlight.kernels.aggregates.as_float64 import to_floats
from fanlight.kernels.aggregates.lists import in_lists
from fanlight.kernels.aggregates.sorting import (
    by_group,
    by_group_then,
    by_time_and_arrival,
    by_time_and_value,
    ranks,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Groups, Ints

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lists:
    """All values of a group except nulls; an empty list if there is none.

    By arrival; or by event time, and at one time by value where the type `sorts`, otherwise by arrival.
    """

    kind: pa.DataType
    by_arrival: bool
    sorts: bool

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        if values.null_count:
            valid = is_valid(values)
            times, arrivals = times[valid], arrivals[valid]
            values, groups = without_nulls(values, groups)
        order = by_group(self._order(values, times, arrivals), groups)
        return in_lists(values.take(pa.array(order)), groups.sizes())

    def _order(self, values: pa.Array, times: Ints, arrivals: Ints) -> Ints:
        if self.by_arrival:
            return np.argsort(arrivals, kind="stable")
        return by_time_and_value(values, times, arrivals) if self.sorts else by_time_and_arrival(times, arrivals)


@dataclass(frozen=True, slots=True)
class Sorts:
    """All values of a group except nulls, sorted; an empty list if there is none."""

    kind: pa.DataType
    descending: bool

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        present, groups = without_nulls(values, groups)
        order = by_group_then(groups, -ranks(present) if self.descending else ranks(present))
        return in_lists(present.take(pa.array(order)), groups.sizes())


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The exact quantile `q`: the value at place `q * (n - 1)` in order, linear between two; NaN is the greatest."""

    q: float

    @property
    def output(self) -> pa.DataType:
        return pa.float64()

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        present, groups = without_nulls(values, groups)
        floats = to_floats(present)
        floats = floats[by_group(np.argsort(floats), groups)]
        n = groups.sizes()
        filled = np.flatnonzero(n)
        result = np.zeros(groups.count)
        result[filled] = self._between(floats, (np.cumsum(n) - n)[filled], n[filled])
        return from_numpy(result, self.output, n > 0)

    def _between(self, ordered: Floats, starts: Ints, n: Ints) -> Floats:
        place = self.q * (n - 1)
        below = np.floor(place).astype(np.int64)
        low, high = ordered[starts + below], ordered[starts + np.minimum(below + 1, n - 1)]
        share = place - below
        with np.errstate(invalid="ignore", over="ignore"):
            between = low + (high - low) * share
            # The distance may be too large for a float; the weighted values are not.
            between = np.where(np.isfinite(between), between, low * (1 - share) + high * share)
        # Rounding must not carry the result past the upper value.
        quantiles: Floats = np.where((share == 0) | (low == high), low, np.minimum(between, high))
        return quantiles


@dataclass(frozen=True, slots=True)
class DistinctCounts:
    """The number of distinct values of each group; NaN equals NaN, and zero has no sign."""

    @property
    def output(self) -> pa.DataType:
        return pa.int64()

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        present, groups = without_nulls(values, groups)
        if pa.types.is_floating(present.type):
            floats = to_numpy(present)
            # Arrow compares bits: adding 0 gives -0.0 the sign of 0.0, and every NaN becomes the same one.
            present = pa.array(
                np.where(np.isnan(floats), np.array(np.nan, floats.dtype), floats + floats.dtype.type(0))
            )
        pairs = pa.table({"group": groups.codes, "value": present})
        codes = pairs.group_by(["group", "value"], use_threads=False).aggregate([]).column("group").to_numpy()
        return pa.array(np.bincount(codes, minlength=groups.count).astype(np.int64, copy=False))


def is_hashable(kind: pa.DataType) -> bool:
    """Whether Arrow can group by values of `kind`."""
    try:
        pa.table({"value": pa.nulls(0, kind)}).group_by("value", use_threads=False).aggregate([])
    except pa.ArrowNotImplementedError:
        return False
    return True


def is_listable(kind: pa.DataType) -> bool:
    """Whether Arrow can pick and reorder values of `kind`."""
    try:
        pa.nulls(1, kind).take(pa.array([0])).drop_null()
    except pa.ArrowNotImplementedError:
        return False
    return True
