"""The shape of a result: all that a sink must know of its pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.accounting import Accounting
from fanlight.operators.operator import BoundSpec
from fanlight.sinks.unique_columns import Unique, as_columns, unique_columns

ACCOUNTING = pa.schema(
    [
        ("stage", pa.int32()),
        ("batch", pa.int64()),
        ("shard", pa.int32()),
        *((count, pa.int64()) for count in Accounting().as_dict()),
        ("watermark", pa.timestamp("us", "UTC")),
    ]
)
"""One row for each step of a shard: the counts, which add up, and the watermark acted on."""

ColumnPath = tuple[str, ...]
"""A column, or a field inside one: ("window", "start")."""

_WINDOW = (("window", "start"), ("window", "end"))
_PANE = ("timing", "number", "is_last")


@dataclass(frozen=True)
class ResultShape:
    """The shape of a result: its columns, the operations of its rows, and the columns that identify a row.

                          identity                     op              a table holds
    windowed aggregate    keys, window[, pane.number]  pane.op         one row for each identity, the last
    rows                  nothing                      none, or `op`   every row, in the order they came
    rows, unique="id"     id                           none, or `op`   one row for each id, the last

    Plain values, such that a process elsewhere can be told them.
    """

    rows: pa.Schema
    """The rows as they leave the shards: a pane that fires once has no number."""
    dead_letters: pa.Schema
    columns: tuple[ColumnPath, ...]
    """The columns of a flat table, in order."""
    identity: tuple[ColumnPath, ...] = ()
    """The columns that identify a row: a later row replaces the earlier one. Without any, rows are added."""
    op: ColumnPath | None = None
    """The column of a row's operation (`+I`, `-U`, `+U`, `-D`); without one, every row is an insertion."""

    @staticmethod
    def of(spec: StreamSpec, bound: BoundSpec, dead_letters: pa.Schema) -> ResultShape:
        """The shape of what a pipeline gives, and of the dead letters that come with it."""
        if bound.panes is None:
            rows = ResultShape.of_rows(bound.result, dead_letters, op=bound.op)
            return rows.upserted_by(bound.unique) if bound.unique else rows
        return ResultShape.of_panes(
            bound.result,
            dead_letters,
            spec.keys,
            fires_once=spec.fires_once,
            increments=bound.panes.increments,
            stamped=bound.panes.stamped,
        )

    @staticmethod
    def of_panes(
        rows: pa.Schema,
        dead_letters: pa.Schema,
        keys: tuple[str, ...],
        *,
        fires_once: bool,
        increments: bool = False,
        stamped: bool = False,
    ) -> ResultShape:
        """Rows with a `window`, and with a `pane` unless it `fires_once`.

        `increments` says that a firing adds to those before it, rather than standing for them; `stamped` that the time
        it carries says more than its window does.
        """
        fields = {"window": ("start", "end"), "pane": (*_PANE, "time") if stamped else _PANE}
        columns = tuple((name, *field) for name in rows.names for field in _fields(fields.get(name)))
        numbered = (("pane", "number"),) if increments and not fires_once else ()
        identity = (*((key,) for key in keys), *_WINDOW, *numbered)
        return ResultShape(rows, dead_letters, columns, identity, None if fires_once else ("pane", "op"))

    @staticmethod
    def of_rows(rows: pa.Schema, dead_letters: pa.Schema, *, op: str | None = None) -> ResultShape:
        """Rows that are just columns; `op` names the one that says what a row does, if there is one.

        >>> orders = pa.schema({"id": pa.int64(), "price": pa.float64()})
        >>> added = ResultShape.of_rows(orders, pa.schema([]))
        >>> added.identity, added.upserted_by("id").identity
        ((), (('id',),))
        """
        return ResultShape(rows, dead_letters, tuple((name,) for name in rows.names), op=None if op is None else (op,))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of a flat table that tell its rows apart."""
        return tuple(flat_name(path) for path in self.identity)

    def upserted_by(self, unique: Unique) -> ResultShape:
        """The same rows, identified by these columns: a later row replaces the earlier one.

        What a row did is done then, so a table has no column of it.
        """
        if self.identity:
            raise SpecError(
                f"write_to: `unique` ({', '.join(map(str, as_columns(unique)))}) tells rows apart, and those of a "
                f"windowed aggregate are known by key and window already: {', '.join(self.key)}. Leave it out."
            )
        columns = unique_columns(unique, self.rows, None if self.op is None else flat_name(self.op))
        kept = tuple(path for path in self.columns if path != self.op)
        return replace(self, columns=kept, identity=tuple((column,) for column in columns))

    def flat(self, rows: pa.Table) -> pa.Table:
        """The rows as a database has them."""
        names = [flat_name(path) for path in self.columns]
        return pa.table([_at(rows, path) for path in self.columns], names=names)

    def ops(self, rows: pa.Table) -> pa.ChunkedArray | None:
        """The operation of each row; None if all are insertions."""
        return None if self.op is None else _at(rows, self.op)


def flat_name(path: ColumnPath) -> str:
    """What a column, or a field inside one, is called in a flat table.

    >>> flat_name(("window", "start"))
    'window_start'
    """
    return "_".join(path)


def _fields(names: tuple[str, ...] | None) -> list[ColumnPath]:
    """The ends of the paths into a column: one for each of its fields, or the column itself."""
    return [()] if names is None else [(name,) for name in names]


def _at(rows: pa.Table, path: ColumnPath) -> pa.ChunkedArray:
    return pc.struct_field(rows[path[0]], list(path[1:])) if path[1:] else rows[path[0]]
