"""The join of a case on the processor that runs on Spark, one micro-batch a step."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.spec import JoinSpec
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.kept_rows import kept_rows
from fanlight.spark.output import FIRING, LETTER
from fanlight.spark.tester import InputsTester
from fanlight.spark.wire import opened
from fanlight.testing.vectors.observe import Row


class SparkJoin:
    """The real processor and the real packers, one micro-batch a step, with state in memory."""

    def __init__(self, spec: JoinSpec, columns: Mapping[str, pa.Schema]) -> None:
        self._tester = InputsTester(spec, columns, sided_intakes(spec))
        self._rows: list[Row] = []
        self._letters = 0
        self._clock = START_OF_TIME

    def add(self, records: Mapping[str, pa.RecordBatch]) -> None:
        """Take the records of both sides as one micro-batch."""
        self._step(records)

    def say(self, watermarks: Mapping[str, Timestamp]) -> None:
        """Move the watermarks of these sides."""
        self._step(watermarks=watermarks)

    def tick(self, clock: Timestamp) -> None:
        """Move the clock, in a micro-batch without records."""
        self._clock = clock
        self._step()

    def end(self) -> None:
        """Both sides end."""
        self._step(ends=True)

    def checkpoint_restore(self) -> None:
        """Nothing to do: every micro-batch makes a new processor, and only the state outlives it."""

    def take(self) -> list[Row]:
        """The joined rows."""
        rows, self._rows = self._rows, []
        return rows

    def letters(self) -> int:
        """How many records became dead letters."""
        count, self._letters = self._letters, 0
        return count

    def kept(self) -> dict[str, pa.Table]:
        """The rows that are kept, by side."""
        return kept_rows(self._tester.shard())

    def _step(
        self,
        records: Mapping[str, pa.RecordBatch] | None = None,
        watermarks: Mapping[str, Timestamp] | None = None,
        *,
        ends: bool = False,
    ) -> None:
        left = self._tester.batch(records or {}, watermarks=watermarks or {}, clock=self._clock, ends=ends)
        for row in left:
            if row["kind"] == FIRING:
                self._rows += opened(row["payload"]).to_pylist()
            elif row["kind"] == LETTER:
                self._letters += len(opened(row["payload"]))
