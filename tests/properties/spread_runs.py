"""A join that is spread, on several shards without Spark: the real packers send rows, each shard takes its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import LATEST, START_OF_TIME
from fanlight.model.time.watermarks import Several
from fanlight.operators.bind import bind
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.follow import told_as, told_by_packer
from fanlight.operators.ingest.prepare import Gate, common_schema
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.kept_rows import kept_rows
from fanlight.operators.shard import Shard
from fanlight.spark.far_ahead import Marks, marked
from fanlight.spark.pack import Packing, pack_by_shard
from fanlight.spark.processor import unpacked
from fanlight.spark.spreading import with_copies, without_copies
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.join.sides import JoinOutcome, JoinStep, SideCounts
from fanlight.testing.script import DeadLetter, Record
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS

from .join_runs import SPACES, told


class SpreadRun:
    """Shards of one join that take steps together, and give one outcome for each shard."""

    def __init__(self, spec: SpreadJoinSpec, shards: int) -> None:
        self.spec = spec
        self.columns = {spec.right.name: RIGHT_COLUMNS, spec.left.name: LEFT_COLUMNS}
        intakes = sided_intakes(spec)
        gates = {name: Gate(intake, TimeReader.of(spec)) for name, intake in intakes.items()}
        common = common_schema({name: gate.schema_of(self.columns[name]) for name, gate in gates.items()})
        schema = with_copies(spec, common)
        assert isinstance(spec.watermark, Several)
        self.packs = {
            name: pack_by_shard(
                spec,
                schema,
                list(range(shards)),
                lambda: None,
                heartbeat=True,
                packing=Packing(place, None, intakes[name], told_by_packer(strategy), Marks("ts")),
            )
            for place, (name, strategy) in enumerate(spec.watermark.inputs)
        }
        self.bound = bind(spec, schema)
        self.stores = [MemoryStore() for _ in range(shards)]
        self.clock: int | None = None

    def step(self, step: JoinStep) -> list[JoinOutcome]:
        """One micro-batch of all shards."""
        if step.clock is not None:
            self.clock = step.clock if self.clock is None else max(self.clock, step.clock)
        sides = {self.spec.right.name: step.right, self.spec.left.name: step.left}
        said = {self.spec.right.name: step.right_watermark, self.spec.left.name: step.left_watermark}
        come: list[dict[str, Any]] = []
        for name, pack in self.packs.items():
            records = [] if step.end or not sides[name] else [self._marked(name, sides[name])]
            for packed in pack(iter(records)):
                for row in packed.to_pylist():
                    spoken = said[name]
                    watermark = row["watermark"] if spoken is None else max(row["watermark"], spoken)
                    come.append({**row, "watermark": watermark})
        return [self._stepped(place, come, ends=step.end) for place in range(len(self.stores))]

    def shard(self, place: int) -> Shard:
        """A shard as each micro-batch finds it: only what is stored outlives a step."""
        return Shard(self.spec, self.stores[place], bound=self.bound, followed=told_as(self.spec.watermark))

    def kept(self) -> dict[str, Counter[str]]:
        """The rows of each side that the shards keep and have no copies of."""
        found: dict[str, Counter[str]] = {name: Counter() for name in self.columns}
        ids = list(range(len(self.stores)))
        plan = JoinPlan.bind(self.spec, self.bound.schema)
        for place in ids:
            for name, rows in kept_rows(self.shard(place)).items():
                own = without_copies(plan, name, rows, ids, place)
                found[name].update(told(row) for row in own.to_pylist())
        return found

    def _marked(self, name: str, records: Sequence[Record]) -> pa.RecordBatch:
        """Records, with marks on times too far ahead of the clock, which Spark knows."""
        batch = pa.RecordBatch.from_pylist([*map(dict, records)], schema=self.columns[name])
        limit = TimeReader.of(self.spec).furthest(START_OF_TIME if self.clock is None else self.clock)
        far = [one["ts"] is not None and limit < one["ts"] <= LATEST for one in records]
        return marked(batch, "ts", pa.array(far, pa.bool_()))

    def _stepped(self, place: int, come: list[dict[str, Any]], *, ends: bool) -> JoinOutcome:
        shard = self.shard(place)
        before = shard.require_books().by_input()
        if ends:
            rows = shard.step(ends=True)
        else:
            own = sorted(
                (r for r in come if r["shard"] == place), key=lambda r: (r["input"], r["origin"], r["sequence"])
            )
            arrivals, _ = unpacked(shard, own, tuple(self.columns), self.clock)
            rows = shard.step_all(arrivals)
        books = shard.require_books()
        assert books.accounting.adds_up
        after = books.by_input()
        written = books.letters.take().select(["reason", "record"]).to_pylist()
        letters = tuple((Reason(one["reason"]), one["record"][one["record"]["input"]]) for one in written)
        left, right = (
            SideCounts(*(after[n][what] - before[n][what] for what in ("received", "accepted", "dead_letters")))
            for n in (self.spec.left.name, self.spec.right.name)
        )
        found = tuple(row for batch in rows for row in batch.to_pylist())
        return JoinOutcome(found, letters, left, right, self.spec.hands_on(shard.watermark))


def spread_over(spec: SpreadJoinSpec, shards: int, steps: Sequence[JoinStep]) -> list[list[JoinOutcome]]:
    """What each of so many shards gives, step by step."""
    run = SpreadRun(spec, shards)
    outcomes = [run.step(step) for step in steps]
    assert not [address for store in run.stores for space in SPACES for address in store.list(space)]
    return outcomes


def assert_together(shards: list[list[JoinOutcome]], law: list[JoinOutcome]) -> None:
    """Step by step, all shards together give what the law says of all records, and each in its order."""
    for step, (each, whole) in enumerate(zip(shards, law, strict=True)):
        order = [told(row) for row in whole.rows]
        found = Counter(told(row) for one in each for row in one.rows)
        assert found == Counter(order), (
            f"step {step}: {found - Counter(order)} too much, {Counter(order) - found} missing"
        )
        for one in each:
            assert _is_in_order([told(row) for row in one.rows], order), f"step {step}: {one.rows}"
        assert _letters(letter for one in each for letter in one.dead_letters) == _letters(whole.dead_letters), (
            f"{step}"
        )
        assert _added(one.left for one in each) == whole.left, f"step {step}"
        assert _added(one.right for one in each) == whole.right, f"step {step}"
        assert {one.watermark for one in each} == {whole.watermark}, f"step {step}"


def _is_in_order(some: list[str], every: list[str]) -> bool:
    """Whether some of all stand in the order of all."""
    rest = iter(every)
    return all(one in rest for one in some)


def _letters(letters: Any) -> list[str]:
    found: list[DeadLetter] = list(letters)
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in found)


def _added(counts: Any) -> SideCounts:
    each: list[SideCounts] = list(counts)
    return SideCounts(*(sum(getattr(one, what) for one in each) for what in ("records_in", "accepted", "dead_letters")))
