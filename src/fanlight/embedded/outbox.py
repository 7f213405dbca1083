"""Firings on their way out: offered to a downstream that may refuse, kept until somebody takes them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from fanlight.errors import BackPressure, SpecError
from fanlight.operators.accounting import DeadLetters
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

Downstream = Callable[[pa.RecordBatch], bool | None]
"""Takes a batch of firings; False refuses it, and it is offered again later."""

_FIRINGS, _LETTERS = "outbox", "letters"


class Outbox:
    """What has fired and has not been taken, in order. Nothing is lost: refused firings stop the operator instead."""

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
        self._fired: list[pa.RecordBatch] = []  # not yet shown to before_send
        self._waiting: list[pa.RecordBatch] = []
        self._refused = False

    @property
    def rows(self) -> int:
        """How many firings wait."""
        return sum(len(batch) for batch in (*self._fired, *self._waiting))

    def put(self, batches: list[pa.RecordBatch]) -> None:
        """Add what a step fired. The step is done: whatever happens from here on, the firings stay."""
        self._fired += batches

    def offer(self) -> bool:
        """Hand waiting firings to the downstream from where it stopped; whether nothing is refused now."""
        self._prepare()
        self._refused = False
        while self._downstream is not None and self._waiting:
            if self._downstream(self._waiting[0]) is False:
                self._refused = True
                break
            del self._waiting[0]
        return not self._refused

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
        if self._waiting:
            return pa.Table.from_batches(self._waiting)
        return pa.table({}) if schema is None else schema.empty_table()

    def clear(self) -> None:
        """Let the waiting firings go; a refused operator accepts again."""
        self._fired, self._waiting = [], []
        self._refused = False

    def snapshot(self, store: MemoryStore, letters: DeadLetters) -> bytes:
        """A snapshot of `store` that holds the waiting firings and dead letters too."""
        self._prepare()
        for place, batch in enumerate(self._waiting):
            store.put(Address(_FIRINGS, 0, place), batch)
        for place, batch in enumerate(letters.peek().to_batches()):
            store.put(Address(_LETTERS, 0, place), batch)
        store.commit()
        data = store.snapshot()
        self._forget(store)
        return data

    def restore(self, store: MemoryStore, letters: DeadLetters) -> None:
        """Take back what `snapshot` put beside the state."""
        self._waiting = [store.get(address) for address in store.list(_FIRINGS)]
        for address in store.list(_LETTERS):
            letters.add(store.get(address))
        self._forget(store)

    def _prepare(self) -> None:
        """Show each firing to the hook, once; what the hook fails on is shown to it again."""
        while self._fired:
            batch = self._fired[0]
            self._waiting.append(batch if self._before_send is None else self._before_send(batch))
            del self._fired[0]

    @staticmethod
    def _forget(store: MemoryStore) -> None:
        for address in [*store.list(_FIRINGS), *store.list(_LETTERS)]:
            store.delete(address)
        store.commit()
