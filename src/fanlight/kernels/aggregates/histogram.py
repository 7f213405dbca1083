"""Histograms: for each group a list that counts the values between neighbouring edges."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import to_numpy, without_nulls
from fanlight.kernels.aggregates.as_float64 import to_floats
from fanlight.kernels.aggregates.lists import in_lists

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints


@dataclass(frozen=True, slots=True)
class Histograms:
    """Counts below the first edge, from each edge up to the next, and from the last edge on. NaN counts in the last."""

    edges: tuple[float, ...]

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("counts", pa.list_(pa.int64(), self._bins)),)

    @property
    def output(self) -> pa.DataType:
        return pa.list_(pa.int64())

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        present, groups = without_nulls(values, groups)
        bins = groups.codes * self._bins + self._bin(present)
        return [self._column(np.bincount(bins, minlength=groups.count * self._bins))]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        counts = np.zeros((groups.count, self._bins), np.int64)
        np.add.at(counts, groups.codes, _counts(partials[0]).reshape(-1, self._bins))
        return [self._column(counts)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [self._column(_counts(left[0]) + _counts(right[0]))]

    def identity(self, count: int) -> list[Column]:
        return [self._column(np.zeros(count * self._bins, np.int64))]

    def finish(self, partials: list[Any]) -> pa.Array:
        return in_lists(partials[0].flatten(), np.full(len(partials[0]), self._bins))

    @property
    def takes_back(self) -> bool:
        return True

    def negated(self, partials: list[Any]) -> list[Column]:
        return [self._column(-_counts(partials[0]))]

    @property
    def _bins(self) -> int:
        return len(self.edges) + 1

    def _bin(self, values: pa.Array) -> Ints:
        if pa.types.is_integer(values.type):
            # An integer is below an edge if it is below the next integer; so no integer is converted to a float.
            whole = to_numpy(values)
            limits = np.iinfo(whole.dtype)
            edges = [ceil(edge) for edge in self.edges]
            inside = np.array([edge for edge in edges if limits.min < edge <= limits.max], whole.dtype)
            return np.searchsorted(inside, whole, "right") + sum(edge <= limits.min for edge in edges)
        return np.searchsorted(np.array(self.edges, np.float64), to_floats(values), "right")

    def _column(self, counts: Ints) -> pa.Array:
        flat = pa.array(counts.reshape(-1).astype(np.int64, copy=False))
        return pa.FixedSizeListArray.from_arrays(flat, type=self.fields[0].type)


def _counts(column: pa.Array) -> Ints:
    counts: Ints = column.flatten().to_numpy()
    return counts
