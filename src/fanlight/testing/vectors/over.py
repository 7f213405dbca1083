"""The op `over`: which rows leave after each step, and what was computed over their frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.aggregates import Aggregate, Avg
from fanlight.model.over.frame import Frame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import Timestamp
from fanlight.testing.vectors.adopt import says_its_order
from fanlight.testing.vectors.aggregates import read_aggregate
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.frame_text import frame_in, frame_of
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.over_so_far import differences_so_far, shows_so_far
from fanlight.testing.vectors.over_view import over_view
from fanlight.testing.vectors.row_functions import function_of
from fanlight.testing.vectors.sort import EngineRows, Records, sort_differences
from fanlight.testing.vectors.watermarks import strategy_of

_COLUMN = re.compile(r"(?P<call>(?P<name>\w+)\s*=\s*(?P<function>\w+)\((?P<given>[^)]*)\))\s*(?P<frame>.*)")
_WHERE = re.compile(r"(?P<column>\w+) where (?P<asked>\w+) > (?P<least>-?\d+)")


class EngineOver:
    """`over` as an engine runs it: records get the columns that it needs, and rows are read as the peer writes them."""

    def __init__(self, vector: Vector, engine: str) -> None:
        self._declared = _Declared(vector)
        schema = pa.Table.from_pylist([self._declared.record(record) for record in vector.records]).schema
        self._rows = EngineRows(self._declared.spec, schema, engine)

    @property
    def computed(self) -> list[str]:
        """The names of the new columns."""
        return [one.name for one in self._declared.spec.new_columns]

    def bundle(self, records: Records) -> list[Row]:
        """Take records in, as one step; the rows that leave."""
        return self._read(self._rows.bundle([self._declared.derived(record) for record in records]))

    def watermark(self, watermark: Timestamp) -> list[Row]:
        """Move the watermark; the rows that leave."""
        return self._read(self._rows.watermark(watermark))

    def checkpoint_restore(self) -> None:
        """Stop, and go on from what was stored."""
        self._rows.checkpoint_restore()

    def _read(self, rows: list[Row]) -> list[Row]:
        return [self._declared.read(row) for row in rows]


class EngineSoFar(EngineOver):
    """The same where times are as written: values of the column that orders rows may be among what is computed."""

    def bundle(self, records: Records) -> list[Row]:
        """Take records in, as one step; the rows that leave."""
        return self._written(super().bundle([{**one, TIME: moment(one[self._declared.order])} for one in records]))

    def watermark(self, watermark: Timestamp) -> list[Row]:
        """Move the watermark; the rows that leave."""
        return self._written(super().watermark(watermark))

    def _written(self, rows: list[Row]) -> list[Row]:
        timed = {TIME, *self._declared.timed}
        return [{name: written(value) if name in timed else value for name, value in row.items()} for row in rows]


class _Declared:
    """A case as a spec, and its records with the columns that it needs."""

    def __init__(self, vector: Vector) -> None:
        over = vector.mapping("over")
        self.conditions: dict[str, re.Match[str]] = {}
        self.order = over["order"]
        whole = frame_of(over.get("frame"))
        computed = [self._column(str(text), whole) for text in over.get("aggs") or over.get("cols") or ()]
        ties = over.get("tie_break") or ()
        self.timed = [name for name, _, function in computed if TIME in function.columns]
        self.whole_means = [name for name, _, function in computed if isinstance(function, Avg)]
        self.spec = OverSpec(
            TIME,
            tuple(computed),
            tuple(over["partition"]),
            tuple(OrderBy(name) for name in ([ties] if isinstance(ties, str) else ties)),
            forget=Duration.FOREVER,
            watermark=strategy_of(vector),
        )

    def record(self, record: Mapping[str, Any]) -> Row:
        """A record of the case, with what it is ordered by as its time, in microseconds."""
        return self.derived({**record, TIME: moment(record[self.order])})

    def derived(self, record: Mapping[str, Any]) -> Row:
        """A record with the columns of conditional counts: null where the condition is false."""
        more = {
            name: record[asked["column"]] if record[asked["asked"]] > int(asked["least"]) else None
            for name, asked in self.conditions.items()
        }
        return {**record, **more}

    def read(self, row: Row) -> Row:
        """A row that left. Flink's mean of whole numbers is a whole number."""
        means = {name: None if row[name] is None else int(row[name]) for name in self.whole_means}
        return {**{name: value for name, value in row.items() if name not in self.conditions}, **means}

    def _column(self, text: str, whole: Frame) -> tuple[str, Frame, RowFunction | Aggregate]:
        found = _COLUMN.fullmatch(text.strip())
        if found is None:
            raise VectorError(f"over: the column {text!r} cannot be read.")
        name, function, given = found["name"], found["function"], found["given"]
        frame = frame_in(found["frame"]) if found["frame"] else whole
        if (found_function := function_of(function, given)) is not None:
            return name, frame, found_function
        asked = _WHERE.fullmatch(given)
        if asked is None:
            return (name, frame, read_aggregate(found["call"])[1])
        self.conditions[f"where_{name}"] = asked
        return (name, frame, read_aggregate(f"{name}={function}(where_{name})")[1])


def over(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine looks over rows."""
    if says_its_order(vector):
        return over_view(vector, engine)
    if shows_so_far(vector):
        return differences_so_far(vector, lambda: EngineSoFar(vector, engine), EngineOver(vector, engine).computed)
    driver = EngineOver(vector, engine)
    return sort_differences(vector, lambda _: driver, driver.computed)
