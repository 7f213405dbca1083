"""The op `window_agg_chain`: an aggregation over the results of another, window by window.

    agg: [cnt=count(distinct s) per k, 'then: n=count(*) per cnt']

Both stages act on one watermark. What the first fires is a record of the same window in the second.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fanlight.errors import VectorError
from fanlight.model.aggregates import Count
from fanlight.model.continuation import WINDOW_START
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtExpiry
from fanlight.model.windows.same import Same
from fanlight.operators.handover import Handover
from fanlight.operators.window.plan import Plan
from fanlight.testing.vectors.aggregates import MESSAGES, read_aggregate
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.declare import declare
from fanlight.testing.vectors.drive import ENGINES, Driver
from fanlight.testing.vectors.expect import differences, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.observe import firing_attributes
from fanlight.testing.vectors.play import play_vector
from fanlight.testing.vectors.word import NO_WORD, Word

_STAGE = re.compile(r"(?P<then>then\s*:\s*)?(?P<call>.+?)(?:\s+per\s+(?P<keys>\w+(?:\s*,\s*\w+)*))?")


def chained(vector: Vector, engine: str) -> list[str]:
    """What differs in what the last of the stages fires."""
    first, *later = _stages(vector)
    spec = replace(
        declare(replace(vector, fields={**vector.fields, "agg": "count"})), keys=first[0], aggregates=first[1]
    )
    columns = Columns.of(vector, spec)
    driver = ENGINES[engine](spec, columns.schema)
    schema = columns.schema
    for keys, aggregates in later:
        before, spec = spec, _again(spec, keys, aggregates)
        handover = Handover.of(before, spec)
        schema = handover.schema(Plan.bind(before, schema).result)
        driver = Chained(driver, ENGINES[engine](spec, schema), handover)
    require_attributes(vector, firing_attributes(spec))
    return differences(vector, play_vector(vector, spec, columns, driver, states=()))


def _again(spec: WindowSpec, keys: tuple[str, ...], aggregates: tuple[tuple[str, Any], ...]) -> WindowSpec:
    """A stage over the results of `spec`, inside their windows; each fires once, when it is final."""
    return WindowSpec(
        WINDOW_START,
        Same(spec.window),
        aggregates,
        keys,
        AtExpiry(),
        lateness=spec.lateness,
        watermark=Explicit(),
        semantics=spec.semantics,
        tick=spec.tick,
    )


def _stages(vector: Vector) -> list[tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]]:
    """The keys and the aggregates of each stage; `then` begins the next."""
    declared = vector.get("agg")
    stages: list[tuple[tuple[str, ...], list[tuple[str, Any]]]] = []
    for text in declared if isinstance(declared, list) else [declared]:
        said = _STAGE.fullmatch(str(text).strip())
        if said is None:
            raise VectorError(f"`agg` ({text!r}) must be aggregates, those of a later stage after `then:`.")
        if said["then"] or not stages:
            stages.append((tuple(re.split(r"\s*,\s*", said["keys"])) if said["keys"] else (), []))
        stages[-1][1].append(read_aggregate(said["call"]))
    for _, aggregates in stages:
        if MESSAGES not in dict(aggregates):
            aggregates.append((MESSAGES, Count()))
    return [(keys, tuple(aggregates)) for keys, aggregates in stages]


class Chained:
    """Two stages as one driver: every step of the first is a step of the second, on the watermark of the first."""

    def __init__(self, first: Driver, second: Driver, handover: Handover) -> None:
        self._first = first
        self._second = second
        self._handover = handover

    def bundle(self, records: pa.RecordBatch, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Take records in, as one step."""
        self._first.bundle(records, side=side, clock=clock, word=word)
        self._hand_on()

    def watermark(self, watermark: Timestamp, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Move the watermark, of one input if `side` names it."""
        self._first.watermark(watermark, side=side, clock=clock, word=word)
        self._hand_on()

    def clock(self, clock: Timestamp, *, word: Word = NO_WORD) -> None:
        """Move the clock."""
        self._first.clock(clock, word=word)
        self._hand_on()

    def signal(self, word: Word) -> None:
        """Give the caller's signal, and nothing else."""
        self._first.signal(word)
        self._hand_on()

    def tick(self) -> None:
        """Let a step pass in which nothing comes."""
        self._first.tick()
        self._hand_on()

    def end(self) -> None:
        """The input ends, and with it that of the second stage."""
        self._first.end()
        self._hand_on()
        self._second.end()

    def checkpoint_restore(self) -> None:
        """Stop, and go on from what was stored."""
        self._first.checkpoint_restore()
        self._second.checkpoint_restore()

    def firings(self) -> pa.Table:
        """The firings of the second stage since the last call."""
        return self._second.firings()

    def dead_letters(self) -> pa.Table:
        """The dead letters of the first stage since the last call."""
        return self._first.dead_letters()

    def state(self) -> pa.Table:
        """The live windows of the second stage and what is in them."""
        return self._second.state()

    def reached(self) -> Timestamp:
        """The watermark that the last step acted on."""
        return self._first.reached()

    def _hand_on(self) -> None:
        for batch in self._first.firings().combine_chunks().to_batches():
            self._second.bundle(self._handover.records(batch), side=None, clock=None, word=NO_WORD)
        self._second.watermark(self._first.reached(), side=None, clock=None, word=NO_WORD)
