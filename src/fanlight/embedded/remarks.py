"""What a run says once of records that it goes on with, as warnings."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable

import pyarrow as pa

from fanlight.errors import FanlightWarning
from fanlight.operators.conforming import Came

_ABOVE = 2


class Remarks:
    """Says each thing once: that a field is ignored, and that types which some records do not have were a guess."""

    def __init__(self, *, declared: bool) -> None:
        """`declared` says whether the user gave the columns and types; nothing was guessed then."""
        self._doubts_types = not declared
        self._ignores_fields = False

    def unasked(self, came: Iterable[str], schema: pa.Schema) -> None:
        """Fields came, some of which may be none of the columns."""
        if self._ignores_fields:
            return
        unknown = [name for name in came if name not in schema.names]
        if unknown:
            self._ignores_fields = True
            warnings.warn(
                f"Nobody asked for {', '.join(map(repr, unknown))}, so it is ignored; the columns are "
                f"{', '.join(schema.names)}. To have it, name every field in `schema`; to stop instead, say "
                "strict=True. This is said once.",
                FanlightWarning,
                stacklevel=_ABOVE,
            )

    def malformed(self, records: Came) -> None:
        """Records came with values that do not fit, each with a detail."""
        if self._doubts_types and records.details is not None:
            self._doubts_types = False
            fault = json.loads(records.details[0].as_py())
            warnings.warn(
                f"The field {fault['field']!r} is {fault['value']!r} where {fault['expected']} was expected, so the "
                "record is a dead letter (malformed). The types came from the first bundle: if they are wrong, give "
                "the right ones as `schema`; to stop instead, say strict=True. This is said once.",
                FanlightWarning,
                stacklevel=_ABOVE,
            )
