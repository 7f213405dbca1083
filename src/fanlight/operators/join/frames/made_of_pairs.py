"""The rows that a user's function makes of matches: it gets those that leave together, as one Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fanlight.errors import EngineError, FanlightError
from fanlight.model.aggregates.code import UserBatch


def made_of_pairs(function: UserBatch, schema: pa.Schema, rows: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """What the function returns for these rows; it is not called for none."""
    if not any(map(len, rows)):
        return []
    table = pa.Table.from_batches(rows, schema=schema)
    called: Any = function.function
    name = getattr(called, "__qualname__", type(called).__qualname__)
    try:
        made = called(table)
    except FanlightError:
        raise
    except Exception as error:
        raise EngineError(
            f"batch: `{name}` raised {type(error).__name__}: {error}, over {len(table)} matches. What it makes of them "
            "would be unknown. Correct the function."
        ) from error
    wanted = pa.schema(list(function.output_type))
    if isinstance(made, pa.RecordBatch):
        made = pa.Table.from_batches([made])
    if not isinstance(made, pa.Table) or set(made.column_names) != set(wanted.names):
        got = f"a table of {made.column_names}" if isinstance(made, pa.Table) else f"a {type(made).__name__}"
        raise EngineError(
            f"batch: `{name}` returned {got}, and a table of {wanted.names} was declared. Return one, or declare "
            "others."
        )
    try:
        fitted = made.select(wanted.names).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EngineError(
            f"batch: `{name}` returned columns {made.schema.types} that do not fit {wanted.types}: {error}. Return "
            "values of these types, or declare others."
        ) from error
    return [batch for batch in fitted.to_batches() if len(batch)]
