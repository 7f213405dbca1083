"""The standalone operator: records in by hand, firings out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from fanlight.embedded.outbox import Downstream, Outbox
from fanlight.embedded.sources import Records, as_batch
from fanlight.errors import EngineError, StateError
from fanlight.kernels.groups import Ints
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp, TimestampLike, timestamp
from fanlight.model.windows import TimeDomain
from fanlight.operators.accounting import Accounting
from fanlight.operators.intake import Offsets, conform, with_times, without_replays, without_views
from fanlight.operators.panes import Signal
from fanlight.operators.plan import Plan
from fanlight.operators.reading import Question, messages_table, windows_table
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.operators.watermark import Watermarks, watermark_of
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address, ChunkStore

Hook = Callable[[pa.RecordBatch], pa.RecordBatch]

_SCHEMA = Address("index", 0, 1)
_ONLY = ""
"""The name of a source that needs none."""


class WindowOperator:
    """A window operator on its own: `add` records, `advance` time, take `results`.

    One `add` is one bundle and one step, as is one `advance`. The operator is bound to the columns of the first
    records it sees, or to `schema`.

    >>> import fanlight as fl
    >>> spec = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 minute")).agg(n=fl.count()).spec
    >>> operator = WindowOperator(spec)
    >>> operator.add([{"ts": 10}, {"ts": 50}])
    >>> operator.add([{"ts": 70}])
    >>> operator.take().column("n").to_pylist()
    [2]
    """

    def __init__(
        self,
        spec: WindowSpec,
        *,
        schema: pa.Schema | None = None,
        store: ChunkStore | None = None,
        before_process: Hook | None = None,
        before_send: Hook | None = None,
        downstream: Downstream | None = None,
        capacity: int | None = None,
    ) -> None:
        self.spec = spec
        self._store: ChunkStore = MemoryStore() if store is None else store
        self._before_process = before_process
        self._outbox = Outbox(before_send, downstream, capacity)
        self._shard: ShardOperator | None = None
        self._signal = Signal()
        self._watermarks = Watermarks(spec.watermark)
        self._positions: dict[str, int] = {}
        self._clock: Timestamp = 0
        self._ended = False
        if _SCHEMA in self._store.list("index"):
            schema = self._store.get(_SCHEMA).schema
        if schema is not None:
            self._bind(without_views(schema))
            self._store.commit()

    def add(
        self,
        records: Records,
        *,
        offset: Offsets = None,
        source: str | None = None,
        watermark: TimestampLike | None = None,
        clock: TimestampLike | None = None,
        signal: bool | None = None,
        finish: bool = False,
    ) -> None:
        """Take one bundle in, and with it the watermark, the clock and the signal of the step if there are any.

        `offset` is the source position of the first record, or of each; positions already taken are counted as
        duplicates and change nothing. Raises `BackPressure` while refused firings wait.
        """
        self._outbox.require_room()
        batch = as_batch(records, None if self._shard is None else self._shard.plan.schema)
        if self._shard is None and not len(batch.schema) and not len(batch):
            self.advance(watermark=watermark, clock=clock, source=source, signal=signal, finish=finish)
            return
        batch = conform(batch, without_views(batch.schema))
        name = _ONLY if source is None else source
        batch, through, replayed = without_replays(batch, offset, self._positions.get(name))
        if self._before_process is not None:
            batch = self._before_process(batch)

        def work() -> list[pa.RecordBatch]:
            shard = self._fitting(batch.schema)
            self._move_clock(clock)
            self._hear(signal, finish)
            shard.accounting.received += replayed
            shard.accounting.duplicates += replayed
            if through is not None:
                self._positions[name] = through
            return self._add(shard, batch, source, watermark)

        self._send(self._reversibly(work))

    def advance(
        self,
        *,
        watermark: TimestampLike | None = None,
        clock: TimestampLike | None = None,
        source: str | None = None,
        signal: bool | None = None,
        finish: bool = False,
    ) -> None:
        """Move time on without records: Samza's timeout.

        Offers refused firings again first. `signal` turns the caller's signal on or off, until the next word; turning
        it on makes this step look at every pane.
        """
        idle = watermark is None and clock is None and signal is None and not finish
        if not self._outbox.offer() and not idle:
            self._outbox.require_room()

        def work() -> list[pa.RecordBatch]:
            self._hear(signal, finish)
            return self._advance(watermark, clock, source)

        self._send(self._reversibly(work))

    def end(self) -> None:
        """Close and expire every window: the input has ended."""
        self._outbox.require_room()
        self._ended = True
        if self._shard is not None:
            self._send(self._shard.end(self._signal, self._notes()))

    def results(self) -> pa.Table:
        """The firings that nobody has taken yet; they stay until `flush`."""
        return self._outbox.peek(self._result_schema())

    def flush(self) -> None:
        """Let go of the firings that `results` showed; a blocked operator accepts again."""
        self._outbox.clear()

    def take(self) -> pa.Table:
        """`results`, then `flush`."""
        table = self.results()
        self.flush()
        return table

    @property
    def is_bound(self) -> bool:
        """Whether the columns are known: a schema was given, or records came."""
        return self._shard is not None

    @property
    def dead_letters(self) -> pa.Table:
        """The records that could not be used and that nobody has taken yet."""
        return self._require_shard().letters.peek()

    def take_dead_letters(self) -> pa.Table:
        """The dead letters, once."""
        return self._require_shard().letters.take()

    @property
    def accounting(self) -> Accounting:
        """Where every record went, exactly, at any moment."""
        return Accounting() if self._shard is None else replace(self._shard.accounting)

    @property
    def watermark(self) -> Timestamp:
        """The watermark acted on last."""
        return START_OF_TIME if self._shard is None else self._shard.watermark

    @property
    def clock(self) -> Timestamp:
        """The clock acted on last."""
        return self._clock

    def windows(self, start: TimestampLike | None = None, end: TimestampLike | None = None) -> pa.Table:
        """The windows that overlap `[start, end)`, with what they hold now: live ones, and those retention keeps."""
        shard = self._require_shard()
        return windows_table(shard, Question.of(shard.plan, start, end))

    def messages(
        self, start: TimestampLike | None = None, end: TimestampLike | None = None, *, key: Any = None
    ) -> pa.Table:
        """The stored records with `start <= time < end`, of one key or of all, by time and arrival."""
        shard = self._require_shard()
        return messages_table(shard, Question.of(shard.plan, start, end, key))

    def snapshot(self) -> bytes:
        """Everything this operator knows, firings not yet taken included, as bytes with a version and a checksum."""
        if not isinstance(self._store, MemoryStore):
            raise StateError(
                "snapshot: this operator's store keeps its state itself. Open a new operator on that store."
            )
        return self._outbox.snapshot(self._store, self._require_shard().letters)

    @classmethod
    def restore(cls, spec: WindowSpec, data: bytes, **options: Any) -> Self:
        """The operator that `snapshot` described. The spec must be the same."""
        store = MemoryStore.restore(data)
        operator = cls(spec, store=store, **options)
        operator._outbox.restore(store, operator._require_shard().letters)
        return operator

    def _bind(self, schema: pa.Schema) -> ShardOperator:
        shard = ShardOperator(Plan.bind(self.spec, schema), self._store)
        known = shard.notes.get("spec")
        if known is not None and known != repr(self.spec):
            raise StateError(
                f"restore: this state was written by another pipeline.\n  it: {known}\n  now: {self.spec!r}\n"
                "Use the spec it was written by, or start without it."
            )
        if known is None:
            self._store.put(_SCHEMA, pa.RecordBatch.from_pylist([], schema=schema))
        else:
            self._positions = dict(shard.notes["positions"])
            self._watermarks.restore(shard.notes["watermarks"])
            self._signal = Signal(*shard.notes["signal"])
            self._clock = shard.clock
        self._shard = shard
        if self._clock > shard.clock or self._watermarks.current > shard.watermark:
            self._step(shard, None)  # time has passed before the first record
        if self._ended and known is None:
            shard.end(notes=self._notes())
        return shard

    def _fitting(self, schema: pa.Schema) -> ShardOperator:
        """The shard, bound to columns like these; a column without a type gets one with its first value."""
        if self._shard is None:
            return self._bind(schema)
        known = self._shard.plan.schema
        typed = known
        for i, field in enumerate(known):
            if pa.types.is_null(field.type) and field.name not in self.spec.columns and field.name in schema.names:
                typed = typed.set(i, field.with_type(schema.field(field.name).type))
        if typed != known:
            letters = self._shard.letters.peek()
            self._shard = ShardOperator(Plan.bind(self.spec, typed), self._store)
            for batch in letters.cast(self._shard.letters.schema).to_batches():
                self._shard.letters.add(batch)
            self._store.put(_SCHEMA, pa.RecordBatch.from_pylist([], schema=typed))
        return self._shard

    def _add(
        self, shard: ShardOperator, batch: pa.RecordBatch, source: str | None, watermark: TimestampLike | None
    ) -> list[pa.RecordBatch]:
        batch = conform(batch, shard.plan.schema)
        shard.accounting.received += len(batch)
        batch, times = with_times(
            shard.plan, batch, shard.letters, shard.accounting, shard.watermark, self._clock, shard.arrived
        )
        judged: Ints = np.array([shard.watermark])
        if self.spec.window.domain is TimeDomain.EVENT:
            judged = np.atleast_1d(self._watermarks.judging(source, times, shard.watermark))
            self._watermarks.observe(source, int(times.max()) if len(times) else None, self._clock)
            self._hear_watermark(source, watermark)
        return self._step(shard, Bundle(batch, times, judged))

    def _advance(
        self, watermark: TimestampLike | None, clock: TimestampLike | None, source: str | None
    ) -> list[pa.RecordBatch]:
        self._move_clock(clock)
        self._watermarks.tick(self._clock)
        self._hear_watermark(source, watermark)
        return [] if self._shard is None else self._step(self._shard, None)

    def _hear_watermark(self, source: str | None, watermark: TimestampLike | None) -> None:
        """Take the caller's word for a watermark; where time is the clock or a position, there is nothing to say."""
        if watermark is not None and self.spec.window.domain is TimeDomain.EVENT:
            self._watermarks.explicit(source, timestamp(watermark))

    def _step(self, shard: ShardOperator, bundle: Bundle | None) -> list[pa.RecordBatch]:
        own = watermark_of(self.spec, self._clock, None if bundle is None else bundle.times)
        reached = self._watermarks.current if own is None else own
        leaving = shard.step(bundle, reached, self._clock, self._signal, self._notes())
        self._signal = replace(self._signal, said=False)
        return leaving

    def _send(self, leaving: list[pa.RecordBatch]) -> None:
        """Hand on what a step fired; the step is done, and an error from here on undoes nothing of it."""
        self._outbox.put(leaving)
        self._outbox.offer()

    def _hear(self, signal: bool | None, finish: bool) -> None:
        """Take note of the caller's signal; what is said holds until the next word."""
        if signal is not None or finish:
            self._signal = Signal(self._signal.on if signal is None else signal, finish, said=signal is True)

    def _move_clock(self, clock: TimestampLike | None) -> None:
        if clock is not None:
            self._clock = max(self._clock, timestamp(clock))

    def _reversibly(self, work: Callable[[], list[pa.RecordBatch]]) -> list[pa.RecordBatch]:
        """Do a step and return what fired; if it fails, everything is as it was before."""
        shard, clock, signal, positions = self._shard, self._clock, self._signal, dict(self._positions)
        watermarks = self._watermarks.state()
        letters = 0 if shard is None else shard.letters.count
        try:
            return work()
        except BaseException:
            self._store.rollback()
            self._shard, self._clock, self._signal, self._positions = shard, clock, signal, positions
            self._watermarks.restore(watermarks)
            if shard is not None:
                shard.letters.cut(letters)
                shard.reload()
            raise

    def _notes(self) -> dict[str, Any]:
        return {
            "spec": repr(self.spec),
            "positions": self._positions,
            "watermarks": self._watermarks.state(),
            "signal": [self._signal.on, self._signal.finish],
        }

    def _require_shard(self) -> ShardOperator:
        if self._shard is None:
            raise EngineError(
                "This operator has seen no records and knows no columns yet. Add records, or give it a schema."
            )
        return self._shard

    def _result_schema(self) -> pa.Schema | None:
        return None if self._shard is None else self._shard.plan.result
