"""Playing a script on a pipeline of several stages, to lay it beside the oracle's: as runs, and as stages of one shard.

Of stages before the last, letters and counts are seen; their rows are seen by what the next stage makes of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, zip_longest
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.embedded.feed import SourceFeed, StageFeed, UnionFeed
from fanlight.embedded.run import EmbeddedRun
from fanlight.model.preparation import Intake, Preparation, Tag, Where, WholeRow
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.watermarks import Combine, Several
from fanlight.operators.accounting import INPUT, Accounting
from fanlight.operators.bind import bind
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.stage_chain import StageChain, StagePlan
from fanlight.state.memory import MemoryStore
from fanlight.testing.oracle.graph import GraphOutcome, Prepared, Row, StageOutcome
from fanlight.testing.player import firing_of, letter_of, rows_of
from fanlight.testing.script import Counts, InputScript, Step

_WITHHELD = Reason.VALUE_OUT_OF_RANGE.value


def play_runs(
    specs: Sequence[StreamSpec],
    steps: Sequence[Step],
    schema: pa.Schema,
    conditions: Sequence[Prepared | None] = (),
    inputs: Mapping[str, InputScript] = MappingProxyType({}),
) -> list[GraphOutcome]:
    """What the runs of a pipeline give; each step has records, until the last, which is the end.

    The watermark is that of the first spec's strategy; if one step has a clock, all have. Several `inputs` take the
    place of the steps.
    """
    intakes = [_intake(spec, one) for spec, one in zip_longest(specs, conditions)]
    runs = [_first_run(specs[0], steps, inputs, schema, intakes[0])]
    for spec, intake in zip(specs[1:], intakes[1:], strict=True):
        feed = StageFeed(runs[-1], Handover.of(runs[-1].spec, spec))
        runs.append(EmbeddedRun(spec, feed, intakes={"": intake} if intake else None))
    outcomes: list[GraphOutcome] = []
    accounts, letters = [Accounting() for _ in runs], [0 for _ in runs]
    for step in runs[-1].steps():
        found = []
        for place, run in enumerate(runs):
            new = run.letters.table().slice(letters[place])
            rows = plain_rows(specs[-1], pa.Table.from_batches(step.fired)) if run is runs[-1] and step.fired else ()
            found.append(_outcome(rows, new, accounts[place], run.accounting))
            letters[place] += len(new)
            accounts[place] = run.accounting
        outcomes.append(tuple(found))
    return outcomes


def _first_run(
    spec: StreamSpec, steps: Sequence[Step], inputs: Mapping[str, InputScript], schema: pa.Schema, intake: Intake
) -> EmbeddedRun:
    """The run of the first stage, over one source or over several."""
    if not inputs:
        *given, _end = steps
        script = InputScript(
            tuple(step.records for step in given), tuple(step.clock for step in given if step.clock is not None)
        )
        return EmbeddedRun(spec, _feed(script, spec, schema), intakes={"": intake} if intake else None, schema=schema)
    assert isinstance(spec.watermark, Several)
    feeds = {name: _feed(script, spec, schema) for name, script in inputs.items()}
    tagged = {name: replace(intake, preparation=_tagged(name, intake.preparation)) for name in inputs}
    return EmbeddedRun(spec, UnionFeed(feeds, spec.watermark.combine is Combine.MIN), intakes=tagged)


def _feed(script: InputScript, spec: StreamSpec, schema: pa.Schema) -> SourceFeed:
    source = [pa.RecordBatch.from_pylist([*map(dict, bundle)], schema=schema) for bundle in script.bundles]
    clock = partial(next, iter(script.clocks)) if script.clocks else None
    return SourceFeed(iter(source), clock, None, schema, spec.unit)


def _intake(spec: StreamSpec, condition: Prepared | None) -> Intake:
    """What is done to the records of a stage first."""
    if isinstance(condition, WholeRow):
        return Intake(Preparation((condition,)), spec.time)
    steps = () if condition is None else (Where(pc.field(condition.column) >= condition.least),)
    return Intake(Preparation(steps), spec.time)


def _tagged(name: str, preparation: Preparation) -> Preparation:
    return Preparation((Tag(INPUT, name), *preparation.steps))


def play_chain(
    specs: Sequence[StreamSpec],
    steps: Sequence[Step],
    schema: pa.Schema,
    conditions: Sequence[Prepared | None] = (),
    *,
    restore_before: Collection[int] = (),
) -> list[GraphOutcome]:
    """What stages that share a shard give; watermarks come from the script, and nobody gives a signal.

    Before the steps of `restore_before` it starts anew from what the store holds. As on Spark, each step is told the
    watermark and the clock reached so far.
    """
    plans, store = stage_plans(specs, schema, conditions), MemoryStore()
    chain = StageChain(plans, store)
    outcomes: list[GraphOutcome] = []
    watermark = clock = START_OF_TIME
    for place, step in enumerate(steps):
        watermark = max(watermark, START_OF_TIME if step.watermark is None else step.watermark)
        clock = max(clock, START_OF_TIME if step.clock is None else step.clock)
        if place in restore_before:
            chain = StageChain(plans, store)
        before = [replace(stage.shard.accounting) for stage in chain.stages]
        rows = plain_rows(specs[-1], _table(_taken(chain, step, schema, Said(watermark=watermark, clock=clock))))
        found = []
        for stage, account in zip(chain.stages, before, strict=True):
            own = rows if stage is chain.stages[-1] else ()
            found.append(_outcome(own, stage.shard.require_books().letters.take(), account, stage.shard.accounting))
        outcomes.append(tuple(found))
    return outcomes


def stage_plans(
    specs: Sequence[StreamSpec], schema: pa.Schema, conditions: Sequence[Prepared | None] = ()
) -> list[StagePlan]:
    """The stages of a pipeline over records of these columns, ready to run in one shard."""
    first, *intakes = [_intake(spec, one) for spec, one in zip_longest(specs, conditions)]
    plans = [StagePlan(specs[0], partial(bind, specs[0], schema), intake=first if first else None)]
    for number, ((before, spec), intake) in enumerate(zip(pairwise(specs), intakes, strict=True), start=2):
        handover = Handover.of(before, spec)
        schema = handover.schema(plans[-1].bind().result)
        plans.append(
            StagePlan(spec, partial(bind, spec, schema), number, handover=handover, intake=intake if intake else None)
        )
    return plans


def plain_rows(spec: StreamSpec, table: pa.Table) -> tuple[Row, ...]:
    """The rows of a stage in the words of a script, with their times as microseconds."""
    plain = in_micros(table)
    if not isinstance(spec, WindowSpec):
        return tuple(plain.to_pylist())
    return tuple(firing_of(spec, row) for row in rows_of(plain)) if len(plain) else ()


def in_micros(table: pa.Table) -> pa.Table:
    """The table with every time in it as microseconds, inside lists and structs too."""
    return table.cast(pa.schema([field.with_type(_in_micros(field.type)) for field in table.schema]))


def _in_micros(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_micros(field.type)) for field in kind])
    return pa.list_(_in_micros(kind.value_type)) if pa.types.is_list(kind) else kind


def _taken(chain: StageChain, step: Step, schema: pa.Schema, said: Said) -> list[pa.RecordBatch]:
    if step.end:
        return chain.step(ends=True)
    came = None
    if step.records:
        came = CheckedBatch(pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=schema))
    return chain.step([Arrival(came, said)])


def _outcome(rows: tuple[Row, ...], letters: pa.Table, before: Accounting, after: Accounting) -> StageOutcome:
    told = in_micros(letters).to_pylist()
    counted = {name: count - getattr(before, name) for name, count in after.as_dict().items()}
    counts = Counts(records_in=counted.pop("received"), **counted)
    return StageOutcome(rows, tuple(letter_of(row) for row in told if row["reason"] != _WITHHELD), counts)


def _table(rows: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(rows) if rows else pa.table({})
