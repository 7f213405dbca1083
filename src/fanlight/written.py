"""A result that can be written: to a database, a folder, a file, or whatever a function does with it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from fanlight.display.progress import Watched
from fanlight.embedded.run import EmbeddedRun
from fanlight.embedded.write import deliver, require_bounded, shape_of
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.operators.accounting import Accounting
from fanlight.sinks.ledger import accepting
from fanlight.sinks.targets import Properties, Target, sinks_of
from fanlight.sinks.unique_columns import Unique

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from fanlight.spark.run import SparkRun


class StageThatCounts(Protocol):
    """A stage whose records are counted."""

    @property
    def accounting(self) -> Accounting: ...


class Written(ABC):
    """A result that can be written. Whatever it is, it has rows, dead letters and stages that count."""

    @abstractmethod
    def embedded_run(self) -> EmbeddedRun:
        """The run in this process."""

    @abstractmethod
    def on_spark(self, what: str, remedy: str = ...) -> SparkRun:
        """The run on Spark."""

    @property
    @abstractmethod
    def is_on_spark(self) -> bool:
        """Whether it runs on Spark."""

    @property
    @abstractmethod
    def stages(self) -> Sequence[StageThatCounts]:
        """The stages of the pipeline, the first first."""

    @property
    @abstractmethod
    def dead_letters(self) -> Any:
        """The records that could not be used."""

    def write_to(
        self,
        target: Target,
        *,
        table: str | None = None,
        dead_letters: Target | None = None,
        accounting: Target | Literal[False] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        available_now: bool = False,
        flush: bool = False,
        every: DurationLike | None = None,
        name: str | None = None,
        unique: Unique | None = None,
        properties: Properties | None = None,
        keep: DurationLike | None = None,
        refused: Literal["stop", "letters"] = "stop",
        on_mismatch: Literal["refuse", "accept"] = "refuse",
    ) -> StreamingQuery | None:
        """Write rows, dead letters and accounting where `target` says; a stream's query is started and returned.

        `target`, `dead_letters` and `accounting` are each 'sqlite:///totals.db' or 'jdbc:…' (with `table`, and the
        driver's `properties`), a folder for parquet, a file of JSON lines, a function of (rows, batch), or a sink of
        your own (`fanlight.sinks.BatchSink`). The latter two go beside the first unless they are told where;
        `accounting=False` leaves it out. `keep` is how long they stay in a database. `refused="letters"` makes dead
        letters of rows that the database does not take.

        Rows without a window are added to a table; with `unique="id"`, a later row takes the place of the earlier one
        with the same id.

        `checkpoint` is the folder of a stream's state. `available_now` takes what is there and ends; with `flush` the
        input ends too, and every open window fires. `every` starts a batch that often; `name` names the query.
        `on_mismatch="accept"` goes on, once, where a place and the checkpoint do not belong together. See
        docs/sinks.md.

        In this process the source is read to its end, and all of it is written once, as batch 0 of the query `name`:
        what a place has already under that name is not written again. What is about streams is left out.

        >>> import fanlight as fl
        >>> counts = fl.stream([{"ts": 5}], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
        >>> counts.write_to(lambda rows, batch: print(rows["n"].to_pylist(), batch.accounting["accepted"].to_pylist()))
        [1] [1]
        """
        if not self.is_on_spark:
            require_bounded(
                checkpoint=checkpoint, available_now=available_now, flush=flush, every=every, properties=properties
            )
            self._write_here(
                target,
                dead_letters=dead_letters,
                accounting=accounting,
                name=name,
                keep=keep,
                on_mismatch=on_mismatch,
                table=table,
                unique=unique,
                refused=refused,
            )
            return None
        from fanlight.spark.write import write

        return write(
            self.on_spark("write_to"),
            target,
            table=table,
            dead_letters=dead_letters,
            accounting=accounting,
            checkpoint=checkpoint,
            available_now=available_now,
            flush=flush,
            every=every,
            name=name,
            unique=unique,
            properties=properties,
            keep=keep,
            refused=refused,
            on_mismatch=on_mismatch,
        )

    def _write_here(
        self,
        target: Target,
        *,
        dead_letters: Target | None,
        accounting: Target | Literal[False] | None,
        name: str | None,
        keep: DurationLike | None,
        on_mismatch: str,
        **said: Any,
    ) -> None:
        accepts, run = accepting(on_mismatch), self.embedded_run()
        with Watched() as work:
            rows = run.table(work.heard)
        letters: pa.Table = self.dead_letters
        shape = shape_of(run, letters.schema)
        kept = None if keep is None else Duration.of(keep)
        sinks = sinks_of(shape, target, dead_letters=dead_letters, accounting=accounting, keep=kept, **said)
        counted = [stage.accounting for stage in self.stages]
        deliver(sinks, shape, rows, letters, counted, name=name, accepts=accepts)
