"""The host of an operator: it does the work that every operator needs.

    bundle, watermark, clock ──► Shard.step ──► rows, dead letters, accounting
                                   │    ▲
                          take_in, fire, retire
                                 Operator

One step is one transaction over the store. Whatever is raised, and wherever, a step happens as a whole or not at all.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fanlight.errors import EngineError, StateError
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import WatermarkStrategy
from fanlight.operators.accounting import Accounting, Books
from fanlight.operators.bind import bind
from fanlight.operators.fingerprint import Fingerprint, require_same
from fanlight.operators.identity import identify, keep_schema, known_schema
from fanlight.operators.ingest.bundle import Bundle, TimeReader, reject_malformed, without_replays, without_views
from fanlight.operators.ingest.conform import CheckedBatch, conform, readable
from fanlight.operators.ingest.inputs import NOTHING_SAID, Arrival, Inputs, Offsets, Said
from fanlight.operators.ingest.prepare import Gate, Gated
from fanlight.operators.ingest.remarks import Remarks, fitted
from fanlight.operators.ingest.together import columns_together
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.operators.outbox import Outbox
from fanlight.operators.preaggregator import PreAggregated
from fanlight.operators.standing import Standing
from fanlight.operators.typed_state import with_later_types
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address, ChunkStore

Hook = Callable[[pa.RecordBatch], pa.RecordBatch]

_INDEX = Address("index", 0, 0)
_TEXT = pa.schema([("index", pa.string())])
_JSON = json.JSONEncoder(sort_keys=True)
_FINGERPRINT = "fingerprint"
_ONLY = ""
"""The name of a source that needs none."""


class Shard:
    """One share of the keys: it takes bundles, watermarks and clocks, and emits an operator's rows.

    All its state is in the store; everything else can be rebuilt from there. It is bound to the columns of the first
    records, unless the columns are given before.
    """

    watermark: Timestamp = START_OF_TIME
    """The watermark acted on last."""
    clock: Timestamp = START_OF_TIME
    arrived: int = 0
    """How many records have come."""
    steps: int = 0
    """How many steps have been committed."""
    operator: Operator | None = None
    books: Books | None = None

    def __init__(
        self,
        spec: StreamSpec,
        store: ChunkStore | None = None,
        *,
        bound: BoundSpec | None = None,
        outbox: Outbox | None = None,
        before_process: Hook | None = None,
        remarks: Remarks | None = None,
        followed: WatermarkStrategy | None = None,
        fingerprint: Fingerprint | None = None,
        intakes: Mapping[str, Intake] | None = None,
    ) -> None:
        """With `remarks`, records that do not fit become dead letters. `followed` and `fingerprint` are for Spark.

        In the `outbox` rows wait; without one, whoever calls `step` has them all. `followed` is what is left of the
        strategy where the packer follows records. `intakes` say by input ('' has no name) what is done to them first.
        """
        self.spec = spec
        self.store: ChunkStore = MemoryStore() if store is None else store
        self._times = TimeReader.of(spec) if bound is None or bound.times is None else bound.times
        self.inputs = Inputs(spec.watermark, by_event=self._times.in_event_time, followed=followed)
        self.bound: BoundSpec | None = None
        self._outbox = outbox
        self._gates = {name: Gate(intake, self._times) for name, intake in (intakes or {}).items()}
        self._before_process = before_process
        self._remarks = remarks
        self._fingerprint = fingerprint
        self._ended = False  # before the columns were known
        self._before: Standing | None = None
        self._after: Standing | None = None
        if bound is not None:
            self._hold(bound)

    @property
    def accounting(self) -> Accounting:
        """Where every record went."""
        return Accounting() if self.books is None else self.books.accounting

    def bind(self, schema: pa.Schema) -> None:
        """Bind the spec to these columns, and continue from the state in the store, if it is of the same pipeline."""
        identified = known_schema(self.store) or without_views(schema)
        self._hold(bind(self.spec, identified))
        identify(self.store, self.spec, identified)

    def prepared_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns that the operator sees, where records have these when they come."""
        gate = self._gates.get(_ONLY)
        return schema if gate is None else gate.schema_of(schema)

    def step(
        self,
        came: CheckedBatch | None = None,
        said: Said = NOTHING_SAID,
        *,
        offset: Offsets = None,
        preaggregated: PreAggregated | None = None,
        ends: bool = False,
    ) -> list[pa.RecordBatch]:
        """Take a bundle, then a watermark, then a clock, as one transaction; returns the output rows, in order.

        `offset` is the source position of the first record, or of each. `preaggregated` are pre-aggregated records of
        the same bundle. With `ends` the input ends: everything closes and expires.
        """
        return self.step_all((Arrival(came, said, offset),), preaggregated=preaggregated, ends=ends)

    def step_all(
        self, arrivals: Sequence[Arrival], *, preaggregated: PreAggregated | None = None, ends: bool = False
    ) -> list[pa.RecordBatch]:
        """The same for several inputs: their records are one bundle, and their watermarks move after it."""
        self._before = self.standing()
        try:
            if self.operator is None and all(arrival.came is None for arrival in arrivals):
                rows = self._listen(arrivals, ends=ends)
            else:
                rows = self._run(arrivals, preaggregated, ends=ends)
                self._save()
            self.inputs.acted()
            if self._outbox is not None:
                self._outbox.put(rows)
            self._after = self.standing()
            self.store.commit()
        except BaseException:
            self.recover()
            raise
        self._before = self._after = None  # the step is committed: an error from here on undoes nothing
        return rows

    def recover(self) -> None:
        """Complete or undo an interrupted step; calling it twice does no harm."""
        if self._before is None:
            return
        self.store.rollback()
        self.go_back(self._outcome(self._before, self._after))

    def go_back(self, standing: Standing) -> None:
        """Stand as in `standing`, as the store already does; calling it twice does no harm."""
        self.inputs.restore(standing.heard)
        self._ended = standing.ended
        if self._outbox is not None:
            self._outbox.cut(standing.rows)
        self.bound, self.books = standing.bound, standing.books
        self._let_time_pass()
        if self.books is None:
            self.arrived, self.steps, self.operator = 0, 0, None
        else:
            self.reload()
            self.books.letters.cut(standing.letters)
        self._before = self._after = None

    def reload(self) -> None:
        """Rebuild everything from the store, as after a restart.

        Before the first step the store has no time: the operator starts with the time that has passed for this shard.
        """
        assert self.bound is not None
        index = _read_index(self.store)
        self.watermark = index.get("watermark", self.watermark)
        self.clock = index.get("clock", self.clock)
        self.arrived = index.get("arrived", 0)
        self.steps = index.get("steps", 0)
        books = self.require_books()
        books.restore(index.get("accounting", {}), index.get("inputs", {}))
        self.operator = self.bound.make(self.store, books)

    def snapshot(self) -> bytes:
        """All state of this shard, including rows not yet taken, as bytes with a version and a checksum."""
        if not isinstance(self.store, MemoryStore):
            raise StateError(
                "snapshot: this operator's store keeps its state itself. Open a new operator on that store."
            )
        letters = self.require_books().letters
        return self.store.snapshot(beside=None if self._outbox is None else self._outbox.chunks(letters))

    def take_back(self, store: MemoryStore) -> None:
        """Restore the waiting rows and letters of a snapshot."""
        if self._outbox is not None:
            self._outbox.restore(store, self.require_books().letters)

    def require_books(self) -> Books:
        """The books; an `EngineError` while no columns are known."""
        if self.books is None:
            raise EngineError(
                "This operator has seen no records and knows no columns yet. Add records, or give it a schema."
            )
        return self.books

    def require_operator(self) -> Operator:
        """The operator; an `EngineError` while no columns are known."""
        self.require_books()
        assert self.operator is not None
        return self.operator

    def _run(
        self, arrivals: Sequence[Arrival], preaggregated: PreAggregated | None, *, ends: bool
    ) -> list[pa.RecordBatch]:
        """One step, not yet committed."""
        if self.bound is None and (together := columns_together(self._gates, arrivals)) is not None:
            self.bind(together)
        bundles: list[Bundle] = []
        for arrival in arrivals:  # all that a step brings comes at one clock
            self.inputs.hear(arrival.said)
        for arrival in arrivals:
            if arrival.came is not None:
                bundles.append(self._bundle(arrival, arrival.came, self.arrived + sum(map(len, bundles))))
            elif not ends:
                self.inputs.watermarks.tick(self.inputs.clock)
        for arrival in arrivals:
            self.inputs.hear_watermark(arrival.said)
        self.inputs.hear_controls()
        operator, books = self.require_operator(), self.require_books()
        self.clock = max(self.clock, self.inputs.clock)
        came = Bundle.united(bundles, preaggregated, apart=operator.takes_each_input)
        times: list[Ints | None] = [one.times for one in came]
        reached = END_OF_TIME if ends else max(self.watermark, *map(self._reached, times or [None]))
        each = self.inputs.by_input(ends=ends) if self.spec.goes_by_input else None
        whole = Progress(self.watermark, reached, self.clock, self.arrived - 1, self.inputs.signal, ends, each)
        for one in came[:-1]:  # nothing leaves before the records of the last input are there
            self.arrived += one.records
            if one.records:
                books.accept(operator.take_in(one, replace(whole, arrived=self.arrived - 1)))
        rows: list[pa.RecordBatch] = []
        parts: Sequence[tuple[Bundle | None, Timestamp]] = [(None, reached)]
        if came:
            parts = operator.parts(came[-1], whole)
        for part, through in parts:
            if part is not None:
                self.arrived += part.records
            progress = Progress(self.watermark, through, self.clock, self.arrived - 1, self.inputs.signal, ends, each)
            if part is not None and part.records:
                books.accept(operator.take_in(part, progress))
            rows += operator.fire(progress)
            operator.retire(progress)
            self.watermark = through
        return rows

    def _listen(self, arrivals: Sequence[Arrival], *, ends: bool) -> list[pa.RecordBatch]:
        """A step of a shard without columns: time passes, and the signal is noted."""
        self._ended = self._ended or ends
        for arrival in arrivals:
            self.inputs.hear(arrival.said)
            self.inputs.watermarks.tick(self.inputs.clock)
            self.inputs.hear_watermark(arrival.said)
        if self.spec.goes_by_input:
            self.inputs.by_input(ends=ends)
        self._let_time_pass()
        return []

    def _let_time_pass(self) -> None:
        """Move to the watermark and the clock that were said, while there is no operator to act on them."""
        self.watermark = END_OF_TIME if self._ended else self._reached(None)
        self.clock = self.inputs.clock

    def _bundle(self, arrival: Arrival, came: CheckedBatch, first: int) -> Bundle:
        """The bundle of an input: records that are new and fit, with their times and the watermarks that judge them."""
        said = arrival.said
        name = _ONLY if said.source is None else said.source
        came, through, replayed = without_replays(came, arrival.offset, self.inputs.positions.get(name))
        batch, malformed = (came.batch, None) if came.details is None else came.parted()
        if self.bound is None or not batch.schema.equals(self.bound.schema):
            batch = conform(batch, without_views(batch.schema))
        gate = self._gates.get(name)
        gated = Gated(batch) if gate is None else gate.take(batch, self.inputs.clock)
        batch = gated.batch
        self.inputs.control(said.source, gated.watermark)
        shown = len(batch)
        if self._before_process is not None:
            batch = self._before_process(batch)
        dropped = max(shown - len(batch), 0)
        books = self._fit(batch.schema)
        assert self.bound is not None
        books.of_input(name)
        books.repeat(replayed)
        books.drop(dropped)
        books.filter(gated.left_out + arrival.filtered)
        if through is not None:
            self.inputs.positions[name] = through
        if malformed is not None:
            unused = malformed.batch if gate is None else gate.unfiltered(malformed.batch)
            self._reject(CheckedBatch(readable(unused, self.bound.schema).batch, malformed.details), books)
        if not batch.schema.equals(self.bound.schema):
            batch, unfit = fitted(batch, self.bound.schema, self._remarks)
            if unfit is not None:
                self._reject(unfit, books)
        books.receive(books.counted(batch) + arrival.preaggregated)
        batch, times = self._times.read(batch, books, self.watermark, self.inputs.clock, first)
        books.of_input(None)
        return Bundle(batch, times, self.inputs.judge(said.source, times, self.watermark, gated.greatest), first)

    def _reached(self, times: Ints | None) -> Timestamp:
        """The watermark that a step with records of these times acts on."""
        own = self._times.watermark(self.inputs.clock, times)
        return self.inputs.watermarks.current if own is None else own

    def _fit(self, schema: pa.Schema) -> Books:
        """Adopt these columns; a column without a type gets one with its first value."""
        if self.bound is None:
            self.bind(schema)
        elif not schema.equals(self.bound.schema):
            typed = with_later_types(self.spec, self.bound.schema, schema, self.store)
            if typed != self.bound.schema:
                before, self.bound = self.require_books(), bind(self.spec, typed)
                self.books = self._new_books(self.bound)
                self.books.carry_on(before)
                self.operator = self.bound.make(self.store, self.books)
                keep_schema(self.store, typed)
        return self.require_books()

    def _reject(self, malformed: CheckedBatch, books: Books) -> None:
        reject_malformed(malformed, books, self.watermark)
        if self._remarks is not None:
            self._remarks.malformed(malformed)

    def _hold(self, bound: BoundSpec) -> None:
        self.bound, self.books = bound, self._new_books(bound)
        notes = _read_index(self.store).get("notes")
        if notes:
            self._recognise(notes)
        self.reload()

    def _new_books(self, bound: BoundSpec) -> Books:
        return Books(bound.schema, of_times=bound.of_times, inputs=self.inputs.names)

    def _recognise(self, notes: dict[str, Any]) -> None:
        """Restore the notes beside the state; the state of another pipeline is refused before anything changes."""
        stored = notes.get(_FINGERPRINT)
        if stored is not None and self._fingerprint is not None and stored != self._fingerprint:
            require_same(stored, self._fingerprint, "The state of this query")
        self.inputs.restore(notes)

    def _save(self) -> None:
        self.steps += 1
        notes = self.inputs.notes() | ({} if self._fingerprint is None else {_FINGERPRINT: self._fingerprint})
        index = {
            "steps": self.steps,
            "watermark": self.watermark,
            "clock": self.clock,
            "arrived": self.arrived,
            "accounting": self.accounting.as_dict(),
            **({} if self.books is None or not self.books.inputs else {"inputs": self.books.by_input()}),
            "notes": notes,
        }
        self.store.put(_INDEX, _chunk_of(_JSON.encode(index)))

    def standing(self) -> Standing:
        """How it stands now, between two steps."""
        letters = 0 if self.books is None else self.books.letters.count
        rows = 0 if self._outbox is None else self._outbox.count
        return Standing(self.bound, self.books, self.steps, self.inputs.notes(), letters, rows, self._ended)

    def _outcome(self, before: Standing, after: Standing | None) -> Standing:
        """The standing after a step, finished or not: the store knows whether it was committed."""
        if after is None or after.bound is None:
            return before
        return after if _read_index(self.store).get("steps", 0) >= after.steps else before


def _read_index(store: ChunkStore) -> dict[str, Any]:
    """The notes of the newest committed step; nothing before the first."""
    if _INDEX not in store.list("index"):
        return {}
    return dict(json.loads(store.get(_INDEX).column("index")[0].as_py()))


def _chunk_of(text: str) -> pa.RecordBatch:
    """One text as a chunk, built by hand: it is written in every step, and Arrow would infer its type each time."""
    data = text.encode()
    column = pa.StringArray.from_buffers(1, pa.py_buffer(struct.pack("<ii", 0, len(data))), pa.py_buffer(data))
    return pa.RecordBatch.from_arrays([column], schema=_TEXT)
