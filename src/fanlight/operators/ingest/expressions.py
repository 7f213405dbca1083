"""Expressions of `pyarrow.compute`, computed over batches by Arrow's own engine."""

from __future__ import annotations

import difflib
import re
from typing import Any

import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from fanlight.errors import InputError, SpecError
from fanlight.kernels.plain_type import plain_type
from fanlight.model.preparation import text_of
from fanlight.operators.ingest.columns import plain

_REFUSED = (
    pa.ArrowInvalid,
    pa.ArrowNotImplementedError,
    pa.ArrowTypeError,
    pa.ArrowKeyError,
    pa.ArrowIndexError,
    pa.ArrowCapacityError,
)
"""What Arrow raises of an expression, or of a value that it is not defined for."""

_NAMES = re.compile(r"FieldRef\.Name\(([^()]*)\)")


def col(name: str) -> pc.Expression:
    """A column in an expression, for `where` and `select`: it is `pyarrow.compute.field`.

    Compare and compute with Python's operators; combine conditions with `&`, `|` and `~`, each in brackets.

    >>> import fanlight as fl
    >>> (fl.col("price") > 0) & ~fl.col("product").is_null()
    <pyarrow.compute.Expression ((price > 0) and invert(is_null(product, {nan_is_null=false})))>
    """
    said: object = name  # whatever it is, until it is checked
    if not isinstance(said, str) or not said:
        raise SpecError(f"col: {name!r} is no column name. Use text, as in col('price').")
    return pc.field(name)


class Evaluator:
    """Computes named expressions over batches, on one thread, in the order of the rows."""

    def __init__(self, word: str, expressions: tuple[tuple[str, Any], ...]) -> None:
        """`word` is the user's word for it, which errors begin with; a name may be empty."""
        self._word = word
        self._names = [name for name, _ in expressions]
        self._expressions = [expression for _, expression in expressions]
        self._known: pa.Schema | None = None
        self._reads: list[int] = []
        self._types: list[pa.DataType] = []

    def types(self, schema: pa.Schema) -> list[pa.DataType]:
        """The types of what is computed; a `SpecError` if it cannot be computed from these columns."""
        if self._expressions and (self._known is None or not schema.equals(self._known)):
            row = _row_of_nulls(schema)
            self._types = [self._type(name, row, schema) for name in self._names]
            self._reads = [place for place in range(len(schema)) if not self._does_without(place, row)]
            self._known = schema
        return self._types

    def columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """What is computed for these rows; an `InputError` for a value that an expression is not defined for."""
        if not self._expressions:
            return []
        self.types(batch.schema)
        reads = self._reads or [*range(min(batch.num_columns, 1))]  # any column says how many rows there are
        columns = [plain(batch.column(place)) for place in reads]
        table = pa.Table.from_arrays(columns, names=[batch.schema.names[place] for place in reads])
        try:
            found = _computed(self._expressions, table)
        except _REFUSED as problem:
            raise InputError(
                f"{self._word}: {self._culprit(table)} cannot be computed for a record of this bundle: "
                f"{_first_line(problem)}. Leave such records out by a where(…) before it, or use an expression that "
                "is defined for every value."
            ) from None
        return [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in found.columns]

    def _type(self, name: str, row: pa.Table, schema: pa.Schema) -> pa.DataType:
        expression = self._expressions[self._names.index(name)]
        try:
            return _computed([expression], row).schema.field(0).type
        except _REFUSED as problem:
            said = _told(name, expression)
            raise SpecError(f"{self._word}: {said} {_remedy(str(problem), _first_line(problem), schema)}") from None

    def _does_without(self, place: int, row: pa.Table) -> bool:
        try:
            _computed(self._expressions, row.remove_column(place))
        except _REFUSED:
            return False
        return True

    def _culprit(self, table: pa.Table) -> str:
        """The first expression that fails."""
        for name, expression in zip(self._names, self._expressions, strict=True):
            try:
                _computed([expression], table)
            except _REFUSED:
                return _told(name, expression)
        return ", ".join(map(text_of, self._expressions))


def _computed(expressions: list[Any], table: pa.Table) -> pa.Table:
    """One thread, so that rows stay in order and every run is the same."""
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    named = acero.ProjectNodeOptions(expressions, [str(place) for place in range(len(expressions))])
    return acero.Declaration("project", named, inputs=[source]).to_table(use_threads=False)


def _row_of_nulls(schema: pa.Schema) -> pa.Table:
    """One row: Arrow looks at types without any, but whether a value depends on one row only is seen by computing."""
    columns = [pa.nulls(1, plain_type(field.type)) for field in schema]
    return pa.Table.from_arrays(columns, names=schema.names)


def _told(name: str, expression: object) -> str:
    return f"{name} = {text_of(expression)}" if name else text_of(expression)


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0].rstrip(".")


def _remedy(problem: str, line: str, schema: pa.Schema) -> str:
    """What is wrong with an expression over these columns, which are named, and what to do."""
    names = _NAMES.findall(problem)
    if problem.startswith("No match") and names:
        near = difflib.get_close_matches(names[0], schema.names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near and near[0] != names[0] else ""
        there = ", ".join(schema.names) or "none"
        return f"reads {'.'.join(names)!r}, which is not there. The columns are {there}.{hint}"
    if problem.startswith("Multiple matches") and names:
        return f"reads {names[0]!r}, and more than one column has this name. Rename all but one."
    if "non-scalar" in problem:
        return "depends on more than one row, and is asked of each row alone. Use an aggregate of a window for it."
    there = ", ".join(f"{field.name}: {field.type}" for field in schema)
    return f"cannot be computed: {line}. The columns are {there}. Cast a column or compare with a value of its type."
