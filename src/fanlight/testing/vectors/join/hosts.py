"""Where the join of a case runs: in this process, or on the processor that runs on Spark. Both take the same steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.spec import JoinSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.testing.vectors.observe import Row


class JoinHost(Protocol):
    """A join that takes steps, by the names of its sides, and gives what left since it was asked last."""

    def add(self, records: Mapping[str, pa.RecordBatch]) -> None:
        """Take the records of both sides as one bundle."""

    def say(self, watermarks: Mapping[str, Timestamp]) -> None:
        """Move the watermarks of these sides."""

    def tick(self, clock: Timestamp) -> None:
        """Move the clock."""

    def end(self) -> None:
        """Both sides end."""

    def checkpoint_restore(self) -> None:
        """Go on from what was stored."""

    def take(self) -> list[Row]:
        """The joined rows."""

    def letters(self) -> int:
        """How many records became dead letters."""

    def kept(self) -> dict[str, pa.Table]:
        """The rows that are kept, by side."""


class EmbeddedJoin:
    """The standalone operator."""

    def __init__(self, spec: JoinSpec, columns: Mapping[str, pa.Schema]) -> None:
        self._spec = spec
        self._operator = StandaloneJoin(spec, intakes=sided_intakes(spec))
        self.add({side: pa.RecordBatch.from_pylist([], schema) for side, schema in columns.items()})

    def add(self, records: Mapping[str, pa.RecordBatch]) -> None:
        """Take the records of both sides as one bundle."""
        self._operator.add_all([Arrival(CheckedBatch(batch), Said(side)) for side, batch in records.items()])

    def say(self, watermarks: Mapping[str, Timestamp]) -> None:
        """Move the watermarks of these sides."""
        self._operator.add_all([Arrival(said=Said(side, said)) for side, said in watermarks.items()])

    def tick(self, clock: Timestamp) -> None:
        """Move the clock."""
        self._operator.advance(clock=clock)

    def end(self) -> None:
        """Both sides end."""
        self._operator.end()

    def checkpoint_restore(self) -> None:
        """Go on from a snapshot."""
        snapshot = self._operator.snapshot()
        self._operator = StandaloneJoin.restore(self._spec, snapshot, intakes=sided_intakes(self._spec))

    def take(self) -> list[Row]:
        """The joined rows."""
        rows: list[Row] = self._operator.take().to_pylist()
        return rows

    def letters(self) -> int:
        """How many records became dead letters."""
        return len(self._operator.take_dead_letters())

    def kept(self) -> dict[str, pa.Table]:
        """The rows that are kept, by side."""
        return self._operator.kept()


def spark_join(spec: JoinSpec, columns: Mapping[str, pa.Schema]) -> JoinHost:
    """The processor that runs on Spark; pyspark is imported only then."""
    from fanlight.testing.vectors.join.on_spark import SparkJoin

    return SparkJoin(spec, columns)


HOSTS: dict[str, Callable[[JoinSpec, Mapping[str, pa.Schema]], JoinHost]] = {
    "embedded": EmbeddedJoin,
    "spark": spark_join,
}
"""Where the joins of cases run, by engine."""
