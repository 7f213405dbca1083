"""The operators of a composite, which step as one: one transaction over one store, with a room for each.

    step ─► part ─ rows ─► part ─ rows ─► … ─► commit ─► rows are offered
              └ watermark, clock ┘

Whatever is raised, and wherever, all parts have taken the step, or none has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator, Turnstile
from fanlight.embedded.wiring import Wire, Wiring
from fanlight.errors import BackPressure, StateError
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.handover import Handover
from fanlight.operators.identity import known_schema
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import NOTHING_SAID, Offsets, Said
from fanlight.operators.outbox import Outbox, one_table
from fanlight.operators.shard import Shard
from fanlight.operators.standing import Standing
from fanlight.state.memory import MemoryStore
from fanlight.state.room import Room
from fanlight.state.store import Address

_STEPS = Address("composite", 0, 0)
_WHOLE = "composite"


@dataclass(frozen=True, slots=True, eq=False)
class WiredOperator:
    """One operator of a composite, with its wire and its room in the store."""

    wire: Wire
    operator: StandaloneOperator[Any]
    shard: Shard
    outbox: Outbox
    room: Room

    def handed_on(self) -> Timestamp:
        """The watermark of its result."""
        return self.wire.spec.hands_on(self.shard.watermark)

    def results(self) -> pa.Table:
        """Its rows that wait."""
        return self.outbox.peek(None if self.shard.bound is None else self.shard.bound.result)

    def dead_letters(self, *, take: bool = False) -> pa.Table:
        """Its dead letters; with `take` they are removed."""
        if self.shard.books is None:
            return pa.table({})
        return self.shard.books.letters.take() if take else self.shard.books.letters.peek()


@dataclass(frozen=True, slots=True)
class _Given:
    """What one operator takes in one step of its own."""

    came: CheckedBatch | None
    said: Said
    offset: Offsets = None


class _Standings(NamedTuple):
    """How all parts stand between two steps."""

    steps: int
    parts: dict[str, Standing]


class _UnderWay(NamedTuple):
    """A step that has not ended: where it started, and where it leads once that is known."""

    before: _Standings
    after: _Standings | None = None


class Parts:
    """Operators that are wired, each known by the stream it gives."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.steps = 0
        """How many steps have been committed."""
        self._parts: dict[str, WiredOperator] = {}
        self._order: list[WiredOperator] = []
        self._store = MemoryStore()
        self._under_way: _UnderWay | None = None

    def wire(
        self, operator: StandaloneOperator[Any], wire: Wire, turnstile: Turnstile, recover: Callable[[], None]
    ) -> None:
        """Make an operator one of the parts."""
        wiring, room = self.wiring.plus(wire), Room(self._store, f"{wire.output}.", held=True)
        shard, outbox = operator.join(turnstile, recover, room)
        self._store.commit()
        self._parts = {**self._parts, wire.output: WiredOperator(wire, operator, shard, outbox, room)}
        self.wiring, self._order = wiring, []

    @property
    def by_stream(self) -> Mapping[str, WiredOperator]:
        """The parts by the stream they give, as they were added."""
        return self._parts

    @property
    def in_order(self) -> list[WiredOperator]:
        """The parts, each after those whose streams it takes."""
        if not self._order:
            self._order = [self._parts[wire.output] for wire in self.wiring.in_order()]
        return self._order

    @property
    def kept(self) -> dict[str, WiredOperator]:
        """The parts whose rows wait for anybody but other parts, by their streams."""
        return {name: part for name, part in self._parts.items() if self._is_kept(part)}

    def step(
        self,
        said: Said = NOTHING_SAID,
        came: Mapping[str, CheckedBatch | None] | None = None,
        offset: Offsets = None,
        *,
        ends: bool = False,
    ) -> None:
        """One step of the whole: what is said, and what `came` to each part from outside. With `ends` the input ends.

        `said.source` is the stream from outside that it is about; None means all of them.
        """
        given = {} if ends else self._enter(said, came or {}, offset)
        before = self._standings()
        self._under_way = _UnderWay(before)
        try:
            for part in self.in_order:
                self._turn(part, given, said, ends=ends)
            self.steps += 1
            self._store.put(_STEPS, pa.record_batch({"steps": [self.steps]}))
            self._under_way = _UnderWay(before, self._standings())
            self._store.commit()
        except BaseException:
            self.recover()
            raise
        self._under_way = None  # the step is committed: an error from here on undoes nothing
        self._drop_handed_on()

    def recover(self) -> None:
        """Complete or undo an interrupted step, for all parts; calling it twice does no harm."""
        if self._under_way is not None:
            self._store.rollback()
            before, after = self._under_way
            standings = before if after is None or self._committed() < after.steps else after
            for name, standing in standings.parts.items():
                self._parts[name].shard.go_back(standing)
            self.steps = standings.steps
            self._under_way = None
        self._drop_handed_on()

    def offer(self) -> bool:
        """Offer what waits to those downstream, who are told the watermark when they have it all; whether they have."""
        taken = True
        for part in self.kept.values():
            if part.outbox.offer():
                part.outbox.tell(part.wire.spec, part.shard.watermark)
            else:
                taken = False
        return taken

    def require_room(self) -> None:
        """Raise `BackPressure` while rows wait that somebody refused, or for which there is no more room."""
        for name, part in self.kept.items():
            try:
                part.outbox.require_room()
            except BackPressure as problem:
                raise BackPressure(f"{name!r}: {problem}") from None

    def snapshot(self) -> bytes:
        """The state of all parts, with what waits and what those have heard that know no columns yet."""
        beside, heard = {}, {}
        for name, part in self._parts.items():
            if part.shard.books is None:
                standing = part.shard.standing()
                heard[name] = {"heard": standing.heard, "ended": standing.ended}
            else:
                chunks = part.outbox.chunks(part.shard.books.letters)
                beside.update({part.room.outside(address): chunk for address, chunk in chunks.items()})
        return self._store.snapshot({_WHOLE: {"wiring": self.wiring.as_document(), "heard": heard}}, beside)

    def restore(self, data: bytes) -> None:
        """Go on from a snapshot; the parts must be wired as they were, and new."""
        stored = MemoryStore.restore(data)
        heard = self._recognised(stored.metadata)
        for address in (address for space in stored.spaces for address in stored.list(space)):
            self._store.put(address, stored.get(address))
        for name, part in self._parts.items():
            if name in heard:
                part.shard.go_back(part.shard.standing()._replace(**heard[name]))
            elif (schema := known_schema(part.room)) is not None:
                part.shard.bind(schema)
                part.outbox.restore(part.room, part.shard.require_books().letters)
        self._store.commit()
        self.steps = self._committed()

    def _recognised(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """What parts have heard, from the snapshot of a composite that is wired like this one."""
        if _WHOLE not in metadata:
            raise StateError(
                "restore: this is no snapshot of a composite operator. Use restore of the operator it was taken of."
            )
        said, now = metadata[_WHOLE], self.wiring.as_document()
        if said["wiring"] != now:
            raise StateError(
                f"restore: the snapshot was taken of other operators, or they were wired otherwise: "
                f"{_drawn(said['wiring'])} before, {_drawn(now)} now. Wire them as they were, or start without it."
            )
        heard: dict[str, Any] = said["heard"]
        return heard

    def _enter(self, said: Said, came: Mapping[str, CheckedBatch | None], offset: Offsets) -> dict[str, list[_Given]]:
        """What the parts get that take streams from outside. If nothing is said of its streams, a part hears the clock.

        A watermark for all streams is told of each.
        """
        given = {}
        for name, part in self._parts.items():
            streams = [stream for stream in part.wire.inputs if stream in self.wiring.external]
            told = [stream for stream in streams if said.source in (None, stream)]
            if told:
                told = told if part.wire.is_named and said.watermark is not None else told[:1]
                each = [Said(part.wire.source_of(stream), said.watermark, said.clock) for stream in told]
                given[name] = [_Given(came.get(name), word, offset) for word in each]
            elif streams and said.clock is not None:
                given[name] = [_Given(None, Said(clock=said.clock))]
        return given

    def _turn(self, part: WiredOperator, given: dict[str, list[_Given]], said: Said, *, ends: bool) -> None:
        """The turn of one part: it takes what it was given, step by step, and hands on what each step gives.

        The caller's signal comes with the last of them, when all rows are there.
        """
        handed = given.get(part.wire.output, [])
        if handed:
            last = replace(handed[-1].said, signal=said.signal, finish=said.finish)
            handed = [*handed[:-1], replace(handed[-1], said=last)]
        waiting = part.outbox.count
        for each in handed:
            part.shard.step(each.came, each.said, offset=each.offset)
            if not ends:
                self._hand_on(part, waiting, given, part.handed_on())
                waiting = part.outbox.count
        if ends:  # what leaves then is handed on as one bundle
            part.shard.step(ends=True)
            self._hand_on(part, waiting, given, END_OF_TIME)

    def _hand_on(self, part: WiredOperator, count: int, given: dict[str, list[_Given]], watermark: Timestamp) -> None:
        """Give the rows of a part's step, those after the first `count` that wait, to the parts that take them."""
        fired = [batch for batch in part.outbox.since(count) if len(batch)]
        rows = one_table(fired).to_batches() if fired else []
        for wire in self.wiring.takers(part.wire.output):
            handover = Handover.of(part.wire.spec, wire.spec)
            records = [handover.records(batch) for batch in rows]
            came = CheckedBatch(pa.concat_batches(records)) if records else None
            said = Said(wire.source_of(part.wire.output), watermark, part.shard.inputs.clock)
            given.setdefault(wire.output, []).append(_Given(came, said))

    def _standings(self) -> _Standings:
        return _Standings(self.steps, {name: part.shard.standing() for name, part in self._parts.items()})

    def _drop_handed_on(self) -> None:
        """Forget the rows that other parts have taken, and nobody else is to have."""
        for part in self._parts.values():
            if part.outbox.count and not self._is_kept(part):
                part.outbox.clear()

    def _committed(self) -> int:
        """How many steps the store has."""
        return int(self._store.get(_STEPS).column(0)[0].as_py()) if self._store.list(_STEPS.space) else 0

    def _is_kept(self, part: WiredOperator) -> bool:
        return part.wire.keep or part.outbox.has_downstream or not self.wiring.takers(part.wire.output)


def _drawn(wiring: Mapping[str, Any]) -> str:
    return "; ".join(f"{', '.join(wire['inputs'])} → {output}" for output, wire in wiring.items())
