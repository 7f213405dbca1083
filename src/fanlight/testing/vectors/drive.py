"""What a vector's steps are played on: a small protocol, and the engines behind it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator
from fanlight.embedded.window_operator import WindowOperator
from fanlight.errors import EngineError
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.testing.vectors.word import NO_WORD, Word


class Driver(Protocol):
    """One running aggregation, one step at a time; times are microseconds.

    `firings` and `dead_letters` give what came since they were last asked, in the columns of the standalone operator.
    """

    def bundle(self, records: pa.RecordBatch, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Take records in, as one step."""

    def watermark(self, watermark: Timestamp, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Move the watermark, of one input if `side` names it."""

    def clock(self, clock: Timestamp, *, word: Word = NO_WORD) -> None:
        """Move the clock."""

    def signal(self, word: Word) -> None:
        """Give the caller's signal, and nothing else."""

    def tick(self) -> None:
        """Let a step pass in which nothing comes."""

    def end(self) -> None:
        """The input ends."""

    def checkpoint_restore(self) -> None:
        """Stop, and go on from what was stored."""

    def firings(self) -> pa.Table:
        """The firings since the last call."""

    def dead_letters(self) -> pa.Table:
        """The dead letters since the last call."""

    def state(self) -> pa.Table:
        """The live windows and what is in them."""

    def reached(self) -> Timestamp:
        """The watermark that the last step acted on."""


def operator_of(spec: StreamSpec) -> type[StandaloneOperator[Any]]:
    """The standalone operator that runs a spec: that of windows can be asked for them."""
    return WindowOperator if isinstance(spec, WindowSpec) else StandaloneOperator


class EmbeddedDriver:
    """The standalone operator of the embedded engine."""

    def __init__(self, spec: StreamSpec, schema: pa.Schema) -> None:
        self._spec = spec
        self._schema = schema
        self._operator = operator_of(spec)(spec, schema=schema)

    def bundle(self, records: pa.RecordBatch, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Take records in, as one step."""
        self._operator.add(records, source=side, clock=clock, signal=word.on, finish=word.finish)

    def watermark(self, watermark: Timestamp, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Move the watermark, of one input if `side` names it."""
        self._operator.advance(watermark=watermark, source=side, clock=clock, signal=word.on, finish=word.finish)

    def clock(self, clock: Timestamp, *, word: Word = NO_WORD) -> None:
        """Move the clock."""
        self._operator.advance(clock=clock, signal=word.on, finish=word.finish)

    def signal(self, word: Word) -> None:
        """Give the caller's signal, and nothing else."""
        self._operator.advance(signal=word.on, finish=word.finish)

    def tick(self) -> None:
        """Let a step pass in which nothing comes."""
        self._operator.advance()

    def end(self) -> None:
        """The input ends."""
        self._operator.end()

    def checkpoint_restore(self) -> None:
        """Throw the operator away and make it again from its snapshot."""
        self._operator = operator_of(self._spec).restore(self._spec, self._operator.snapshot(), schema=self._schema)

    def firings(self) -> pa.Table:
        """The firings since the last call."""
        return self._operator.take()

    def dead_letters(self) -> pa.Table:
        """The dead letters since the last call."""
        return self._operator.take_dead_letters()

    def state(self) -> pa.Table:
        """The live windows and what is in them."""
        assert isinstance(self._operator, WindowOperator)
        return self._operator.windows()

    def reached(self) -> Timestamp:
        """The watermark that the last step acted on."""
        return self._operator.watermark


def spark_driver(spec: StreamSpec, schema: pa.Schema) -> Driver:
    """The processor that runs on Spark; pyspark is imported only then."""
    from fanlight.testing.vectors.drive_spark import SparkDriver

    return SparkDriver(spec, schema)


ENGINES: dict[str, Callable[[StreamSpec, pa.Schema], Driver]] = {"embedded": EmbeddedDriver, "spark": spark_driver}
"""The engines that vectors can be replayed on, by name."""


def require_engine(engine: str) -> None:
    """Refuse an engine that is not there, or that lacks a package, before the first case is run."""
    if engine not in ENGINES:
        raise EngineError(f"no engine is called {engine!r}. Use one of {', '.join(ENGINES)}.")
    if engine != "spark":
        return
    try:
        import_module("fanlight.testing.vectors.drive_spark")
    except ImportError as problem:
        raise EngineError(
            f"the engine 'spark' needs PySpark 4.2 or newer, and it cannot be imported ({problem}). "
            "Install it with pip install 'fanlight[spark]', or use --engine embedded."
        ) from problem
