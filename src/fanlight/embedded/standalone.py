"""The standalone operator: records in by hand, firings out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from fanlight.embedded.heard import Heard
from fanlight.embedded.identity import identify, keep_schema, known_schema
from fanlight.embedded.outbox import Downstream, Outbox
from fanlight.embedded.remarks import Remarks
from fanlight.embedded.sources import Records, as_bundle
from fanlight.embedded.standing import Standing, Turn
from fanlight.embedded.turnstile import Turnstile, alone, looking
from fanlight.errors import EngineError, StateError
from fanlight.kernels.groups import Ints
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, TimestampLike
from fanlight.model.windows import TimeDomain
from fanlight.operators.accounting import Accounting
from fanlight.operators.conforming import Came, conform, readable
from fanlight.operators.intake import Offsets, bury_malformed, with_times, without_replays, without_views
from fanlight.operators.plan import Plan
from fanlight.operators.reading import Question, messages_table, windows_table
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.state.memory import MemoryStore
from fanlight.state.store import ChunkStore

Hook = Callable[[pa.RecordBatch], pa.RecordBatch]

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
        strict: bool = False,
    ) -> None:
        """`strict` stops at a value that does not fit its column, and at a field that is none; else see `add`."""
        self.spec = spec
        self.remarks = None if strict else Remarks(declared=schema is not None)
        self._store: ChunkStore = MemoryStore() if store is None else store
        self._before_process = before_process
        self._outbox = Outbox(before_send, downstream, capacity)
        self._shard: ShardOperator | None = None
        self._heard = Heard(spec)
        self._ended = False  # before the columns were known
        self._turnstile = Turnstile()
        self._turn: Turn | None = None
        schema = known_schema(self._store) or schema
        if schema is not None:
            self._bind(without_views(schema))
            self._store.commit()

    @alone
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
        duplicates and change nothing. Raises `BackPressure` while refused firings wait. Whatever it raises, the step
        was whole or never was; who gives offsets may simply give the same again.

        A value that does not fit its column exactly makes its record a dead letter, and a field that is no column is
        ignored; `strict` operators raise an `InputError` instead.
        """
        self._outbox.require_room()
        came = as_bundle(records, None if self._shard is None else self._shard.plan.schema, self.remarks)
        if self._shard is None and not len(came.batch.schema) and not len(came.batch):
            self._move(watermark, clock, source, signal, finish)
            return
        name = _ONLY if source is None else source
        came, through, replayed = without_replays(came, offset, self._heard.positions.get(name))
        batch, malformed = came.parted()
        if self._shard is None or not batch.schema.equals(self._shard.plan.schema):
            batch = conform(batch, without_views(batch.schema))
        if self._before_process is not None:
            batch = self._before_process(batch)

        def work() -> None:
            shard = self._fitting(batch.schema)
            self._heard.hear_clock(clock)
            self._heard.hear_signal(signal, finish)
            shard.accounting.received += replayed
            shard.accounting.duplicates += replayed
            if through is not None:
                self._heard.positions[name] = through
            if malformed is not None:
                self._bury(shard, Came(conform(malformed.batch, shard.plan.schema), malformed.details))
            self._add(shard, batch, source, watermark)

        self._whole(work)

    @alone
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
        self._move(watermark, clock, source, signal, finish)

    @alone
    def end(self) -> None:
        """Close and expire every window: the input has ended."""
        self._outbox.require_room()
        shard = self._shard
        if shard is None:
            self._ended = True
        else:
            self._whole(lambda: shard.end(self._heard.signal, self._heard.notes(), self._told))

    @alone
    def results(self) -> pa.Table:
        """The firings that nobody has taken yet; they stay until `flush`."""
        return self._outbox.peek(self._result_schema())

    @alone
    def flush(self) -> None:
        """Let go of the firings that `results` showed; a blocked operator accepts again."""
        self._outbox.clear()

    @alone
    def take(self) -> pa.Table:
        """`results`, then `flush`; call these two yourself where an interrupt may come before you have the table."""
        table = self._outbox.peek(self._result_schema())
        self._outbox.clear()
        return table

    @property
    def is_bound(self) -> bool:
        """Whether the columns are known: a schema was given, or records came."""
        return self._shard is not None

    @property
    @alone
    def dead_letters(self) -> pa.Table:
        """The records that could not be used and that nobody has taken yet."""
        return self._require_shard().letters.peek()

    @alone
    def take_dead_letters(self) -> pa.Table:
        """The dead letters, once."""
        return self._require_shard().letters.take()

    @property
    @looking
    def accounting(self) -> Accounting:
        """Where every record went, exactly, at any moment."""
        return Accounting() if self._shard is None else replace(self._shard.accounting)

    @property
    @looking
    def watermark(self) -> Timestamp:
        """The watermark acted on last."""
        return START_OF_TIME if self._shard is None else self._shard.watermark

    @property
    @looking
    def clock(self) -> Timestamp:
        """The clock acted on last; the start of time, if none was ever told."""
        return self._heard.clock

    @alone
    def windows(self, start: TimestampLike | None = None, end: TimestampLike | None = None) -> pa.Table:
        """The windows that overlap `[start, end)`, with what they hold now: live ones, and those retention keeps."""
        shard = self._require_shard()
        return windows_table(shard, Question.of(shard.plan, start, end))

    @alone
    def messages(
        self, start: TimestampLike | None = None, end: TimestampLike | None = None, *, key: Any = None
    ) -> pa.Table:
        """The stored records with `start <= time < end`, of one key or of all, by time and arrival."""
        shard = self._require_shard()
        return messages_table(shard, Question.of(shard.plan, start, end, key))

    @alone
    def snapshot(self) -> bytes:
        """Everything this operator knows, firings not yet taken included, as bytes with a version and a checksum."""
        if not isinstance(self._store, MemoryStore):
            raise StateError(
                "snapshot: this operator's store keeps its state itself. Open a new operator on that store."
            )
        return self._store.snapshot(beside=self._outbox.chunks(self._require_shard().letters))

    @classmethod
    def restore(cls, spec: WindowSpec, data: bytes, **options: Any) -> Self:
        """The operator that `snapshot` described.

        The spec must say the same, except for how long the watermark waits. Functions are known by their names.
        """
        store = MemoryStore.restore(data)
        operator = cls(spec, store=store, **options)
        operator._outbox.restore(store, operator._require_shard().letters)
        return operator

    def _bind(self, schema: pa.Schema) -> ShardOperator:
        shard = ShardOperator(Plan.bind(self.spec, schema), self._store)
        identify(self._store, self.spec, schema)
        if shard.steps:
            self._heard.restore(shard.notes)
        self._shard = shard
        self._begin(shard)
        return shard

    def _begin(self, shard: ShardOperator) -> None:
        """Let the time that has passed before the first step have passed for the shard too."""
        if shard.steps == 0:
            reached = END_OF_TIME if self._ended else self._heard.reached(None)
            shard.begin(reached, self._heard.clock)

    def _fitting(self, schema: pa.Schema) -> ShardOperator:
        """The shard, bound to columns like these; a column without a type gets one with its first value."""
        if self._shard is None:
            return self._bind(schema)
        typed = known = self._shard.plan.schema
        if schema.equals(known):
            return self._shard
        for i, field in enumerate(known):
            if pa.types.is_null(field.type) and field.name not in self.spec.columns and field.name in schema.names:
                typed = typed.set(i, field.with_type(schema.field(field.name).type))
        if typed != known:
            letters = self._shard.letters.peek()
            self._shard = ShardOperator(Plan.bind(self.spec, typed), self._store)
            for batch in letters.cast(self._shard.letters.schema).to_batches():
                self._shard.letters.add(batch)
            keep_schema(self._store, typed)
        return self._shard

    def _add(
        self, shard: ShardOperator, batch: pa.RecordBatch, source: str | None, watermark: TimestampLike | None
    ) -> None:
        batch = self._conformed(shard, batch)
        shard.accounting.received += len(batch)
        batch, times = with_times(
            shard.plan, batch, shard.letters, shard.accounting, shard.watermark, self._heard.clock, shard.arrived
        )
        judged: Ints = np.array([shard.watermark])
        if self.spec.window.domain is TimeDomain.EVENT:
            watermarks = self._heard.watermarks
            judged = np.atleast_1d(watermarks.judging(source, times, shard.watermark))
            watermarks.observe(source, int(times.max()) if len(times) else None, self._heard.clock)
            self._heard.hear_watermark(source, watermark)
        self._step(shard, Bundle(batch, times, judged))

    def _conformed(self, shard: ShardOperator, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The records with the columns of the shard; those with a value that does not fit are buried."""
        schema = shard.plan.schema
        if self.remarks is None or batch.schema.equals(schema):
            return conform(batch, schema)
        self.remarks.unasked(batch.schema.names, schema)
        batch, malformed = readable(batch, schema).parted()
        if malformed is not None:
            self._bury(shard, malformed)
        return batch

    def _bury(self, shard: ShardOperator, malformed: Came) -> None:
        """Make dead letters of records with values that do not fit their columns."""
        bury_malformed(malformed, shard.letters, shard.accounting, shard.watermark)
        if self.remarks is not None:
            self.remarks.malformed(malformed)

    def _move(
        self,
        watermark: TimestampLike | None,
        clock: TimestampLike | None,
        source: str | None,
        signal: bool | None,
        finish: bool,
    ) -> None:
        idle = watermark is None and clock is None and signal is None and not finish
        if not self._outbox.offer() and not idle:
            self._outbox.require_room()

        def work() -> None:
            self._heard.hear_signal(signal, finish)
            self._heard.hear_clock(clock)
            self._heard.watermarks.tick(self._heard.clock)
            self._heard.hear_watermark(source, watermark)
            if self._shard is None:
                self._heard.acted()  # there is no pane that could heed a signal
            else:
                self._step(self._shard, None)

        self._whole(work)

    def _step(self, shard: ShardOperator, bundle: Bundle | None) -> None:
        heard = self._heard
        reached = heard.reached(None if bundle is None else bundle.times)
        shard.step(bundle, reached, heard.clock, heard.signal, heard.notes(), told=self._told)

    def _whole(self, work: Callable[[], object]) -> None:
        """Do a step; whatever is raised, and wherever, it was whole or never was. Then hand on what has fired."""
        self._turn = Turn(self._standing())
        try:
            work()
        except BaseException:
            self._recover()
            raise
        self._turn = None  # the step is done, and an error from here on undoes nothing of it
        self._outbox.offer()

    def _told(self, leaving: list[pa.RecordBatch]) -> None:
        """Take what leaves a step that is about to be committed; if it is not, `_recover` forgets it again."""
        assert self._turn is not None  # every step is somebody's turn
        self._heard.acted()
        self._outbox.put(leaving)
        self._turn = Turn(self._turn.before, self._standing())

    def _recover(self) -> None:
        """Put in order what an interrupted step has left; doing it twice does no harm."""
        if self._turn is None:
            return
        self._store.rollback()
        standing = self._turn.outcome()
        self._shard = standing.shard
        self._heard.restore(standing.heard)
        self._outbox.cut(standing.firings)
        if standing.shard is not None:
            standing.shard.reload()
            standing.shard.letters.cut(standing.letters)
            self._begin(standing.shard)
        self._turn = None

    def _standing(self) -> Standing:
        shard, firings = self._shard, self._outbox.count
        if shard is None:
            return Standing(None, 0, self._heard.notes(), 0, firings)
        heard = shard.notes if shard.steps else self._heard.notes()  # what is heard in a step is noted with it
        return Standing(shard, shard.steps, heard, shard.letters.count, firings)

    def _require_shard(self) -> ShardOperator:
        if self._shard is None:
            raise EngineError(
                "This operator has seen no records and knows no columns yet. Add records, or give it a schema."
            )
        return self._shard

    def _result_schema(self) -> pa.Schema | None:
        return None if self._shard is None else self._shard.plan.result
