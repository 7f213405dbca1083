"""Firings as rows: the columns that leave a step, and the order they leave in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.model.firing import Op, Timing
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.accounting import moments
from fanlight.operators.plan import MOMENT, PANE, Plan
from fanlight.operators.values import Outside, PaneValues, fitting, outside_at

_OPS = pa.array([op.code for op in Op])
_TIMINGS = pa.array([timing.name for timing in Timing])
_NUMBERS = ("starts", "ends", "ops", "timings", "indexes", "revisions", "is_last", "times")


@dataclass(frozen=True, slots=True)
class Firings:
    """The firings of one step as columns, already in order: window end, window start, key."""

    keys: list[pa.Array]
    starts: Ints
    ends: Ints
    values: list[pa.Array]
    ops: Ints
    timings: Ints
    indexes: Ints
    revisions: Ints
    is_last: Bools
    times: Ints
    outside: Outside = field(default_factory=dict)
    """Of the rows that do not leave, because a value of theirs cannot be represented: that value, exactly."""

    def __len__(self) -> int:
        return len(self.ends)

    @staticmethod
    def once(keys: list[pa.Array], starts: Ints, ends: Ints, values: PaneValues, times: Ints) -> Firings:
        """The firings of panes that fire once."""
        insert, on_time, zero = (
            np.broadcast_to(np.int64(number), len(ends)) for number in (Op.INSERT, Timing.ON_TIME, 0)
        )
        is_last = np.broadcast_to(np.bool_(True), len(ends))
        numbers = (insert, on_time, zero, zero, is_last, times)
        return Firings(keys, starts, ends, values.columns, *numbers, values.outside)

    @staticmethod
    def joined(parts: list[Firings]) -> Firings | None:
        """Several firings, one after the other; None if there are none."""
        if len(parts) < 2:
            return parts[0] if parts else None
        numbers = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _NUMBERS}
        keys, values = (
            [pa.concat_arrays(same) for same in zip(*(getattr(part, name) for part in parts), strict=True)]
            for name in ("keys", "values")
        )
        starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        outside = {
            start + row: said for start, part in zip(starts, parts, strict=False) for row, said in part.outside.items()
        }
        return Firings(keys=keys, values=values, outside=outside, **numbers)

    def take(self, rows: Ints) -> Firings:
        """The firings at `rows`, in that order."""
        places = pa.array(rows)
        keys, values = ([column.take(places) for column in columns] for columns in (self.keys, self.values))
        numbers = {name: getattr(self, name)[rows] for name in _NUMBERS}
        return Firings(keys=keys, values=values, outside=outside_at(self.outside, rows), **numbers)

    def parted(self) -> tuple[Firings, Firings]:
        """Those that leave, and those that do not because a value of theirs cannot be represented."""
        fits = fitting(self.outside, len(self))
        return self.take(np.flatnonzero(fits)), self.take(np.flatnonzero(~fits))

    def to_batch(self, plan: Plan, clock: Timestamp, *, panes: bool = True) -> pa.RecordBatch:
        """The rows as the result schema has them, left at `clock`; null in the rows if no clock was ever told.

        Without `panes`, which is for panes that fire once, they are the rows as users see them.
        """
        window = window_column(plan, self.starts, self.ends)
        columns = [*self.keys, window, *self.values]
        if not panes:
            return pa.record_batch(columns, schema=plan.rows)
        return pa.record_batch([*columns, self._pane(plan, clock)], schema=plan.result)

    def _pane(self, plan: Plan, clock: Timestamp) -> pa.Array:
        left = pa.scalar(None if clock == START_OF_TIME else clock, pa.int64()).cast(MOMENT)
        return pa.StructArray.from_arrays(
            [
                _words(_OPS, self.ops),
                _words(_TIMINGS, self.timings),
                pa.array(self.indexes),
                pa.array(self.revisions),
                pa.array(self.is_last),
                moments(self.times) if plan.of_times else pa.nulls(len(self.times), MOMENT),
                pa.repeat(left, len(self.times)),
            ],
            fields=list(PANE),
        )


def _words(words: pa.Array, numbers: Ints) -> pa.Array:
    """Numbers as words; most often they are all the same one."""
    if len(numbers) and (numbers == numbers[0]).all():
        return pa.repeat(words[int(numbers[0])], len(numbers))
    return words.take(pa.array(numbers))


def window_column(plan: Plan, starts: Ints, ends: Ints) -> pa.Array:
    """Windows as a struct of start and end, times or positions; null where there is no such end."""
    fields = list(plan.result.field("window").type)
    sides = [moments(side).cast(field.type) for side, field in zip((starts, ends), fields, strict=True)]
    return pa.StructArray.from_arrays(sides, fields=fields)
