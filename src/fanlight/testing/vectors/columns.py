"""A vector's records as Arrow batches, all of one schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.aggregates import Sum
from fanlight.model.spec import WindowSpec
from fanlight.testing.vectors.derived import Rule, derived_of
from fanlight.testing.vectors.load import Vector

_NOT_DATA = ("side",)
"""What a record says about its way here rather than about itself."""
_DIGITS = 28
"""Of the 38 a decimal has: a sum needs room for more than its values."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The schema of every bundle, whatever its own records leave out.

    Whole numbers are int64. Fractions are decimals where they are summed, so that 1.11 + 2.22 is 3.33, and
    float64 elsewhere.
    """

    schema: pa.Schema
    derived: Mapping[str, Rule] = field(default_factory=dict)

    @classmethod
    def of(cls, vector: Vector, spec: WindowSpec) -> Columns:
        """The columns of all records of all steps, and those the spec reads, some of them computed."""
        derived = {name: rule for name, rule in derived_of(vector).items() if name in spec.columns}
        records = [_with(record, derived) for record in vector.records]
        names = dict.fromkeys(
            [*spec.columns, *(name for record in records for name in record if name not in _NOT_DATA)]
        )
        summed = {aggregate.column for _, aggregate in spec.aggregates if isinstance(aggregate, Sum)}
        fields = [
            pa.field(name, _type_of(name, (record.get(name) for record in records), exact=name in summed))
            for name in names
        ]
        return cls(pa.schema(fields), derived)

    def batch(self, records: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        """A bundle; what a record does not say, and no rule computes, is null."""
        records = [_with(record, self.derived) for record in records]
        arrays = [pa.array([_as(record.get(f.name), f.type) for record in records], f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _with(record: Mapping[str, Any], derived: Mapping[str, Rule]) -> Mapping[str, Any]:
    return {**record, **{name: rule(record) for name, rule in derived.items()}}


def _type_of(name: str, values: Iterable[Any], *, exact: bool) -> pa.DataType:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds <= {int}:
        return pa.int64()
    if kinds <= {int, float}:
        if exact and all(isfinite(value) for value in present):
            return pa.decimal128(_DIGITS, max(_places(value) for value in present))
        return pa.float64()
    try:
        return pa.array(present).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise VectorError(f"column `{name}` mixes {names}; a column has one type.") from None


def _places(value: float) -> int:
    exponent = Decimal(str(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _as(value: Any, kind: pa.DataType) -> Any:
    return Decimal(str(value)) if value is not None and pa.types.is_decimal(kind) else value
