"""The operator of `cogroup`: a windowed aggregate that says nothing of a pane until the inputs it needs are there.

firing          there before   there now    leaves as
-U …  +U …      no             no           nothing
-U …  +U …      no             yes          +I
-U …  +U …      yes            yes          +U, in retracting mode after its -U
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools
from fanlight.model.cogroup import HERE, CogroupSpec
from fanlight.model.firing import Accumulation, FiringTime, Op
from fanlight.model.time.timestamp import Timestamp, TimestampLike
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.operator import BoundSpec, PaneRows, Progress
from fanlight.operators.window.admission import Lateness
from fanlight.operators.window.aggregate import WindowAggregate
from fanlight.operators.window.panes import MakePanes
from fanlight.operators.window.panes_of_kind import panes_of
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregator import preaggregator_of
from fanlight.state.store import ChunkStore

_PANE = "pane"


def bind_cogroup(spec: CogroupSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:
    """A cogroup bound to its columns: the windowed aggregate that notes which inputs are there, without these notes."""
    merged = spec.merged
    plan = Plan.bind(merged, schema)
    is_lean = lean and merged.fires_once
    result = pa.schema([field for field in (plan.rows if is_lean else plan.result) if not _is_note(field.name)])
    lateness, make_panes = Lateness(merged, plan.slicing), panes_of(merged.window, plan)
    make = partial(PresentPanes, spec, plan, lateness, make_panes, tells_panes=not is_lean)
    panes = PaneRows(spec.accumulation is Accumulation.DISCARDING, spec.firing_time is not FiringTime.END)
    return BoundSpec(schema, result, make, panes, plan.of_times, preaggregator_of(plan), TimeReader.of(merged))


class PresentPanes(WindowAggregate):
    """The panes of one shard, of which those leave that have records of the inputs they need."""

    def __init__(
        self,
        spec: CogroupSpec,
        plan: Plan,
        lateness: Lateness,
        make_panes: MakePanes,
        store: ChunkStore,
        books: Books,
        *,
        tells_panes: bool = True,
    ) -> None:
        super().__init__(plan, lateness, make_panes, store, books, tells_panes=tells_panes)
        self._needs = [f"{HERE}{name}" for name in spec.needs]
        self._accumulation = spec.accumulation

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The firings of this step, of panes that have what they need."""
        rows = [self._present(batch) for batch in super().fire(progress)]
        return [batch for batch in rows if len(batch)]

    def windows(
        self, watermark: Timestamp, start: TimestampLike | None, end: TimestampLike | None, key: Any = None
    ) -> pa.Table:
        """The windows that have what they need."""
        found = super().windows(watermark, start, end, key)
        return _without_notes(found.filter(pa.array(self._is_present(found))))

    def _present(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        present = self._is_present(rows)
        if self._tells_panes and not self.plan.spec.fires_once:
            rows, present = self._renamed(rows, present)
        return _without_notes(rows.filter(pa.array(present)))

    def _renamed(self, rows: pa.RecordBatch, present: Bools) -> tuple[pa.RecordBatch, Bools]:
        """The rows, as inserts where nothing was said of their pane before; and which of them leave."""
        pane = rows.column(_PANE)
        ops = pc.struct_field(pane, "op")
        taken_back = np.asarray(pc.equal(ops, Op.RETRACT.code))
        was_shown = np.append(False, (taken_back & present)[:-1])
        is_new = present & ~was_shown & np.asarray(pc.equal(ops, Op.UPDATE.code))
        if is_new.any():
            said = pc.if_else(pa.array(is_new), Op.INSERT.code, ops)
            parts = [said if field.name == "op" else pc.struct_field(pane, field.name) for field in pane.type]
            whole = pa.StructArray.from_arrays(parts, fields=list(pane.type))
            rows = rows.set_column(rows.schema.get_field_index(_PANE), rows.schema.field(_PANE), whole)
        if self._accumulation is Accumulation.ACCUMULATING:
            present = present & ~taken_back & ~np.asarray(pc.equal(ops, Op.DELETE.code))
        return rows, present

    def _is_present(self, rows: pa.RecordBatch | pa.Table) -> Bools:
        """Which rows are of panes, or of their values before, that have what they need."""
        here = np.ones(len(rows), np.bool_)
        for name in self._needs:
            here &= np.asarray(rows.column(name).fill_null(False))
        return here


def _is_note(name: str) -> bool:
    return name.startswith(HERE)


def _without_notes(rows: Any) -> Any:
    return rows.drop_columns([name for name in rows.schema.names if _is_note(name)])
