"""A join on its host, step by step, as the properties compare it with the oracle and with DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.sides import Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.reason import Reason
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.join.interval import IntervalJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome, JoinStep, SideCounts
from fanlight.testing.script import Record, same
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS, JoinPipeline

SPACES = (
    *("left", "right", "left_matched", "right_matched", "left_gone", "right_gone", "newest", "sessions"),
    *("counted", "frames", "early", "late"),
)


class JoinRun:
    """A standalone join that takes steps and gives outcomes; its columns are known from the start."""

    def __init__(self, spec: JoinSpec, store: MemoryStore | None = None) -> None:
        self.spec = spec
        self._columns = columns_of(spec.left, LEFT_COLUMNS), columns_of(spec.right, RIGHT_COLUMNS)
        self.store = MemoryStore() if store is None else store
        self.operator = StandaloneOperator(spec, store=self.store, intakes=sided_intakes(spec))
        if store is None:
            self._add([(spec.right.name, self._columns[1], ()), (spec.left.name, self._columns[0], ())])

    def step(self, step: JoinStep) -> JoinOutcome:
        """One step; its counts are those of the books, less those before it."""
        operator, spec, before = self.operator, self.spec, self._counts()
        if step.end:
            operator.end()
        else:
            sides = (
                (spec.right.name, self._columns[1], step.right, step.right_watermark),
                (spec.left.name, self._columns[0], step.left, step.left_watermark),
            )
            self._add([side[:3] for side in sides], [side[3] for side in sides], step.clock)
        after = self._counts()
        letters = operator.take_dead_letters().select(["reason", "record"]).to_pylist()
        told = tuple((Reason(one["reason"]), one["record"][one["record"]["input"]]) for one in letters)
        left, right = (
            SideCounts(*(now - then for now, then in zip(after[side.name], before[side.name], strict=True)))
            for side in (spec.left, spec.right)
        )
        rows = tuple(with_numbers(operator.take()).to_pylist())
        return JoinOutcome(rows, told, left, right, spec.hands_on(operator.watermark))

    def restore(self) -> JoinRun:
        """Another operator, made from a snapshot of this one."""
        return JoinRun(self.spec, MemoryStore.restore(self.operator.snapshot()))

    @property
    def held(self) -> int:
        """How many rows the store holds."""
        return sum(len(self.store.get(address)) for space in SPACES for address in self.store.list(space))

    def _add(
        self,
        sides: Sequence[tuple[str, pa.Schema, tuple[Record, ...]]],
        watermarks: Sequence[int | None] = (None, None),
        clock: int | None = None,
    ) -> None:
        arrivals = []
        for (name, columns, records), watermark in zip(sides, watermarks, strict=True):
            batch = pa.RecordBatch.from_pylist([*map(dict, records)], schema=columns)
            is_first = not self.operator.is_bound or bool(len(batch))
            came = CheckedBatch(batch) if is_first else None
            arrivals.append(Arrival(came, Said(name, watermark, clock)))
        self.operator.add_all(arrivals)

    def _counts(self) -> dict[str, tuple[int, int, int]]:
        found = {}
        for name, books in self.operator.accounting_by_input.items():
            assert books.adds_up
            found[name] = books.received, books.accepted, books.dead_letters
        return found


def embedded(spec: JoinSpec, steps: Sequence[JoinStep], restore_before: Collection[int] = ()) -> list[JoinOutcome]:
    """What the engine gives, step by step; nothing is left in its store when the input has ended."""
    run, outcomes = JoinRun(spec), []
    for place, step in enumerate(steps):
        if place in restore_before:
            run = run.restore()
        outcomes.append(run.step(step))
    assert run.held == 0
    return outcomes


def by_law(pipeline: JoinPipeline) -> list[JoinOutcome]:
    """What the oracle gives, step by step."""
    oracle = IntervalJoinOracle(pipeline.spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names, pipeline.condition)
    return [oracle.step(step) for step in pipeline.steps]


def columns_of(side: Side, columns: pa.Schema) -> pa.Schema:
    """The columns of a side; changes say what they do."""
    return columns if side.changes is None else columns.append(pa.field(side.changes.op, pa.string()))


def assert_same(ours: list[JoinOutcome], law: list[JoinOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert (mine.left, mine.right) == (right.left, right.right), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def letters(outcome: JoinOutcome) -> list[str]:
    """The letters of a step, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in outcome.dead_letters)


def rows_of(outcomes: Sequence[JoinOutcome]) -> list[str]:
    """All rows of a run that are left in the end, in an order of their own; nothing is taken back that is not there."""
    left: Counter[str] = Counter()
    for row in (row for outcome in outcomes for row in outcome.rows):
        whole = told({name: value for name, value in row.items() if name != "op"})
        left[whole] += -1 if row.get("op") == "-D" else 1
        assert left[whole] >= 0, f"{row} was not there"
    return sorted(left.elements())


def with_numbers(rows: pa.Table) -> pa.Table:
    """Rows whose windows are numbers: the last ones end after the years that Python's own times have."""
    if "window" not in rows.schema.names:
        return rows
    numbers = pa.struct({"start": pa.int64(), "end": pa.int64()})
    return rows.set_column(rows.schema.get_field_index("window"), "window", rows["window"].cast(numbers))


def told(value: Any) -> str:
    """A row as text, by column; -0.0 is 0.0."""
    return str(
        sorted((name, None if one is None else str(one + 0.0 if one == 0 else one)) for name, one in value.items())
    )
