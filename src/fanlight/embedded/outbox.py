"""Firings on their way out: offered to a downstream that may refuse, kept until somebody takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from fanlight.errors import BackPressure, SpecError
from fanlight.operators.accounting import DeadLetters
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

Downstream = Callable[[pa.RecordBatch], bool | None]
"""Takes a batch of firings; False refuses it, and it is offered again later."""

_FIRINGS, _LETTERS = "outbox", "letters"


@dataclass(slots=True)
class _Box:
    """Batches in order: what fired; of these, from the first on, what was shown to the hook; how many are gone."""

    fired: list[pa.RecordBatch] = field(default_factory=list)
    shown: list[pa.RecordBatch] = field(default_factory=list)
    gone: int = 0

    @property
    def waiting(self) -> list[pa.RecordBatch]:
        """What has not gone, shown or not."""
        return [*self.shown[self.gone :], *self.fired[len(self.shown) :]]


class Outbox:
    """What has fired and has not been taken, in order. Nothing is lost: refused firings stop the operator instead.

    Every change is one assignment or one append, so an interrupt leaves it before or after.
    """

    def __init__(
        self,
        before_send: Callable[[pa.RecordBatch], pa.RecordBatch] | None,
        downstream: Downstream | None,
        capacity: int | None,
    ) -> None:
        if capacity is not None and capacity < 1:
            raise SpecError(
                f"WindowOperator: `capacity` ({capacity}) must be at least 1 row. Leave it out for no limit."
            )
        self._before_send = before_send
        self._downstream = downstream
        self._capacity = capacity
        self._box = _Box()
        self._refused = False

    @property
    def rows(self) -> int:
        """How many firings wait."""
        return sum(len(batch) for batch in self._box.waiting)

    @property
    def count(self) -> int:
        """How many batches have been put since it was last empty."""
        return len(self._box.fired)

    def put(self, batches: list[pa.RecordBatch]) -> None:
        """Add what a step fired."""
        self._box.fired.extend(batches)

    def cut(self, count: int) -> None:
        """Forget all but the first `count` batches: the step that fired them failed."""
        del self._box.fired[count:]

    def offer(self) -> bool:
        """Hand waiting firings to the downstream from where it stopped; whether nothing is refused now.

        A batch is gone when the downstream has returned. If it is interrupted before, it is offered again.
        """
        self._prepare()
        self._refused = False
        box = self._box
        while self._downstream is not None and box.gone < len(box.shown):
            if self._downstream(box.shown[box.gone]) is False:
                self._refused = True
                return False
            box.gone += 1
        if box.gone and box.gone == len(box.fired):
            self._box = _Box()
        return True

    def require_room(self) -> None:
        """Refuse work while firings wait that the downstream has refused, or more than may wait."""
        if self._refused:
            raise BackPressure(
                f"The downstream refused {self.rows} firings, and nothing is accepted until they are taken. "
                "Call advance() to offer them again, or take() to take them yourself; no record was lost."
            )
        if self._capacity is not None and self.rows >= self._capacity:
            raise BackPressure(
                f"{self.rows} firings wait, and `capacity` is {self._capacity}; nothing is accepted until some are "
                "taken. Call take(), or results() and flush(); no record was lost."
            )

    def peek(self, schema: pa.Schema | None) -> pa.Table:
        """All waiting firings as one table."""
        self._prepare()
        if waiting := self._box.waiting:
            return pa.Table.from_batches(waiting)
        return pa.table({}) if schema is None else schema.empty_table()

    def clear(self) -> None:
        """Let the waiting firings go; a refused operator accepts again."""
        self._box = _Box()
        self._refused = False

    def chunks(self, letters: DeadLetters) -> Mapping[Address, pa.RecordBatch]:
        """The waiting firings and dead letters, as a snapshot has them beside the state."""
        self._prepare()
        kept = {_FIRINGS: self._box.waiting, _LETTERS: letters.peek().to_batches()}
        return {Address(space, 0, place): batch for space in kept for place, batch in enumerate(kept[space])}

    def restore(self, store: MemoryStore, letters: DeadLetters) -> None:
        """Take back what stood beside the state in a snapshot."""
        waiting = [store.get(address) for address in store.list(_FIRINGS)]
        self._box = _Box(waiting, list(waiting))  # they were shown before
        for address in store.list(_LETTERS):
            letters.add(store.get(address))
        for address in [*store.list(_FIRINGS), *store.list(_LETTERS)]:
            store.delete(address)
        store.commit()

    def _prepare(self) -> None:
        """Show each firing to the hook, once; what the hook fails on is shown to it again."""
        box = self._box
        while len(box.shown) < len(box.fired):
            batch = box.fired[len(box.shown)]
            box.shown.append(batch if self._before_send is None else self._before_send(batch))
