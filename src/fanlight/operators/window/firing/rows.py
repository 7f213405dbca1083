"""From panes to rows: the values of panes, their firings, and the firings as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints, repeated
from fanlight.model.firing import Op, Timing
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.accounting import MOMENT, moments
from fanlight.operators.window.firing.outside import Outside
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.plan import PANE, Plan

_OPS = pa.array([op.code for op in Op])
_TIMINGS = pa.array([timing.name for timing in Timing])
_ONCE = (*(np.array([number], np.int64) for number in (Op.INSERT, Timing.ON_TIME, 0)), np.array([True]))
"""What a firing says of a pane that fires once: operation, timing, number, and whether it is the last."""


@dataclass(frozen=True, slots=True)
class PaneValues(Columnar):
    """The values of panes, one column for each aggregate. A value that does not fit is null, and in `outside`."""

    columns: list[pa.Array]
    outside: Outside

    def __len__(self) -> int:
        return self.outside.count


def incremental_values(plan: Plan, partials: Partials) -> PaneValues:
    """The values of panes that keep no messages, in the order of the result."""
    exact: dict[int, dict[int, Any]] = {}
    if plan.aggregation.is_bounded:
        places = [place for place, _ in plan.incremental]
        exact = _by_row(dict(zip(places, plan.aggregation.outside(partials), strict=True)))
    return PaneValues(plan.aggregation.finish(partials), Outside(len(partials), exact))


def pane_values(
    plan: Plan, messages: Messages | None, windows: Ints, keys: list[pa.Array], partials: Partials, after: Ints | None
) -> PaneValues:
    """The values of panes, one column for each aggregate, in the order of the result.

    `after` leaves out, pane by pane, the messages that arrived up to that number: the discarding mode.
    """
    preaggregated = incremental_values(plan, partials)
    if messages is None or not plan.gathered:
        return preaggregated
    values = dict(zip((place for place, _ in plan.incremental), preaggregated.columns, strict=True))
    beyond: dict[int, dict[int, Any]] = {}
    for place, column, outside in messages.values(windows, keys, after):
        values[place], beyond[place] = column, outside
    exact = {row: dict(words) for row, words in preaggregated.outside.exact.items()}
    for row, words in _by_row(beyond).items():
        exact.setdefault(row, {}).update(words)
    return PaneValues([values[place] for place in sorted(values)], Outside(len(partials), exact))


def _by_row(by_place: dict[int, dict[int, Any]]) -> dict[int, dict[int, Any]]:
    by_row: dict[int, dict[int, Any]] = {}
    for place, own in by_place.items():
        for row, words in own.items():
            by_row.setdefault(row, {})[place] = words
    return by_row


def retractions(plan: Plan, shown: list[pa.Array], again: Bools) -> list[pa.Array]:
    """The values of retraction rows: those to take back, unless a user's aggregate says otherwise.

    Only panes that fire `again` have values to take back.
    """
    back = list(shown)
    rows = np.flatnonzero(again)
    for place, reducer in plan.user_states:
        if len(rows):
            said = reducer.retractions(shown[place].take(pa.array(rows)))
            places = np.zeros(len(again), np.int64)
            places[rows] = np.arange(len(rows))
            back[place] = said.take(pa.array(places))
    return back


@dataclass(frozen=True, slots=True)
class Firings(Columnar):
    """The firings of one step as columns, already in order: window end, window start, key."""

    starts: Ints
    ends: Ints
    keys: list[pa.Array]
    values: list[pa.Array]
    ops: Ints
    timings: Ints
    numbers: Ints
    revisions: Ints
    is_last: Bools
    times: Ints
    outside: Outside
    """The exact values that do not fit their types; rows with such a value are withheld."""

    @staticmethod
    def once(keys: list[pa.Array], starts: Ints, ends: Ints, values: PaneValues, times: Ints) -> Firings:
        """The firings of panes that fire once."""
        insert, on_time, zero, is_last = (repeated(number, len(ends)) for number in _ONCE)
        numbers = (insert, on_time, zero, zero, is_last, times)
        return Firings(starts, ends, keys, values.columns, *numbers, values.outside)

    @staticmethod
    def joined(parts: list[Firings]) -> Firings | None:
        """Several firings, one after the other; None if there are none."""
        return Firings.concat(parts) if parts else None

    def parted(self) -> tuple[Firings, Firings]:
        """The firings that are emitted, and those that are withheld because a value does not fit its type."""
        fits = self.outside.fits
        return self.where(fits), self.where(~fits)

    def to_batch(self, plan: Plan, clock: Timestamp, *, panes: bool = True) -> pa.RecordBatch:
        """The rows in the result schema, emitted at `clock`; null in the rows if no clock was ever given.

        Without `panes` (for panes that fire once) they are the rows that users see.
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
                pa.array(self.numbers),
                pa.array(self.revisions),
                pa.array(self.is_last),
                moments(self.times) if plan.of_times else pa.nulls(len(self.times), MOMENT),
                pa.repeat(left, len(self.times)),
            ],
            fields=list(PANE),
        )


def _words(words: pa.Array, numbers: Ints) -> pa.Array:
    """Numbers as words; most often all are the same word."""
    if len(numbers) and (numbers.strides == (0,) or (numbers == numbers[0]).all()):
        return pa.repeat(words[int(numbers[0])], len(numbers))
    return words.take(pa.array(numbers))


def window_column(plan: Plan, starts: Ints, ends: Ints) -> pa.Array:
    """Windows as structs of start and end, times or positions; null where a window has no such bound."""
    fields = list(plan.result.field("window").type)
    sides = [moments(side) for side in (starts, ends)]
    if not plan.of_times:
        sides = [side.cast(field.type) for side, field in zip(sides, fields, strict=True)]
    return pa.StructArray.from_arrays(sides, fields=fields)
