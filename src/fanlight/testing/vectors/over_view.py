"""The op `over` as a view: its input is a table that changes, and each column says its own partition and order.

    cols: ['o1=first_value(v1) partition p1,p2 order time,id rows 3 preceding..current']
    steps: [{in: […]}, {upsert: […]}, {delete_ids: […]}]

Each column is a pipeline of its own: the changes are normalized by `id`, and what is left of its rows is the column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.firing import Op
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.bind import bind
from fanlight.testing.vectors.aggregates import read_aggregate
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.row_functions import function_of
from fanlight.testing.vectors.sort import EngineRows

_ID, _OP = "id", "op"
_TIMES = ("time", "ts")
"""The columns that are the time of a record, if it has one."""
_COLUMN = re.compile(
    r"(?P<call>(?P<name>\w+)\s*=\s*(?P<function>\w+)\((?P<given>[^)]*)\))(?:\s+partition\s+(?P<keys>[\w,\s]+?))?"
    r"\s+order\s+(?P<order>\w+(?:\s+desc)?(?:\s*,\s*\w+(?:\s+desc)?)*)(?:\s+(?P<frame>(?:rows|range)\s.+))?"
)
_FRAME = re.compile(
    r"(?P<unit>rows|range)\s+(?:current|(?P<before>\d+) preceding)\.\.(?:current|(?P<after>\d+) following)"
)


def over_view(vector: Vector, engine: str) -> list[str]:
    """What differs in the rows of the view, after each step that is asked about."""
    came = [record for step in vector.steps for record in (*_records(step, "in"), *_records(step, "upsert"))]
    names = list(dict.fromkeys(name for record in came for name in record))
    time = next((name for name in _TIMES if name in names), None)
    columns = [_ViewColumn(str(text), vector, engine, came, time) for text in vector.mapping("over")["cols"]]
    require_attributes(vector, {*names, *(column.name for column in columns)})
    table: dict[Any, Row] = {}
    problems, comparison, groups = [], Comparison(vector.get("row_order", "any")), groups_of(vector)
    for number, step in enumerate(vector.steps):
        changes = _changes(step, table)
        for column in columns:
            column.take(changes)
        table = {row[_ID]: row for row in columns[0].rows()}
        for column in columns[1:]:
            for row in column.rows():
                table[row[_ID]][column.name] = row[column.name]
        problems += [
            f"after step {number}: {problem}"
            for problem in (comparison.differences(groups[number], list(table.values())) if number in groups else ())
        ]
    return problems


class _ViewColumn:
    """One column of the view, as two stages of an engine: the changes made consistent, and `over` kept up to date."""

    def __init__(
        self, text: str, vector: Vector, engine: str, came: Sequence[Mapping[str, Any]], time: str | None
    ) -> None:
        found = _COLUMN.fullmatch(text.strip())
        if found is None:
            raise VectorError(f"over: the column {text!r} cannot be read.")
        self.name = found["name"]
        self._time = time or _TIMES[0]
        schema = pa.Table.from_pylist([self._timed({**record, _OP: Op.INSERT.code}) for record in came]).schema
        normalized = NormalizeSpec(self._time, (_ID,), Changes(_OP, (_ID,)), watermark=Explicit())
        self._stages = [
            EngineRows(normalized, schema, engine),
            EngineRows(self._spec(found, vector), bind(normalized, schema).result, engine),
        ]
        self._shown: dict[Any, Row] = {}

    def take(self, changes: Sequence[Row]) -> None:
        """Take changes in, as one step, and make those that leave to what is shown."""
        rows = self._stages[0].bundle([self._timed(change) for change in changes])
        for change in self._stages[1].bundle(rows) if rows else []:
            row = {name: value for name, value in change.items() if name != _OP}
            if change[_OP] in (Op.INSERT.code, Op.UPDATE.code):
                if row[_ID] in self._shown:
                    raise VectorError(f"over: {row} leaves, and {self._shown[row[_ID]]} was not taken back.")
                self._shown[row[_ID]] = row
            elif (shown := self._shown.pop(row[_ID], None)) != row:
                raise VectorError(f"over: {row} is taken back, and {shown} was shown.")

    def rows(self) -> list[Row]:
        """What is shown."""
        return [dict(row) for row in self._shown.values()]

    def _timed(self, record: Row) -> Row:
        """A record with a time: where the case has none, all are of one."""
        return {self._time: 0, **record}

    def _spec(self, found: re.Match[str], vector: Vector) -> OverSpec:
        keys = _listed(found["keys"]) if found["keys"] else list(vector.mapping("over").get("partition") or ())
        order = [OrderBy(one.split()[0], one.endswith(" desc")) for one in _listed(found["order"])]
        is_timed = order[0] == OrderBy(self._time)
        function = function_of(found["function"], found["given"])
        return OverSpec(
            self._time,
            ((self.name, _frame_of(found["frame"]), function or read_aggregate(found["call"])[1]),),
            tuple(keys),
            tuple(order[1:]) if is_timed else (),
            forget=Duration.FOREVER if is_timed else None,
            watermark=Explicit(),
            mode=EmissionMode.RETRACTING,
            retention=Duration.FOREVER,
            by=() if is_timed else tuple(order),
            changes=Changes(_OP, (_ID,), consistent=True),
        )


def _records(step: Mapping[str, Any], field: str) -> list[Row]:
    return [dict(record) for record in step.get(field) or ()]


def _changes(step: Mapping[str, Any], table: Mapping[Any, Row]) -> list[Row]:
    """The changes of a step. A delete names its row, which has a time."""
    unknown = sorted(set(step) - {"in", "upsert", "delete_ids"})
    if unknown:
        raise VectorError(f"a step of a view with `{unknown[0]}` is not known.")
    inserted = [{**record, _OP: Op.INSERT.code} for record in _records(step, "in")]
    updated = [{**record, _OP: Op.UPDATE.code} for record in _records(step, "upsert")]
    return [*inserted, *updated, *({**table[one], _OP: Op.DELETE.code} for one in step.get("delete_ids") or ())]


def _frame_of(text: str | None) -> Frame:
    if text is None:
        return RowFrame()
    found = _FRAME.fullmatch(text.strip())
    if found is None:
        raise VectorError(f"over: the frame {text!r} cannot be read.")
    before, after = int(found["before"] or 0), int(found["after"] or 0)
    if found["unit"] == "rows":
        return RowFrame(preceding=before, following=after)
    return RangeFrame(preceding=Duration(before), following=Duration(after))


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]
