"""An n-way join on its host, step by step, as the properties compare it with the oracle, with DuckDB, with itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.reason import Reason
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.join.n_way import NWayJoinOracle, NWayOutcome, NWayStep
from fanlight.testing.oracle.join.sides import SideCounts
from fanlight.testing.script import same
from fanlight.testing.strategies.n_way_joins import NWayPipeline, columns_of


class NWayRun:
    """A standalone n-way join that takes steps and gives outcomes; its columns are known from the start."""

    def __init__(self, spec: NWayJoinSpec, store: MemoryStore | None = None) -> None:
        self.spec = spec
        self.store = MemoryStore() if store is None else store
        self.operator = StandaloneOperator(spec, store=self.store, intakes=sided_intakes(spec))
        if store is None:
            self._add(NWayStep())

    def step(self, step: NWayStep) -> NWayOutcome:
        """One step; its counts are those of the books, less those before it."""
        before = self._counts()
        if step.end:
            self.operator.end()
        else:
            self._add(step)
        after = self._counts()
        letters = self.operator.take_dead_letters().select(["reason", "record"]).to_pylist()
        told = tuple((Reason(one["reason"]), one["record"][one["record"]["input"]]) for one in letters)
        counts = {
            name: SideCounts(*(now - then for now, then in zip(after[name], before[name], strict=True)))
            for name in after
        }
        rows = tuple(self.operator.take().to_pylist())
        return NWayOutcome(rows, told, counts, self.spec.hands_on(self.operator.watermark))

    def restore(self) -> NWayRun:
        """Another operator, made from a snapshot of this one."""
        return NWayRun(self.spec, MemoryStore.restore(self.operator.snapshot()))

    @property
    def held(self) -> int:
        """How many rows the store holds of all inputs."""
        spaces = [f"input{number}" for number in range(len(self.spec.sides))]
        return sum(len(self.store.get(address)) for space in spaces for address in self.store.list(space))

    def _add(self, step: NWayStep) -> None:
        arrivals = []
        for side in self.spec.arriving:
            records = [*map(dict, step.records.get(side.name, ()))]
            batch = pa.RecordBatch.from_pylist(records, schema=columns_of(side.name))
            came = CheckedBatch(batch) if not self.operator.is_bound or records else None
            arrivals.append(Arrival(came, Said(side.name, step.watermarks.get(side.name), step.clock)))
        self.operator.add_all(arrivals)

    def _counts(self) -> dict[str, tuple[int, int, int]]:
        found = {}
        for name, books in self.operator.accounting_by_input.items():
            assert books.adds_up
            found[name] = books.received, books.accepted, books.dead_letters
        return found


def n_way(spec: NWayJoinSpec, steps: Sequence[NWayStep], restore_before: Collection[int] = ()) -> list[NWayOutcome]:
    """What the engine gives, step by step; nothing is left in its store when the input has ended."""
    run, outcomes = NWayRun(spec), []
    for place, step in enumerate(steps):
        if place in restore_before:
            run = run.restore()
        outcomes.append(run.step(step))
    assert run.held == 0
    return outcomes


def n_way_by_law(pipeline: NWayPipeline) -> list[NWayOutcome]:
    """What the oracle gives, step by step."""
    columns = {side.name: columns_of(side.name).names for side in pipeline.spec.sides}
    oracle = NWayJoinOracle(pipeline.spec, columns, pipeline.conditions, pipeline.condition)
    return [oracle.step(step) for step in pipeline.steps]


def assert_same_n_way(ours: list[NWayOutcome], law: list[NWayOutcome]) -> None:
    """Step by step the same rows in the same order, the same letters, the same counts, the same watermark."""
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert _letters(mine) == _letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert dict(mine.counts) == dict(right.counts), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def _letters(outcome: NWayOutcome) -> list[str]:
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in outcome.dead_letters)
