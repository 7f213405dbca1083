"""The standalone operator: the caller adds records and takes firings; one caller at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from types import FrameType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

import pyarrow as pa

from fanlight.embedded.offsets import with_offset_field, with_offsets
from fanlight.embedded.sources import Records, as_bundle
from fanlight.errors import EngineError, SpecError
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import Timestamp, TimestampLike
from fanlight.operators.accounting import Accounting
from fanlight.operators.identity import known_schema
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Offsets, Said
from fanlight.operators.ingest.remarks import Remarks
from fanlight.operators.outbox import Downstream, Outbox
from fanlight.operators.shard import Hook, Shard
from fanlight.state.memory import MemoryStore
from fanlight.state.store import ChunkStore

_Given = ParamSpec("_Given")
_Back = TypeVar("_Back")
_Spec = TypeVar("_Spec", bound=StreamSpec)
_INSIDE = "inside"
_STEPS = frozenset(("add", "advance", "end", "results", "flush", "take", "snapshot"))
"""The calls that a part of a composite operator leaves to the whole."""


@dataclass(frozen=True, slots=True, eq=False)
class _Visit:
    """The current call: its name, its thread and its frame."""

    call: str
    thread: int
    frame: FrameType

    def goes_on(self) -> bool:
        """Whether the call is still on its thread's stack."""
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 -- the only way to see a thread's stack
        while frame is not None and frame is not self.frame:
            frame = frame.f_back
        return frame is not None


