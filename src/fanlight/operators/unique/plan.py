"""What a shard of deduplication must know: the columns of rows and ids, and how far ids reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Ints, KeyCodes, encode
from fanlight.kernels.plain_type import plain_type
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.unique import UniqueSpec


@dataclass(frozen=True, slots=True)
class UniquePlan:
    """Deduplication bound to its columns."""

    spec: UniqueSpec
    rows: pa.Schema
    """The columns of a record, and so of a row that leaves."""
    ids: pa.Schema
    """The columns of an id, with plain types."""

    @staticmethod
    def of(spec: UniqueSpec, rows: pa.Schema) -> UniquePlan:
        """Look the columns up, and refuse ids whose values cannot be compared."""
        fields = [rows.field(name).with_type(plain_type(rows.field(name).type)) for name in spec.identity]
        for field in fields:
            is_foreign = isinstance(field.type, pa.BaseExtensionType) or pa.types.is_interval(field.type)
            if pa.types.is_nested(field.type) or is_foreign:
                raise InputError(
                    f"unique_by: column {field.name!r} is {field.type}, whose values cannot be compared, so no two "
                    "would be the same id. Name the fields inside it, or a text made from it."
                )
        return UniquePlan(spec, rows, pa.schema(fields))

    @property
    def reach(self) -> int:
        """How far apart records of one id may be, and still be the same."""
        return self.spec.within.micros

    def behind(self, watermarks: Ints) -> Ints:
        """`within` before each watermark, stopping at the start of time."""
        return np.maximum(watermarks, START_OF_TIME + self.reach) - self.reach

    @property
    def places(self) -> list[int]:
        """Where the columns of the id stand among those of a row."""
        return [self.rows.get_field_index(name) for name in self.ids.names]

    def encoded(self, columns: list[pa.Array], rows: int) -> KeyCodes:
        """The ids of rows, given the columns of the id, as codes into the distinct ones."""
        own = zip(columns, self.ids.types, strict=True)
        return encode([column if column.type == kind else column.cast(kind) for column, kind in own], rows)
