"""The op `join`: which rows leave after each step, of two sides whose rows match by key and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator
from fanlight.errors import VectorError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.interval import Closed, Interval, IntervalJoinSpec, same_time
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Several
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.expect import groups_of, over_steps, require_attributes, step_of
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment, written
from fanlight.testing.vectors.observe import Row
from fanlight.testing.vectors.watermarks import strategy_of

LEFT, RIGHT = "L", "R"
_TYPES = {"outer": "full", "left_semi": "semi", "left_anti": "anti"}
_ASSERTED = {"k", "l", "r", "l_k", "r_k", "lv", "rv", "l_id", "r_id", "ts"}


def join(vector: Vector, engine: str) -> list[str]:
    """What differs where an engine joins two sides."""
    if engine != "embedded":
        raise NotAdoptedError("a join on Spark has two inputs, which cases are not played on; tests/spark has joins")
    require_attributes(vector, _ASSERTED)
    run = _EmbeddedJoin(vector)
    steps = [run.step(step) for step in vector.steps]
    mode = vector.get("expect_mode", "each_step")
    comparison = Comparison(vector.get("row_order", "any"))
    problems = [
        f"after step {after}: {problem}"
        for after, expected, actual in over_steps("end_total" if mode == "state" else mode, groups_of(vector), steps)
        for problem in comparison.differences(expected, actual)
    ]
    for group in vector.get("dropped", []):
        after = step_of(vector, group)
        if run.dropped[after] != group["count"]:
            problems.append(f"after step {after}: expected {group['count']} dead letters, got {run.dropped[after]}")
    return problems


class _EmbeddedJoin:
    """The standalone operator of a join; `dropped` counts the dead letters of each step."""

    def __init__(self, vector: Vector) -> None:
        self._vector = vector
        self._by_value = any(
            isinstance(row.get(name), str) for group in vector.expect for row in group["rows"] for name in ("l", "r")
        )
        self._spec = _declared(vector)
        self._operator = StandaloneOperator(self._spec, intakes=sided_intakes(self._spec))
        self._schema = pa.Table.from_pylist([self._record(record) for record in vector.records]).schema
        self.dropped: list[int] = []
        self._operator.add_all([self._arrival(side, []) for side in (RIGHT, LEFT)])

    def step(self, step: Mapping[str, Any]) -> list[Row]:
        """One step of the case; the rows that leave."""
        unknown = sorted(set(step) - {"in", "watermark", "native", "side", "end", "checkpoint_restore"})
        if unknown:
            raise VectorError(f"a step of a join with `{unknown[0]}` is not known.")
        records = step.get("in") or ()
        bundles = [[one] for one in records] if self._vector.get("bundles") == "per_record" else [[*records]]
        for bundle in filter(None, bundles):
            sides = {side: [self._record(one) for one in bundle if one["side"] == side] for side in (RIGHT, LEFT)}
            self._operator.add_all([self._arrival(side, came) for side, came in sides.items() if came])
        if "watermark" in step:
            spoken = [step["side"]] if "side" in step else [RIGHT, LEFT]
            said = moment(step["watermark"])
            self._operator.add_all([Arrival(said=Said(side, said)) for side in spoken])
        if step.get("checkpoint_restore"):
            snapshot = self._operator.snapshot()
            self._operator = StandaloneOperator.restore(self._spec, snapshot, intakes=sided_intakes(self._spec))
        if step.get("end"):
            self._operator.end()
        self.dropped.append(len(self._operator.take_dead_letters()))
        return [self._read(row) for row in self._operator.take().to_pylist()]

    def _arrival(self, side: str, records: Sequence[Row]) -> Arrival:
        return Arrival(CheckedBatch(pa.RecordBatch.from_pylist([*records], self._schema)), Said(side))

    def _record(self, record: Mapping[str, Any]) -> Row:
        return {**{name: value for name, value in record.items() if name != "side"}, TIME: moment(record[TIME])}

    def _read(self, row: Row) -> Row:
        """A joined row as the cases write it."""
        times = row[TIME], row[f"{TIME}_{RIGHT}"]
        told = [None if time is None else written(time) for time in times]
        values = row.get("v"), row.get(f"v_{RIGHT}")
        left, right = values if self._by_value else told
        found = {"l": left, "r": right, "lv": values[0], "rv": values[1]}
        found |= {"l_id": row.get("id"), "r_id": row.get(f"id_{RIGHT}")}
        key = row.get("k")
        found |= {"k": key, "l_k": None if times[0] is None else key, "r_k": None if times[1] is None else key}
        return {**found, "ts": written(max(time for time in times if time is not None))}


def _declared(vector: Vector) -> IntervalJoinSpec:
    join, keys = vector.mapping("join"), ("k",) if vector.get("key") else ()
    how = JoinType(_TYPES.get(join["type"], join["type"]))
    strategy = strategy_of(vector)
    each = dict(strategy.inputs) if isinstance(strategy, Several) else {RIGHT: strategy, LEFT: strategy}
    return IntervalJoinSpec(
        Side(LEFT, TIME, TimeUnit.MICROSECONDS, keys),
        Side(RIGHT, TIME, TimeUnit.MICROSECONDS, keys),
        _match(join),
        how,
        EmissionMode.ON_CLOSE if vector.get("emit") == "on_close" else EmissionMode.EAGER,
        lateness=length(vector.get("lateness_ms", 0)),
        stamp={JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left"),
        watermark=Several(((RIGHT, each[RIGHT]), (LEFT, each[LEFT]))),
    )


def _match(join: Mapping[str, Any]) -> Interval:
    if join["kind"] == "equal_time":
        return same_time()
    if "before" in join:
        return Interval(Duration(-length(join["before"]).micros), length(join["after"]))
    low, high = join.get("lower_inclusive", True), join.get("upper_inclusive", True)
    closed: dict[tuple[bool, bool], Closed] = {
        (True, True): "both",
        (True, False): "left",
        (False, True): "right",
        (False, False): "neither",
    }
    return Interval(length(join["lower"]), length(join["upper"]), closed[low, high])
