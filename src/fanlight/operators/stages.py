"""From one stage to the next: what fired in a window becomes a record of that same window.

    stage 1   records ─► firings ─┐
                                  ▼
    stage 2              records of the same windows ─► firings      both act on one watermark

A stage fires a window when the watermark passes it, in the step that moves the watermark there. The next stage judges
those firings by the watermark it acted on before, so they are on time, and then acts on the same one: both stages of a
window leave in one step.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.cumulating import Cumulating
from fanlight.model.custom import Custom
from fanlight.model.firing import Accumulation
from fanlight.model.kinds import is_aligned
from fanlight.model.sessions import Session
from fanlight.model.sliding import Sliding
from fanlight.model.spec import WindowSpec
from fanlight.model.triggers import AtExpiry
from fanlight.model.watermarks import Explicit
from fanlight.model.windows import Same

START, END, ROW = "window_start", "window_end", "row"
"""Columns that the records of a later stage have besides those of the results: their window, and themselves."""


def next_spec(spec: WindowSpec, keys: tuple[str, ...], aggregates: tuple[tuple[str, Aggregate], ...]) -> WindowSpec:
    """The spec of a stage over the results of `spec`; it fires each window once, when that expires."""
    if not (spec.fires_once or spec.accumulation is Accumulation.DISCARDING):
        raise SpecError(
            f"rewindow: the stage before fires a pane more than once and is {spec.accumulation.value}, so its results "
            "would be counted again with every correction. Let it fire once, with trigger(at_expiry()), or make it "
            "discarding(), so that its firings add up."
        )
    for name in [*spec.keys, *(name for name, _ in spec.aggregates)]:
        if name in (START, END, ROW):
            raise SpecError(f"rewindow: the stage before has a column {name!r}, which means something here. Rename it.")
    kind = spec.window.of if isinstance(spec.window, Same) else spec.window
    if isinstance(kind, Session | Sliding | Custom) or not is_aligned(kind):
        raise SpecError(
            f"rewindow: each key has its own {type(kind).__name__} windows, so there are none that results of several "
            "keys share. Window them again by a time of their own, or use windows that all keys have."
        )
    return WindowSpec(
        time=END if isinstance(kind, Cumulating) else START,
        window=Same(kind),
        aggregates=aggregates,
        keys=keys,
        trigger=AtExpiry(),
        lateness=spec.lateness,
        watermark=Explicit(),
        semantics=spec.semantics,
        tick=spec.tick,
    )


def next_schema(result: pa.Schema) -> pa.Schema:
    """The columns of the records that results become."""
    own = _own(result)
    bound = result.field("window").type.field("start").type
    return pa.schema([*own, pa.field(START, bound), pa.field(END, bound), pa.field(ROW, pa.struct(own))])


def next_records(results: pa.RecordBatch) -> pa.RecordBatch:
    """The records that results become."""
    own = _own(results.schema)
    columns = [results.column(field.name) for field in own]
    starts, ends = (pc.struct_field(results.column("window"), side) for side in ("start", "end"))
    epoch = pa.scalar(0, pa.int64()).cast(starts.type)  # the window of all time has no start, and needs none
    row = pa.StructArray.from_arrays(columns, fields=own)
    return pa.record_batch([*columns, starts.fill_null(epoch), ends, row], schema=next_schema(results.schema))


def _own(result: pa.Schema) -> list[pa.Field]:
    return [field for field in result if field.name not in ("window", "pane")]
