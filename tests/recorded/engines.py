"""The engines that are recorded, each behind the vectors' own `Driver`; the one file that imports Fanlight's inside.

embedded    the public `WindowOperator`
spark       the processor that runs on Spark, over state in memory: no session, no Java
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import fanlight as fl
from fanlight.model.spec_json import from_document, to_document
from fanlight.spark.output import ACCOUNT, COUNTS
from fanlight.spark.tester import ShardTester
from fanlight.testing.vectors import ENGINES, Driver
from fanlight.testing.vectors.drive_spark import MicroBatch, MicroBatches
from fanlight.testing.vectors.word import NO_WORD

from .tape import Tape, Track

__all__ = ["NO_WORD", "RECORDED", "from_document", "recorded", "recording", "to_document"]

STEPS = ("bundle", "watermark", "clock", "signal", "tick", "end", "checkpoint_restore")
"""What of a driver is a step."""


class Embedded:
    """A standalone operator, with its accounts."""

    def __init__(self, spec: fl.WindowSpec, schema: pa.Schema) -> None:
        self.operator = fl.WindowOperator(spec, schema=schema)

    def bundle(self, records: pa.RecordBatch, *, side: str | None, clock: int | None, word: Any) -> None:
        self.operator.add(records, source=side, clock=clock, signal=word.on, finish=word.finish)

    def watermark(self, watermark: int, *, side: str | None, clock: int | None, word: Any) -> None:
        self.operator.advance(watermark=watermark, source=side, clock=clock, signal=word.on, finish=word.finish)

    def clock(self, clock: int, *, word: Any = NO_WORD) -> None:
        self.operator.advance(clock=clock, signal=word.on, finish=word.finish)

    def signal(self, word: Any) -> None:
        self.operator.advance(signal=word.on, finish=word.finish)

    def tick(self) -> None:
        self.operator.advance()

    def end(self) -> None:
        self.operator.end()

    def checkpoint_restore(self) -> None:
        self.operator = fl.WindowOperator.restore(self.operator.spec, self.operator.snapshot())

    def firings(self) -> pa.Table:
        return self.operator.take()

    def dead_letters(self) -> pa.Table:
        return self.operator.take_dead_letters()

    def state(self) -> pa.Table:
        return self.operator.windows()

    def reached(self) -> int:
        return self.operator.watermark

    def accounts(self) -> dict[str, int]:
        return self.operator.accounting.as_dict()


class Processor(MicroBatches):
    """One shard on the processor of Spark, with its accounts."""

    def __init__(self, spec: fl.WindowSpec, schema: pa.Schema) -> None:
        super().__init__(spec, schema)
        self._tester = ShardTester(self.spec, schema)
        self._accounts: Counter[str] = Counter()

    def run(self, batch: MicroBatch) -> Iterable[tuple[str, bytes]]:
        records = [] if batch.records is None else [batch.records]
        left = self._tester.batch(records, watermark=batch.watermark, clock=batch.clock, ends=batch.ends)
        for row in left:
            if row["kind"] == ACCOUNT:
                self._accounts.update({count: row[count] for count in COUNTS})
        return [(row["kind"], row["payload"]) for row in left if row["kind"] != ACCOUNT]

    def checkpoint_restore(self) -> None:
        """Every micro-batch makes a new processor."""

    def state(self) -> pa.Table:
        shard = self._tester.shard()
        return shard.require_operator().windows(shard.watermark, None, None)

    def accounts(self) -> dict[str, int]:
        return dict(self._accounts)


RECORDED: dict[str, Callable[[fl.WindowSpec, pa.Schema], Any]] = {"embedded": Embedded, "spark": Processor}


class Recorder:
    """A driver whose every step is written down as soon as it is taken; in all else the driver itself."""

    def __init__(self, driver: Any, track: Track) -> None:
        self._driver = driver
        self._track = track
        self._rows: list[pa.Table] = []
        self._letters: list[pa.Table] = []

    def __getattr__(self, name: str) -> Any:
        act = getattr(self._driver, name)
        if name not in STEPS:
            return act

        def step(*args: Any, **named: Any) -> None:
            act(*args, **named)
            self._note(name)

        return step

    def firings(self) -> pa.Table:
        rows, self._rows = self._rows, []
        return pa.concat_tables(rows) if rows else self._driver.firings()

    def dead_letters(self) -> pa.Table:
        letters, self._letters = self._letters, []
        return pa.concat_tables(letters) if letters else self._driver.dead_letters()

    def state(self) -> pa.Table:
        self._track.windows.append(self._driver.state())
        return self._track.windows[-1]

    def _note(self, step: str) -> None:
        self._rows.append(self._driver.firings())
        self._letters.append(self._driver.dead_letters())
        self._track.note(step, self._rows[-1], self._letters[-1], self._driver.accounts())


def recorded(engine: str, spec: fl.WindowSpec, schema: pa.Schema, tape: Tape) -> Driver:
    """A driver that is recorded."""
    driver = RECORDED[engine](spec, schema)  # a spec that is refused leaves no track
    recorder: Any = Recorder(driver, tape.track(spec))
    return recorder


@contextmanager
def recording(engine: str, tape: Tape) -> Iterator[str]:
    """The name of an engine that vectors can be replayed on while this is open: `engine`, recorded."""
    name = f"{engine}, recorded"
    ENGINES[name] = lambda spec, schema: recorded(engine, spec, schema, tape)
    try:
        yield name
    finally:
        del ENGINES[name]
