"""The operator of `top`: it keeps nothing, and takes the lists apart that windows fire with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SpecError
from fanlight.kernels.aggregates.lists import empty_lists
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.rank_changes import listed, rank_changes
from fanlight.model.continuation import OP, WINDOW_END, WINDOW_START
from fanlight.model.firing import Op
from fanlight.model.top import RANK, ROWS, TopSpec
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.state.store import ChunkStore

_CODES = pa.array([op.code for op in Op])
_WINDOW = (WINDOW_START, WINDOW_END)


@dataclass(frozen=True, slots=True)
class TopPlan:
    """What one shard needs to know: the spec, and the columns of the result."""

    spec: TopSpec
    result: pa.Schema

    @property
    def own(self) -> list[str]:
        """The columns of a record that a row has; its window is that in which it is among the first."""
        added = (*_WINDOW, RANK, *((OP,) if self.spec.replaces else ()))
        return [name for name in self.result.names if name not in added]


def bind_top(spec: TopSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows that always tell all
    """Top bound to its columns: those of the records, the window, the rank, and what a row does."""
    for name in spec.columns:
        require_column(schema, name)
    record = list(schema.field(ROWS).type.value_type)
    said = [RANK, *([OP] if spec.replaces else [])]
    for field in record:
        if field.name in said:
            raise SpecError(
                f"top: the records have a column {field.name!r}, which its rows get. Give it another name first, as in "
                f"select(…, other={field.name!r})."
            )
    added = [schema.field(name) for name in _WINDOW]
    added += [pa.field(RANK, pa.int64()), *([pa.field(OP, pa.string())] if spec.replaces else [])]
    result = pa.schema([*(field for field in record if field.name not in _WINDOW), *added])
    unique = spec.unique if spec.replaces else ()
    make = partial(RankedRows, TopPlan(spec, result))
    return BoundSpec(schema, result, make, times=TimeReader.of(spec), unique=unique, op=OP if spec.replaces else None)


class RankedRows(Operator):
    """The rows of the step that is under way; nothing stays from one step to the next."""

    def __init__(self, plan: TopPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._leaving: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take the lists of these firings apart."""
        if self._plan.spec.replaces:
            self._changed(bundle.batch)
        else:
            owners, places, rows = listed(bundle.batch.column(ROWS))
            self._leave(bundle.batch, owners, places + 1, rows, None)
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of this step, in the order of firings, then of ranks."""
        leaving, self._leaving = [rows for rows in self._leaving if len(rows)], []
        return leaving

    def _changed(self, firings: pa.RecordBatch) -> None:
        """Find what changed between the lists that are taken back and those that take their place.

        comes    -U [a b]   +U [a c]   +I [d]   -D [e]
        before      [a b]              []       [e]
        after               [a c]      [d]      []
        """
        ops = firings.column(OP)
        takes_back, renews = (_are(ops, *codes) for codes in ((Op.RETRACT, Op.DELETE), (Op.UPDATE,)))
        changes = np.cumsum(~renews) - 1
        heads = np.flatnonzero(~renews)
        sides = [self._lists(firings, rows, changes, len(heads)) for rows in (takes_back, ~takes_back)]
        found = rank_changes(*sides)
        self._leave(firings, heads[found.owners], found.ranks, found.rows, _CODES.take(pa.array(found.ops)))

    def _lists(self, firings: pa.RecordBatch, mask: Bools, changes: Ints, count: int) -> pa.Array:
        """The lists of the firings that `mask` keeps, one for each change; empty for a change without one."""
        lists = firings.column(ROWS)
        rows = np.flatnonzero(mask)
        places = np.full(count, len(lists))
        places[changes[rows]] = rows
        return pa.concat_arrays([lists, empty_lists(1, lists.type.value_type).cast(lists.type)]).take(pa.array(places))

    def _leave(self, firings: pa.RecordBatch, owners: Ints, ranks: Ints, rows: pa.Array, ops: pa.Array | None) -> None:
        """Note rows that leave: each is of the firing `owners` names."""
        plan, at = self._plan, pa.array(owners)
        columns = dict(zip((field.name for field in rows.type), rows.flatten(), strict=True))
        told = [columns[name] for name in plan.own]
        starts, ends = (firings.column(name).take(at) for name in _WINDOW)
        told += [
            pc.if_else(ends.is_valid(), starts, pa.scalar(None, starts.type)),
            ends,
        ]  # the global one has no bounds
        told += [pa.array(ranks), *([] if ops is None else [ops])]
        self._leaving.append(pa.RecordBatch.from_arrays(told, schema=plan.result))


def _are(ops: pa.Array, *wanted: Op) -> Bools:
    """Which firings do one of these."""
    codes = np.asarray(ops.to_numpy(zero_copy_only=False))
    return np.isin(codes, [op.code for op in wanted])
