"""Warnings about records that a run accepts or rejects without stopping; each is given once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable

import pyarrow as pa

from fanlight.errors import FanlightWarning
from fanlight.operators.ingest.conform import CheckedBatch, conform, readable

_ABOVE = 2


class Remarks:
    """Warns once that a field is ignored, and once that a guessed type does not fit some records."""

    def __init__(self, *, declared: bool) -> None:
        """`declared` says whether the user gave the columns and types, so that nothing was guessed."""
        self._doubts_types = not declared
        self._ignores_fields = False

    def unasked(self, came: Iterable[str], schema: pa.Schema) -> None:
        """Warn about fields that are not columns."""
        if self._ignores_fields:
            return
        unknown = [name for name in came if name not in schema.names]
        if unknown:
            self._ignores_fields = True
            warnings.warn(
                f"The field {', '.join(map(repr, unknown))} is not a column, so it is ignored; the columns are "
                f"{', '.join(schema.names)}. To have it, name every field in `schema`; to stop instead, say "
                "strict=True. This warning is given once.",
                FanlightWarning,
                stacklevel=_ABOVE,
            )

    def malformed(self, records: CheckedBatch) -> None:
        """Warn about records with values that do not fit; `details` describe them."""
        if self._doubts_types and records.details is not None:
            self._doubts_types = False
            fault = json.loads(records.details[0].as_py())
            warnings.warn(
                f"The field {fault['field']!r} is {fault['value']!r} where {fault['expected']} was expected, so the "
                "record is a dead letter (malformed). The types came from the first bundle: if they are wrong, give "
                "the right ones as `schema`; to stop instead, say strict=True. This warning is given once.",
                FanlightWarning,
                stacklevel=_ABOVE,
            )


def fitted(
    batch: pa.RecordBatch, schema: pa.Schema, remarks: Remarks | None
) -> tuple[pa.RecordBatch, CheckedBatch | None]:
    """Records converted to these columns, and those with a value that does not fit, if there are any.

    Without `remarks`, a value that does not fit is an error, and so is a field that is no column.
    """
    if remarks is None:
        return conform(batch, schema), None
    remarks.unasked(batch.schema.names, schema)
    return readable(batch, schema).parted()
