"""The run of a pipeline itself, as the steps of a picture: its own records, in its own bundles.

What a pipeline does to records first (`where`, `select`, times by a function, several inputs) is done to them here, and
an operator that does the same says how far its watermark came. So the picture has the records as their operator sees
them, and the watermark that it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa

from fanlight.embedded.run import EmbeddedRun
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.errors import OtherEngine, SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.follow import judges_each
from fanlight.operators.ingest.inputs import Arrival
from fanlight.operators.ingest.prepare import Gate
from fanlight.viz.played import TimelineStep


class RunsItself(Protocol):
    """A pipeline that has records of its own."""

    @property
    def spec(self) -> StreamSpec: ...

    @property
    def is_on_spark(self) -> bool: ...

    def again(self) -> RunsItself: ...

    def embedded_run(self) -> EmbeddedRun: ...


def own_run(pipeline: RunsItself) -> tuple[StreamSpec, Iterator[TimelineStep]]:
    """The spec to draw, and the steps of the pipeline's own run; its source is read, from the start."""
    if pipeline.is_on_spark:
        raise OtherEngine(
            "timeline: this pipeline runs on Spark, and a picture is drawn of what runs in this process. Give it "
            "records, as in timeline(result, [{…}, {…}])."
        )
    spec, run = pipeline.spec, pipeline.again().embedded_run()
    if not run.intakes:
        return spec, _as_they_come(run)
    if judges_each(spec.watermark):
        raise SpecError(
            "timeline: records are prepared by where, select or a function, and judged one by one; a picture does not "
            "show both. Give it the records as they are afterwards, as in timeline(result, [{…}, {…}])."
        )
    told: Any = spec  # a dataclass, as every spec is
    return replace(told, watermark=Explicit()), _prepared(spec, run)


def _as_they_come(run: EmbeddedRun) -> Iterator[TimelineStep]:
    """The bundles as they are, of a source or of the stage before.

    Records that could not be read are nowhere on the axis, and left out.
    """
    for brought in run.brought():
        for one in brought.arrivals:
            records = None if one.came is None else one.came.parted()[0]
            yield TimelineStep(records, one.said.watermark, one.said.clock, ends=brought.ends)


def _prepared(spec: StreamSpec, run: EmbeddedRun) -> Iterator[TimelineStep]:
    """The bundles as their operator sees them, with the watermark that it came to."""
    operator: StandaloneOperator[StreamSpec] = StandaloneOperator(spec, intakes=run.intakes)
    gates = {name: Gate(intake, TimeReader.of(spec)) for name, intake in (run.intakes or {}).items()}
    for brought in run.brought():
        operator.add_all(brought.arrivals)
        operator.take()
        batches = [batch for one in brought.arrivals for batch in _gated(one, gates, operator.clock)]
        records = _as_one(batches).combine_chunks().to_batches() if batches else []
        clock = None if operator.clock == START_OF_TIME else operator.clock
        yield TimelineStep(records[0] if records else None, operator.watermark, clock, ends=brought.ends)


def _as_one(batches: list[pa.RecordBatch]) -> pa.Table:
    """The records of all inputs; what an input says nothing of is null there, and has no type."""
    return pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")


def _gated(arrival: Arrival, gates: dict[str, Gate], clock: int) -> Iterator[pa.RecordBatch]:
    """The records of one input after their preparation; none, if all are left out."""
    if arrival.came is not None:
        batch = gates[arrival.said.source or ""].take(arrival.came.parted()[0], clock).batch
        if len(batch):
            yield batch
