"""Stages that share their keys, in one shard: each step goes through all of them.

    bundle ─► Shard 1 ─ rows ─► Shard 2 ─ rows ─► … ─► rows of the last
                  └ watermark handed on ┘

Nothing has to travel between them, because the records of a key are where the rows of the key are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy
from fanlight.operators.accounting import Accounting
from fanlight.operators.fingerprint import Fingerprint
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.operator import BoundSpec
from fanlight.operators.preaggregator import PreAggregated
from fanlight.operators.shard import Shard
from fanlight.state.room import Room
from fanlight.state.store import ChunkStore


def room_prefix(place: int) -> str:
    """What the spaces of the stage at `place` begin with in the store of its chain, from the second on.

    >>> room_prefix(2)
    '2.'
    """
    return f"{place}."


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage, ready to run in a shard."""

    spec: StreamSpec
    bind: Callable[[], BoundSpec]
    number: int = 1
    """Which stage of the pipeline it is, counted from 1."""
    followed: WatermarkStrategy = field(default_factory=Explicit)
    """What is left of the watermark strategy where whoever packs records follows them."""
    handover: Handover | None = None
    """How the rows of the stage before become its records; None if they come from outside."""
    fingerprint: Fingerprint | None = None
    intake: Intake | None = None
    """What is done to the records that the stage before hands on; whoever packs records has done it already."""
    follows: bool = False
    """Whether an input has the results of a stage before, which hands on its last rows when the input ends."""


@dataclass(slots=True)
class StageShard:
    """One stage of a chain, its shard, and its counts before the steps that are under way."""

    plan: StagePlan
    shard: Shard
    before: Accounting
    inputs_before: dict[str, dict[str, int]]


class StageChain:
    """The stages of one shard. The first has the store as it is, each other a room in it."""

    def __init__(self, plans: Sequence[StagePlan], store: ChunkStore) -> None:
        rooms = [store, *(Room(store, room_prefix(place)) for place in range(2, len(plans) + 1))]
        self.stages = [self._stage(plan, room) for plan, room in zip(plans, rooms, strict=True)]

    @property
    def first(self) -> Shard:
        """The shard of the stage that records come to."""
        return self.stages[0].shard

    def step(
        self, arrivals: Sequence[Arrival] = (), *, preaggregated: PreAggregated | None = None, ends: bool = False
    ) -> list[pa.RecordBatch]:
        """One step of every stage, in order; returns the rows of the last. With `ends` the input ends then.

        What leaves a stage in its last step and at its end is one bundle of the next.
        """
        rows: list[pa.RecordBatch] = []
        if arrivals:
            rows += self.first.step_all(arrivals, preaggregated=preaggregated)
        if ends:
            rows += self.first.step(ends=True)
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            rows = self._relay(before, stage, rows, ends=ends)
        return rows

    def _relay(
        self, before: StageShard, stage: StageShard, rows: list[pa.RecordBatch], *, ends: bool
    ) -> list[pa.RecordBatch]:
        """The step of a stage over the rows that the one before has emitted."""
        handover = stage.plan.handover
        assert handover is not None  # only the first stage gets its records from outside
        watermark = END_OF_TIME if ends else before.plan.spec.hands_on(before.shard.watermark)
        found = stage.shard.step(handover.bundle(rows), Said(watermark=watermark, clock=before.shard.clock))
        return [*found, *stage.shard.step(ends=True)] if ends else found

    def _stage(self, plan: StagePlan, store: ChunkStore) -> StageShard:
        intakes = None if plan.intake is None else {"": plan.intake}
        shard = Shard(
            plan.spec, store, bound=plan.bind(), followed=plan.followed, fingerprint=plan.fingerprint, intakes=intakes
        )
        return StageShard(plan, shard, replace(shard.accounting), shard.require_books().by_input())
