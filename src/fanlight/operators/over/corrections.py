"""One step of rows that are kept up to date: what they should show now, beside what they have shown.

                shown        should show       leaves
a row comes     –            4                 +I 4
another value   4            12                -U 4, +U 12
the same        7            7                 nothing
taken away      9            –                 -D 9
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.differences import changed
from fanlight.kernels.grouping.groups import Bools, Ints, encode_loosely
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.firing import Op
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.over.carry import PendingRows
from fanlight.operators.over.evaluate import Release
from fanlight.operators.over.known_rows import MISFIT, SHOWN, OpenBuckets, ShownRows
from fanlight.operators.over.next_carry import kept_after
from fanlight.operators.over.order import order_of_all, peers
from fanlight.operators.over.plan import OverPlan

_CODES = pa.array([op.code for op in Op])


@dataclass(frozen=True, slots=True)
class Touched:
    """What a step looks at: the rows that are known, which of them were taken away, and those that have come."""

    known: OpenBuckets
    gone: Bools
    fresh: ShownRows


class Corrections:
    """The rows of the keys that a step touches, with the values they have shown and those they should show."""

    def __init__(self, plan: OverPlan, touched: Touched, horizon: Timestamp) -> None:
        """`horizon` is the least time of a row that can still change."""
        self._plan = plan
        self._touched = touched
        self._all = ShownRows.concat([touched.known.rows, touched.fresh])
        self._batch = pa.RecordBatch.from_arrays(self._all.columns, schema=plan.waiting)
        self._gone = np.append(touched.gone, np.zeros(len(touched.fresh), np.bool_))
        if plan.spec.by and horizon < END_OF_TIME:  # at the end what was shown stays
            self._gone |= self._all.times < horizon
        self._order = order_of_all(plan.spec, self._all.times, self._all.came, self._batch)
        self._standing = self._order[~self._gone[self._order]]
        self._release = self._looked_over(horizon)
        """Of the rows that stand, those that are looked at."""
        self._find_values()

    def rows(self) -> pa.RecordBatch:
        """What leaves: first the rows that are taken away, then the others; each part in the order of rows."""
        away = self._order[(self._gone & (self._all.flags & SHOWN > 0))[self._order]]
        says = np.flatnonzero(self._inserts | self._updates)
        sizes = 1 + self._updates[says]
        last: Ints = np.cumsum(sizes) - 1
        rows = np.repeat(self._at[says], sizes)
        values = rows.copy()
        values[last] = len(self._all) + says
        ops = np.full(len(rows), int(Op.RETRACT))
        ops[last] = np.where(self._updates[says], int(Op.UPDATE), int(Op.INSERT))
        return self._told(
            np.append(away, rows), np.append(away, values), np.append(np.full(len(away), int(Op.DELETE)), ops)
        )

    def misfits(self) -> tuple[pa.RecordBatch, dict[int, dict[str, Any]]]:
        """The rows with a value that its type cannot hold, and did not have one before; and these values."""
        new = np.flatnonzero(self._misfit & (self._was & MISFIT == 0))
        rows = self._batch.take(pa.array(self._at[new]))
        schema = pa.schema([*self._plan.waiting, *self._plan.outputs])
        values = [column.take(pa.array(new)) for column in self._new]
        told = {place: self._outside[row] for place, row in enumerate(new.tolist())}
        return pa.RecordBatch.from_arrays([*rows.columns, *values], schema=schema), told

    def kept(self) -> OpenBuckets:
        """What is known after this step."""
        flags, values = self._all.flags.copy(), np.arange(len(self._all))
        flags[self._at] = np.where(self._misfit, self._was & SHOWN | MISFIT, SHOWN)
        fits = np.flatnonzero(~self._misfit)
        values[self._at[fits]] = len(self._all) + fits
        known, context, totals = self._touched.known, self._touched.known.context, self._touched.known.totals
        stays = self._standing
        if not self._plan.spec.by:
            _, context, totals = kept_after(self._release)
            stays = stays[~self._release.passed]
        rows = ShownRows(
            self._all.times[stays],
            self._all.came[stays],
            flags[stays],
            [column.take(pa.array(stays)) for column in self._all.columns],
            [column.take(pa.array(values[stays])) for column in self._values],
        )
        return OpenBuckets(known.buckets, rows, context, totals)

    def _looked_over(self, horizon: Timestamp) -> Release:
        plan, known = self._plan, self._touched.known
        codes = encode_loosely(plan.keys_of(self._batch), len(self._all)).codes
        is_touched = np.zeros(int(codes.max(initial=-1)) + 1, np.bool_)
        is_touched[codes[self._gone]] = True
        is_touched[codes[len(known.rows) :]] = True
        self._is_touched = is_touched[codes]
        wanted = self._is_touched[self._standing]
        self._seen = self._standing
        if plan.spec.by:  # nothing settles, so the rows of other keys are none of this step's business
            self._seen, wanted, horizon = self._standing[wanted], wanted[wanted], START_OF_TIME
        return self._look(self._seen, wanted, horizon)

    def _look(self, places: Ints, wanted: Bools, horizon: Timestamp) -> Release:
        """The rows at these places side by side with those that have settled."""
        known, spec = self._touched.known, self._plan.spec
        rows, times = self._batch.take(pa.array(places)), self._all.times[places]
        pending = PendingRows(peers(spec, times, rows), rows.columns)
        moments = times if spec.by else None
        return Release(self._plan, known.context, pending, known.totals, horizon, wanted=wanted, moments=moments)

    def _find_values(self) -> None:
        """The rows that are asked for: what they should show, and what is to be said of it."""
        release = self._release
        self._at = self._seen[release.leaving]
        """Their places among all rows."""
        self._new, self._outside = release.values() if len(self._at) else self._none()
        self._was = self._all.flags[self._at]
        self._misfit = np.zeros(len(self._at), np.bool_)
        self._misfit[list(self._outside)] = True
        was_shown = self._was & SHOWN > 0
        self._inserts = ~was_shown & ~self._misfit
        self._updates = was_shown & ~self._misfit
        old, new = pa.array(self._at[self._updates]), pa.array(np.flatnonzero(self._updates))
        differs = np.zeros(len(old), np.bool_)
        for place, (before, after) in enumerate(zip(self._all.shown, self._new, strict=True)):
            differs |= changed([before.take(old)], [after.take(new)]) & self._affected(place)[self._updates]
        self._updates[self._updates] = differs

    def _affected(self, place: int) -> Bools:
        """Whether a row that came or went is in the frame of a new column, for each row that is asked for.

        What is exact says so itself. A sum of floats may be rounded otherwise where the rows of its frame are the same
        and others beside them are not: that is no change.
        """
        plan, fresh = self._plan, len(self._touched.known.rows)
        if not _is_inexact(plan, place):
            return np.ones(len(self._at), np.bool_)
        frame = plan.spec.new_columns[place].frame
        affected = self._release.sees(frame, self._seen >= fresh)
        if self._gone.any():
            places, before = self._before
            went = np.zeros(len(self._all), np.bool_)
            went[places[before.leaving]] = before.sees(frame, self._gone[places])
            affected |= went[self._at]
        return affected

    @cached_property
    def _before(self) -> tuple[Ints, Release]:
        """The rows of the keys that are touched as they were before this step: their places, and a look at them."""
        known = self._order[(np.arange(len(self._all)) < len(self._touched.known.rows))[self._order]]
        places = known[self._is_touched[known]]
        return places, self._look(places, np.ones(len(places), np.bool_), START_OF_TIME)

    def _none(self) -> tuple[list[pa.Array], dict[int, dict[str, Any]]]:
        return [pa.nulls(0, field.type) for field in self._plan.outputs], {}

    @cached_property
    def _values(self) -> list[pa.Array]:
        """The values that all rows have shown, and after them those that the rows asked for should show."""
        return [pa.concat_arrays(both) for both in zip(self._all.shown, self._new, strict=True)]

    def _told(self, rows: Ints, values: Ints, ops: Ints) -> pa.RecordBatch:
        """Rows that leave: their places, the places of their values, their operations."""
        plan = self._plan
        taken = self._batch.take(pa.array(rows))
        found = {name: taken.column(name) for name in plan.waiting.names}
        found |= {
            field.name: column.take(pa.array(values)) for field, column in zip(plan.outputs, self._values, strict=True)
        }
        found[plan.spec.op] = _CODES.take(pa.array(ops))
        return pa.RecordBatch.from_arrays([found[name] for name in plan.result.names], schema=plan.result)


def _is_inexact(plan: OverPlan, place: int) -> bool:
    """Whether a new column may be rounded otherwise, although it is computed of the same rows."""
    computed, kind = plan.spec.new_columns[place], plan.outputs[place].type
    return isinstance(computed.function, Aggregate) and _has_floats(kind)


def _has_floats(kind: pa.DataType) -> bool:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return pa.types.is_floating(kind) or any(_has_floats(one) for one in inner)
