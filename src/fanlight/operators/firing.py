"""Firings as rows: the columns that leave a step, and the order they leave in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.model.firing import Op, Timing
from fanlight.operators.accounting import moments
from fanlight.operators.plan import PANE, WINDOW, Plan

_OPS = pa.array([op.code for op in Op])
_TIMINGS = pa.array([timing.name for timing in Timing])


@dataclass(frozen=True, slots=True)
class Firings:
    """The firings of one step as columns, already in order: window end, window start, key."""

    keys: list[pa.Array]
    windows: Ints
    values: list[pa.Array]
    ops: Ints
    timings: Ints
    indexes: Ints
    revisions: Ints
    is_last: Bools
    times: Ints

    @staticmethod
    def once(keys: list[pa.Array], windows: Ints, values: list[pa.Array], times: Ints) -> Firings:
        """The firings of panes that fire once."""
        zeros = np.zeros(len(windows), np.int64)
        on_time = np.full(len(windows), Timing.ON_TIME, np.int64)
        return Firings(
            keys, windows, values, zeros + Op.INSERT, on_time, zeros, zeros, np.ones(len(windows), np.bool_), times
        )

    def to_batch(self, plan: Plan) -> pa.RecordBatch:
        """The rows as the result schema has them."""
        pane = pa.StructArray.from_arrays(
            [
                _words(_OPS, self.ops),
                _words(_TIMINGS, self.timings),
                pa.array(self.indexes),
                pa.array(self.revisions),
                pa.array(self.is_last),
                moments(self.times),
            ],
            fields=list(PANE),
        )
        return pa.record_batch([*self.keys, window_column(plan, self.windows), *self.values, pane], schema=plan.result)


def _words(words: pa.Array, numbers: Ints) -> pa.Array:
    """Numbers as words; most often they are all the same one."""
    if len(numbers) and (numbers == numbers[0]).all():
        return pa.repeat(words[int(numbers[0])], len(numbers))
    return words.take(pa.array(numbers))


def window_column(plan: Plan, windows: Ints) -> pa.Array:
    """Windows as a struct of start and end; null at an end that time does not have."""
    starts, ends = plan.slicing.bounds(windows)
    return pa.StructArray.from_arrays([moments(starts), moments(ends)], fields=list(WINDOW))