class Turnstile:
    """Lets one call in at a time: a second thread, or a call from inside a call, gets an error at once.

    A lock must be released, and an interrupt between taking and releasing it would lock an operator for good. So the
    current call is noted with its frame. If the frame is on no stack any more, the note is a leftover, and the next
    caller replaces it.
    """

    def __init__(self, whole: Turnstile | None = None) -> None:
        """The turnstile of a part of a `whole` has the same visitor as the whole's, which alone takes steps."""
        self.is_of_part = whole is not None
        self._now: dict[str, _Visit] = {} if whole is None else whole._now  # noqa: SLF001 -- its own class
        own = threading.Lock()
        self._deciding: threading.Lock = own if whole is None else whole._deciding  # noqa: SLF001 -- its own class

    def enter(self, call: str) -> None:
        """Let the calling function in, or raise an `EngineError` that says who is inside."""
        if self.is_of_part and call in _STEPS:
            raise EngineError(
                f"{call}: this operator is part of a composite operator, which takes its steps and has its rows. "
                f"Call {call} of the composite; windows() and messages() can be asked here."
            )
        visit = _Visit(call, threading.get_ident(), sys._getframe(1))  # noqa: SLF001 -- the caller's own frame
        found = self._now.setdefault(_INSIDE, visit)  # atomic in the interpreter: of two threads, one is first
        if found is not visit:
            self._replace(found, visit)

    def leave(self) -> None:
        """The call is over."""
        self._now.pop(_INSIDE, None)

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread is inside already: a hook, the downstream or an aggregate asks."""
        found = self._now.get(_INSIDE)
        return found is not None and found.thread == threading.get_ident() and found.goes_on()

    def _replace(self, found: _Visit, visit: _Visit) -> None:
        """Take the place of a call that was interrupted before it could leave; refuse to disturb any other."""
        with self._deciding:
            if self._now.get(_INSIDE) is found and not found.goes_on():
                self._now[_INSIDE] = visit
                return
        raise _refusal(found, visit)


class Attended(Protocol):
    """An object that one caller uses at a time."""

    _turnstile: Turnstile

    def _recover(self) -> None:
        """Complete or undo an interrupted call."""


_Own = TypeVar("_Own", bound=Attended)


def alone(method: Callable[Concatenate[_Own, _Given], _Back]) -> Callable[Concatenate[_Own, _Given], _Back]:
    """Decorate a method that excludes all other calls."""

    @wraps(method)
    def guarded(self: _Own, /, *given: _Given.args, **named: _Given.kwargs) -> _Back:
        self._turnstile.enter(method.__name__)
        try:
            self._recover()
            return method(self, *given, **named)
        finally:
            self._turnstile.leave()

    return guarded


def looking(method: Callable[[_Own], _Back]) -> Callable[[_Own], _Back]:
    """Like `alone`, but a hook, the downstream or an aggregate may ask it too."""
    guarded: Any = alone(method)

    @wraps(method)
    def look(self: _Own) -> _Back:
        back: _Back = method(self) if self._turnstile.is_mine else guarded(self)
        return back

    return look


def _refusal(found: _Visit, visit: _Visit) -> EngineError:
    if found.thread == visit.thread:
        return EngineError(
            f"{visit.call}: it was called inside `{found.call}` of the same operator, by a hook, the downstream or an "
            "aggregate. A step cannot begin within a step, and nothing was changed. Keep what it was to be called "
            f"with, and call it after `{found.call}` has returned."
        )
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return EngineError(
        f"{visit.call}: the thread {names.get(found.thread, found.thread)!r} is inside `{found.call}` of this "
        "operator, and two at once would lose records. Nothing was changed. Hold a lock of your own around every call, "
        "or give each thread an operator of its own."
    )


class StandaloneOperator(Generic[_Spec]):
    """An operator without an engine: `add` records, `advance` time, take `results`.

    Each `add` is one bundle and one step; each `advance` is one step. The operator is bound to the columns of the
    first records, or to `schema`.

    >>> import fanlight as fl
    >>> operator = fl.stream([], time="ts", unit="s", delay="1 s").sort().operator()
    >>> operator.add([{"ts": 2}, {"ts": 1}])
    >>> operator.end()
    >>> operator.take()["ts"].to_pylist()
    [1, 2]
    """

    def __init__(
        self,
        spec: _Spec,
        *,
        schema: pa.Schema | None = None,
        store: ChunkStore | None = None,
        before_process: Hook | None = None,
        before_send: Hook | None = None,
        downstream: Downstream | None = None,
        capacity: int | None = None,
        strict: bool = False,
        intakes: Mapping[str, Intake] | None = None,
    ) -> None:
        """`strict` refuses a value that does not fit its column, and a field that is no column; otherwise see `add`.

        `intakes` say what is done to the records of each input first; `schema` has the columns before that.
        """
        self.spec = spec
        self.remarks = None if strict else Remarks(declared=schema is not None)
        self._outbox = Outbox(before_send, downstream, capacity)
        self._shard = Shard(
            spec, store, outbox=self._outbox, before_process=before_process, remarks=self.remarks, intakes=intakes
        )
        self._turnstile = Turnstile()
        self._recover = self._shard.recover
        self._offsets = spec.offsets
        self._raw: dict[str | None, pa.Schema] | None = None if not intakes else {}
        known = None if schema is None else self._shard.prepared_schema(schema)
        if store is not None:
            known = known_schema(store) or known
        if known is not None:
            self._shard.bind(with_offset_field(known, spec.offsets))
            self._shard.store.commit()

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
        happened as a whole or not at all; with offsets, the same call can simply be repeated.

        A value that does not fit its column exactly makes its record a dead letter, and a field that is no column is
        ignored; `strict` operators raise an `InputError` instead.
        """
        self._outbox.require_room()
        came, said = self.read(records, offset, source), Said(source, watermark, clock, signal, finish)
        if came is None:
            self._move(said)
            return
        self._shard.step(came, said, offset=offset)
        self._offer()

    @alone
    def add_all(self, arrivals: Sequence[Arrival]) -> None:
        """Take what several inputs bring as one step: their records are one bundle, then their watermarks move."""
        self._outbox.require_room()
        if any(arrival.came is not None for arrival in arrivals):
            self._shard.step_all([self._with_offsets(arrival) for arrival in arrivals])
        else:
            if not self._offer():
                self._outbox.require_room()
            self._shard.step_all(arrivals)
        self._offer()

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
        self._move(Said(source, watermark, clock, signal, finish))

    @alone
    def end(self) -> None:
        """Close and expire every window: the input has ended."""
        self._outbox.require_room()
        self._shard.step(ends=True)
        self._offer()

    @alone
    def results(self) -> pa.Table:
        """The firings that were not taken yet; they stay until `flush`."""
        return self._outbox.peek(self._result_schema())

    @alone
    def flush(self) -> None:
        """Drop the firings that `results` showed; a blocked operator accepts records again."""
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
        return self._shard.bound is not None

    @property
    @alone
    def dead_letters(self) -> pa.Table:
        """The dead letters that were not taken yet: records that could not be used."""
        return self._shard.require_books().letters.peek()

    @alone
    def take_dead_letters(self) -> pa.Table:
        """Remove and return the dead letters."""
        return self._shard.require_books().letters.take()

    @property
    @looking
    def accounting(self) -> Accounting:
        """Where every record went, exactly, at any moment."""
        return replace(self._shard.accounting)

    @property
    @looking
    def accounting_by_input(self) -> dict[str, Accounting]:
        """Where the records of each input of a union went; empty if inputs have no names."""
        books = self._shard.books
        return {} if books is None else {name: Accounting(**counts) for name, counts in books.by_input().items()}

    @property
    @looking
    def watermark(self) -> Timestamp:
        """The watermark acted on last."""
        return self._shard.watermark

    @property
    @looking
    def clock(self) -> Timestamp:
        """The clock acted on last; the start of time if none was ever given."""
        return self._shard.inputs.clock

    @alone
    def snapshot(self) -> bytes:
        """All state of this operator, including firings not yet taken, as bytes with a version and a checksum."""
        return self._shard.snapshot()

    @classmethod
    def restore(cls, spec: _Spec, data: bytes, **options: Any) -> Self:
        """The operator that `snapshot` was taken of.

        The spec must be the same, except for the delay of the watermark. Functions are compared by name.
        """
        store = MemoryStore.restore(data)
        operator = cls(spec, store=store, **options)
        operator._shard.take_back(store)
        return operator

    def read(self, records: Records, offset: Offsets = None, source: str | None = None) -> CheckedBatch | None:
        """Records as a bundle of this operator; None if there are none, and no columns are known."""
        bound = self._shard.bound
        if isinstance(records, pa.RecordBatch):
            came = CheckedBatch(records)
        else:
            came = as_bundle(records, self._columns(source), self.remarks)
            if self._raw is not None:
                self._raw.setdefault(source, came.batch.schema)
        if self._offsets is not None:
            came = with_offsets(came, self._offsets, offset, self._shard.accounting.received)
        return None if bound is None and not len(came.batch.schema) and not len(came.batch) else came

    def join(self, whole: Turnstile, recover: Callable[[], None], store: ChunkStore) -> tuple[Shard, Outbox]:
        """Become a part of a whole that takes all steps from now on, and keeps the state in `store`.

        The whole lets one caller in for all its parts, and `recover` puts all of them in order.
        """
        heard = Shard(self.spec).standing().heard
        if self._turnstile.is_of_part or self._shard.steps or self._shard.standing().heard != heard:
            raise SpecError("add_operator: the operator has taken steps, or is part of a composite. Give a new one.")
        self._turnstile, self._recover = Turnstile(whole), recover
        self._shard.store = store
        if self._shard.bound is not None:
            self._shard.bind(self._shard.bound.schema)
        return self._shard, self._outbox

    def _move(self, said: Said) -> None:
        if not self._offer() and not said.is_nothing:
            self._outbox.require_room()
        self._shard.step(None, said)
        self._offer()

    def _offer(self) -> bool:
        """Offer what waits; a downstream that has taken all of it is told the watermark, if it listens."""
        taken = self._outbox.offer()
        if taken:
            self._outbox.tell(self.spec, self._shard.watermark)
        return taken

    def _with_offsets(self, arrival: Arrival) -> Arrival:
        """An arrival whose records say their offsets, if the spec keeps these."""
        if self._offsets is None or arrival.came is None:
            return arrival
        received = self._shard.accounting.received
        return arrival._replace(came=with_offsets(arrival.came, self._offsets, arrival.offset, received))

    def _columns(self, source: str | None) -> pa.Schema | None:
        """The columns and types that records have when they come; None while they are not known."""
        if self._raw is not None:
            return self._raw.get(source)
        return None if self._shard.bound is None else self._shard.bound.schema

    def _result_schema(self) -> pa.Schema | None:
        return None if self._shard.bound is None else self._shard.bound.result
