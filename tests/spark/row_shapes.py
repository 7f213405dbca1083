"""Shapes of rows, and the records they run on: on Spark, in this process and by the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa

import fanlight as fl
from fanlight.model.preparation import WholeRow
from fanlight.testing.oracle.graph import Prepared

from .row_pipelines import GROUPS, Declared
from .shapes import BASE, DELAY, NUMBERS, SCHEMA, TEXTS, VALUES, record

SECONDS: tuple[tuple[float | None, ...], ...] = (
    (1.5, 9.25, 4, 12.75, 4, 19.5, 7, 16.25, 7, 20.0004, 14.5, 1.5),
    (24, 15.75, 31.5, 22.25, 40.5, 18, 24, 36, None, 29.75, 33.5, 15.75),
    (2.75, 45, 13.5, 52.25, 36, 60.001, 38.75, 45, 55.5, 21.5, None, 48.125, 34.25, 52.25),
)
"""The times of three micro-batches: some are the same, two are missing. Watermarks are 15 s after the first, 35.5 s
after the second: four of the third are behind that.
"""

CHANGED = pa.schema(
    {
        **{name: SCHEMA.field(name).type for name in ("ts", "text", "number", "v", "place")},
        "id": pa.int64(),
        "op": pa.string(),
    }
)
OPERATIONS = ("+I", "+I", "u", "+I", "-D", "u", "-U", "+I", "x", "-D")


def rows() -> list[pa.Table]:
    """The records of each micro-batch."""
    tables, number = [], 0
    for seconds in SECONDS:
        came = [record(number + place, second) for place, second in enumerate(seconds)]
        tables.append(pa.Table.from_pylist(came, schema=SCHEMA))
        number += len(came)
    return tables


def changes() -> list[pa.Table]:
    """The same times, as changes of a few rows: some of rows that are not there, and some that are no change."""
    tables, number = [], 0
    for seconds in SECONDS:
        came = [_change(number + place, second) for place, second in enumerate(seconds)]
        tables.append(pa.Table.from_pylist(came, schema=CHANGED))
        number += len(came)
    return tables


def _change(number: int, second: float | None) -> dict[str, Any]:
    return {
        "ts": None if second is None else BASE + timedelta(seconds=second),
        "text": TEXTS[number % 5],
        "number": NUMBERS[number % 7],
        "v": VALUES[number * 3 % 7],
        "place": number,
        "id": number * 5 % 8,
        "op": OPERATIONS[number % 10],
    }


@dataclass(frozen=True, slots=True)
class RowShape:
    """A pipeline of rows, and the name a test calls it by; what it reads follows from its name."""

    name: str
    declared: Declared

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs; none, if it has only one."""
        return ("even", "odd") if self.name.endswith("two-inputs") else ()

    @property
    def schema(self) -> pa.Schema:
        """The columns of its records."""
        return CHANGED if self.name.endswith("changes") else SCHEMA

    @property
    def bundles(self) -> list[pa.Table]:
        """What comes in each micro-batch."""
        return changes() if self.name.endswith("changes") else rows()

    @property
    def conditions(self) -> tuple[Prepared | None, ...]:
        """Which stages take whole records, as their declaration says it."""
        found: list[Prepared | None] = []
        for stage in self.over(*[[] for _ in self.inputs or ("only",)]).stages:
            intakes = (stage.embedded_run().intakes or {}).values()
            found.append(next((one for intake in intakes for one in intake.preparation.steps if _is_whole(one)), None))
        return tuple(found)

    def over(self, *sources: Any) -> Any:
        """The pipeline over a source, or over one for each of its inputs."""
        said: dict[str, Any] = {"time": "ts", "delay": fl.Duration(DELAY), "ahead": None, "unit": "us"}
        if self.schema is CHANGED:
            said |= {"op": "op", "unique": "id", "operations": {"u": "+U"}}
        streams = [fl.stream(source, **said) for source in sources]
        return self.declared(fl.union(**dict(zip(self.inputs, streams, strict=True))) if self.inputs else streams[0])


def _is_whole(step: object) -> bool:
    return isinstance(step, WholeRow)


ROW_SHAPES = [
    RowShape(f"{group}-{name}", declared) for group, found in GROUPS.items() for name, declared in found.items()
]
