"""Records made records of one side of a join: their time and keys beside the record itself, as one struct."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.repeat_text import repeat_text
from fanlight.kernels.times import Fault
from fanlight.model.continuation import OP
from fanlight.model.firing import Op
from fanlight.model.join.sides import KEY, TIME
from fanlight.model.preparation import Sided
from fanlight.operators.accounting import INPUT
from fanlight.operators.ingest.bundle import times_in
from fanlight.operators.ingest.columns import field_of, plain


class Siding:
    """The step `Sided` at work. What a change does is no part of its record: it stands beside it."""

    def __init__(self, sided: Sided) -> None:
        self._sided = sided

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """The columns after it."""
        sided = self._sided
        field_of(schema, sided.time, "join")
        keys = [
            pa.field(f"{KEY}{number}", plain_type(field_of(schema, name, "join").type))
            for number, name in enumerate(sided.keys)
        ]
        if sided.op is not None:
            field_of(schema, sided.op, "join")
        whole = pa.struct([field for field in schema if field.name != sided.op])
        sides = [pa.field(name, whole if name == sided.side else pa.null()) for name in sided.sides]
        said = [pa.field(OP, pa.string())] if sided.says_op else []
        return pa.schema([pa.field(TIME, pa.int64()), *keys, *sides, pa.field(INPUT, pa.string()), *said])

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        """The records after it; all stay."""
        sided, rows = self._sided, len(batch)
        schema = self.schema_of(batch.schema)
        record = batch if sided.op is None else batch.drop_columns([sided.op])
        whole = pa.StructArray.from_arrays(record.columns, fields=list(record.schema))
        sides = [whole if name == sided.side else pa.nulls(rows) for name in sided.sides]
        keys = [plain(batch.column(name)) for name in sided.keys]
        columns = [_as_micros(batch, sided), *keys, *sides, repeat_text(sided.side, rows)]
        if sided.says_op:
            inserts = repeat_text(Op.INSERT.code, rows)
            columns.append(inserts if sided.op is None else plain(batch.column(sided.op)).cast(pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=schema), None


def _as_micros(batch: pa.RecordBatch, sided: Sided) -> pa.Array:
    """The times of records as microseconds; one out of range stays out of range, and one that is missing null."""
    times, faults = times_in(batch, sided.time, sided.unit)
    if not faults.any():
        return pa.array(times)
    kept = np.where(faults == 0, times, np.iinfo(np.int64).min)
    return pa.array(kept, mask=faults == Fault.NULL)
