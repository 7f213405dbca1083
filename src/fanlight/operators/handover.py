"""From one stage to the next: the rows that a stage emits become the records of the stage that follows.

    stage 1   records ─► rows ─┐
                               ▼
    stage 2                 records ─► rows

A step is handed on whole: its rows are one bundle of the next stage, and then the next stage acts on the watermark that
the stage before hands on (`StreamSpec.hands_on`). Rows judged by the watermark before that are on time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.model.continuation import OP, ROW, WINDOW_END, WINDOW_START, WINDOW_TIME
from fanlight.model.fill import FillSpec
from fanlight.model.firing import FiringTime
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.top import TopSpec
from fanlight.operators.ingest.conform import CheckedBatch


@dataclass(frozen=True, slots=True)
class Handover:
    """How rows of one stage become records of the next. Firings are flat then: their window is columns.

    Rows that are just columns are handed on as they are.
    """

    columns: tuple[str, ...] = ()
    """The columns that a firing gets: of its window, its time, its operation, the row. None for rows without windows.
    """
    tick: int = 1
    """How far before its end the last instant of a window is."""
    stamped: bool = False
    """Whether a firing says its time itself."""
    panes: bool = True
    """Whether rows say something of their pane; otherwise a column of that name is data."""

    @staticmethod
    def of(before: StreamSpec, after: StreamSpec) -> Handover:
        """How the rows of `before` become records of `after`."""
        if isinstance(before, FillSpec):
            return Handover.of(before.windows, after)
        if isinstance(before, WindowJoinSpec):
            return Handover((WINDOW_START, WINDOW_END, WINDOW_TIME), panes=False)
        if not isinstance(before, WindowSpec):
            return Handover()
        if isinstance(
            after, TopSpec | FillSpec | WindowedOverSpec
        ):  # it takes firings as such, and their times say nothing to it
            return Handover((WINDOW_START, WINDOW_END, *((OP,) if before.replaces else ())))
        if after.time in (WINDOW_START, WINDOW_END):  # it goes by the windows of `before`
            changed = () if after.changes is None else (OP,)
            return Handover((WINDOW_START, WINDOW_END, *changed, ROW))
        changes = (OP,) if before.continuation.changes is not None else ()
        own = (*before.keys, *(name for name, _ in before.aggregates))
        row = (ROW,) if ROW in after.columns and ROW not in own else ()
        columns = (WINDOW_START, WINDOW_END, WINDOW_TIME, *changes, *row)
        return Handover(columns, before.tick.micros, before.firing_time is not FiringTime.END)

    @property
    def reads_panes(self) -> bool:
        """Whether firings must say more of themselves than their window."""
        return self.stamped or OP in self.columns

    def schema(self, result: pa.Schema) -> pa.Schema:
        """The columns of the records, from those of the rows."""
        if not self.columns:
            return result
        own = self._own(result)
        bound = result.field("window").type.field("start").type
        types = {WINDOW_START: bound, WINDOW_END: bound, WINDOW_TIME: bound, OP: pa.string(), ROW: pa.struct(own)}
        return pa.schema([*own, *(pa.field(name, types[name]) for name in self.columns)])

    def bundle(self, rows: Sequence[pa.RecordBatch]) -> CheckedBatch | None:
        """The rows of a step as one bundle of the next stage; None if there are none."""
        records = [self.records(batch) for batch in rows if len(batch)]
        if not records:
            return None
        return CheckedBatch(records[0] if len(records) == 1 else pa.concat_batches(records))

    def records(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as records of the next stage."""
        if not self.columns:
            return rows
        schema = self.schema(rows.schema)
        own = [rows.column(name) for name in schema.names[: -len(self.columns)]]
        columns = [*own, *(self._column(name, rows, own, schema) for name in self.columns)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, name: str, rows: pa.RecordBatch, own: list[pa.Array], schema: pa.Schema) -> pa.Array:
        """One of the columns that a firing gets: of the windows and panes of `rows`, whose other columns are `own`."""
        match name:
            case "window_start":
                starts = rows.column("window").field("start")
                if not starts.null_count:
                    return starts
                return starts.fill_null(pa.scalar(0, pa.int64()).cast(starts.type))  # only a global window has none
            case "window_end":
                return rows.column("window").field("end")
            case "window_time" if self.stamped:
                return rows.column("pane").field("time")
            case "window_time":
                ends = rows.column("window").field("end")
                return pc.subtract(ends.view(pa.int64()), self.tick).view(ends.type)
            case "op":
                return rows.column("pane").field("op")
        return pa.StructArray.from_arrays(own, fields=list(schema.field(name).type))

    def _own(self, result: pa.Schema) -> list[pa.Field]:
        """The columns of rows but those that say their window and their pane; a join's may be called like new ones."""
        said = ("window", "pane") if self.panes else ("window", *self.columns)
        return [field for field in result if field.name not in said]
