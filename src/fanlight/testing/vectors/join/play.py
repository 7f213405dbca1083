"""The op `join`: which rows leave after each step, of two sides whose rows match by key and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.expect import groups_of, over_steps, require_attributes, step_of
from fanlight.testing.vectors.join.declare import LEFT, RIGHT, declared, sides_of
from fanlight.testing.vectors.join.hosts import HOSTS
from fanlight.testing.vectors.join.window import OF_WINDOWS, says_at_the_end, told_windows, with_time
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment, written
from fanlight.testing.vectors.observe import Row

_KEPT = {"state_left": LEFT, "state_right": RIGHT}
_FACTORS = {LEFT: 2, RIGHT: 3}
"""In Spark's tests of joins the value of a left record is twice its key, that of a right one three times."""
_SAMZA = {"id", "value", "cost"}
"""What rows of the orders and shipments of SAMZA-552 have."""
_ASSERTED = {"k", "l", "r", "l_k", "r_k", "lv", "rv", "l_id", "r_id", "ts"}


def join(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine joins two sides."""
    if engine not in HOSTS:
        raise NotAdoptedError(f"join: {engine} takes no steps of two sides. Use one of {', '.join(HOSTS)}.")
    keeps = any(name in row for group in vector.expect for row in group["rows"] for name in _KEPT)
    require_attributes(vector, set(_KEPT) if keeps else _ASSERTED | OF_WINDOWS | _SAMZA)
    run = _Played(vector, engine)
    comparison = Comparison(vector.get("row_order", "any"))
    if keeps:
        return _kept_otherwise(vector, run, comparison)
    steps = [run.step(step) for step in vector.steps]
    mode = vector.get("expect_mode", "each_step")
    problems = [
        f"after step {after}: {problem}"
        for after, expected, actual in over_steps("end_total" if mode == "state" else mode, groups_of(vector), steps)
        for problem in comparison.differences(expected, _standing(actual))
    ]
    for group in vector.get("dropped", []):
        after = step_of(vector, group)
        if run.dropped[after] != group["count"]:
            problems.append(f"after step {after}: expected {group['count']} dead letters, got {run.dropped[after]}")
    return problems


def _kept_otherwise(vector: Vector, run: _Played, comparison: Comparison) -> list[str]:
    """What differs in the rows that are kept, after the steps that say them."""
    kept = []
    for step in vector.steps:
        run.step(step)
        kept.append(run.kept())
    return [
        f"after step {after}: {problem}"
        for after, rows in groups_of(vector).items()
        for problem in comparison.differences(rows, [kept[after]])
    ]


def _standing(rows: list[Row]) -> list[Row]:
    """The rows that are left when those that were taken back are gone."""
    left: list[Row] = []
    for row in rows:
        if row["op"] == "-D":
            left.remove({**row, "op": "+I"})
        else:
            left.append(row)
    return left


class _Played:
    """The join of a case on its engine; `dropped` counts the dead letters of each step."""

    def __init__(self, vector: Vector, engine: str) -> None:
        self._vector = vector
        self._by_value = any(
            isinstance(row.get(name), str) for group in vector.expect for row in group["rows"] for name in ("l", "r")
        )
        self._says_values = any("lv" in row for group in vector.expect for row in group["rows"])
        self._sides = sides_of(vector)
        self._columns = {side: self._columns_of(side) for side in self._sides}
        self._host = HOSTS[engine](declared(vector), self._columns)
        self._ends = says_at_the_end(vector)
        self.dropped: list[int] = []

    def step(self, step: Mapping[str, Any]) -> list[Row]:
        """One step of the case; the rows that leave."""
        unknown = sorted(set(step) - {"in", "clock", "watermark", "native", "side", "end", "checkpoint_restore"})
        if unknown:
            raise VectorError(f"a step of a join with `{unknown[0]}` is not known.")
        if "clock" in step:
            self._host.tick(moment(step["clock"]))
        records = step.get("in") or ()
        bundles = [[one] for one in records] if self._vector.get("bundles") == "per_record" else [[*records]]
        for bundle in filter(None, bundles):
            sides = {side: [self._record(one) for one in bundle if one["side"] == side] for side in self._sides}
            self._host.add(
                {side: pa.RecordBatch.from_pylist(came, self._columns[side]) for side, came in sides.items() if came}
            )
        if "watermark" in step:
            spoken = [step["side"]] if "side" in step else self._sides
            self._host.say(dict.fromkeys(spoken, moment(step["watermark"])))
        if step.get("checkpoint_restore"):
            self._host.checkpoint_restore()
        if step.get("end") or (self._ends and step is self._vector.steps[-1]):
            self._host.end()
        self.dropped.append(self._host.letters())
        return [self._read(row) for row in self._host.take()]

    def kept(self) -> Row:
        """The times of the rows that are kept, by side."""
        kept = self._host.kept()
        return {name: sorted(map(written, kept[side][TIME].to_pylist())) for name, side in _KEPT.items()}

    def _columns_of(self, side: str) -> pa.Schema:
        """The columns of a side; one that brings nothing has those of the other."""
        records = self._vector.records
        own = [record for record in records if record["side"] == side]
        return pa.Table.from_pylist([self._record(record) for record in own or records]).schema

    def _record(self, record: Mapping[str, Any]) -> Row:
        if self._says_values and "v" not in record:
            record = {**record, "v": _FACTORS[record["side"]] * record["k"]}
        whole = with_time(record)
        return {**{name: value for name, value in whole.items() if name != "side"}, TIME: moment(whole[TIME])}

    def _read(self, row: Row) -> Row:
        """A joined row as the cases write it."""
        times = row[TIME], row.get(f"{TIME}_{self._sides[0]}")
        told = [None if time is None else written(time) for time in times]
        values = row.get("v"), row.get(f"v_{RIGHT}")
        left, right = [None if one is None else str(one) for one in values] if self._by_value else told
        found = {"l": left, "r": right, "lv": values[0], "rv": values[1]}
        found |= {"l_id": row.get("id"), "r_id": row.get(f"id_{RIGHT}")}
        key = row.get("k")
        found |= {"k": key, "l_k": None if times[0] is None else key, "r_k": None if times[1] is None else key}
        found |= {name: row.get(name) for name in ("op", "id", "value", "cost")}
        if "window" in row:
            found |= told_windows(row["window"], times)
        return {**found, "ts": written(max(time for time in times if time is not None))}
