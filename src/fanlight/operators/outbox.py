"""Firings that wait: they are offered to a downstream that may refuse them, and kept until they are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from fanlight.errors import BackPressure, SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.renamed_fields import with_names_of_now
from fanlight.state.store import Address, ChunkStore


class Receiver(Protocol):
    """A downstream with a method. If it also has `watermark`, that is called when all rows before it are taken."""

    def take(self, rows: pa.RecordBatch, /) -> bool | None:
        """Take a batch of firings; False refuses it."""


Downstream = Callable[[pa.RecordBatch], bool | None] | Receiver
"""Takes a batch of firings; False refuses it, and it is offered again later."""

_FIRINGS, _LETTERS = "outbox", "letters"


@dataclass(slots=True)
class _Box:
    """Batches in order: all that fired, how many of them the hook has seen, and how many are gone."""

    fired: list[pa.RecordBatch] = field(default_factory=list)
    shown: list[pa.RecordBatch] = field(default_factory=list)
    gone: int = 0

    @property
    def waiting(self) -> list[pa.RecordBatch]:
        """The batches that are not gone, whether or not the hook has seen them."""
        return [*self.shown[self.gone :], *self.fired[len(self.shown) :]]


class Outbox:
    """The firings that were not taken yet, in order. Nothing is lost: refused firings stop the operator instead.

    Every change is one assignment or one append, so an interrupt leaves it before or after.
    """

    def __init__(
        self,
        before_send: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        downstream: Downstream | None = None,
        capacity: int | None = None,
    ) -> None:
        if capacity is not None and capacity < 1:
            raise SpecError(
                f"WindowOperator: `capacity` ({capacity}) must be at least 1 row. Leave it out for no limit."
            )
        self._before_send = before_send
        self._downstream = None if downstream is None else _taking(downstream)
        listening = getattr(downstream, "watermark", None)
        self._listening: Callable[[Timestamp], object] | None = listening if callable(listening) else None
        self._told: Timestamp = START_OF_TIME
        self._capacity = capacity
        self._box = _Box()
        self._refused = False

    @property
    def has_downstream(self) -> bool:
        """Whether firings are offered to anybody."""
        return self._downstream is not None

    @property
    def rows(self) -> int:
        """How many firings wait."""
        return sum(len(batch) for batch in self._box.waiting)

    @property
    def count(self) -> int:
        """How many batches were added since it was last empty."""
        return len(self._box.fired)

    def put(self, batches: list[pa.RecordBatch]) -> None:
        """Add the firings of a step."""
        self._box.fired.extend(batches)

    def cut(self, count: int) -> None:
        """Forget all but the first `count` batches: the step that fired them failed."""
        del self._box.shown[count:]
        del self._box.fired[count:]

    def since(self, count: int) -> list[pa.RecordBatch]:
        """The batches after the first `count`, as the hook made them; they still wait."""
        self._prepare()
        return self._box.shown[count:]

    def offer(self) -> bool:
        """Offer the waiting firings to the downstream, from where it stopped; returns whether all were taken.

        A batch is gone when the downstream has returned. If it is interrupted before that, the batch is offered again.
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

    def tell(self, spec: StreamSpec, watermark: Timestamp) -> None:
        """Tell a downstream that listens which watermark `spec` hands on, having acted on `watermark`.

        Called when all firings are taken. It is told what is new to it; a result without times has nothing to say.
        """
        if self._listening is None or not _has_times(spec):
            return
        handed_on = spec.hands_on(watermark)
        if handed_on > self._told:
            self._listening(handed_on)
            self._told = handed_on

    def require_room(self) -> None:
        """Raise `BackPressure` while the downstream refuses firings, or more firings wait than allowed."""
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
            return one_table(waiting)
        return pa.table({}) if schema is None else schema.empty_table()

    def clear(self) -> None:
        """Drop the waiting firings; a blocked operator accepts records again."""
        self._box = _Box()
        self._refused = False

    def chunks(self, letters: DeadLetters) -> Mapping[Address, pa.RecordBatch]:
        """The waiting firings and dead letters as chunks of a snapshot, beside the state."""
        self._prepare()
        kept = {_FIRINGS: self._box.waiting, _LETTERS: letters.peek().to_batches()}
        return {Address(space, 0, place): batch for space in kept for place, batch in enumerate(kept[space])}

    def restore(self, store: ChunkStore, letters: DeadLetters) -> None:
        """Restore the waiting firings and dead letters of a snapshot."""
        waiting = [with_names_of_now(store.get(address)) for address in store.list(_FIRINGS)]
        self._box = _Box(waiting, list(waiting))  # the hook has seen them before
        for address in store.list(_LETTERS):
            letters.add(store.get(address))
        for address in [*store.list(_FIRINGS), *store.list(_LETTERS)]:
            store.delete(address)
        store.commit()

    def _prepare(self) -> None:
        """Show each firing to the hook once; if the hook fails on a batch, it sees the batch again."""
        box = self._box
        while len(box.shown) < len(box.fired):
            batch = box.fired[len(box.shown)]
            box.shown.append(batch if self._before_send is None else self._before_send(batch))


def _taking(downstream: Downstream) -> Callable[[pa.RecordBatch], bool | None]:
    if callable(downstream):
        return downstream
    if not callable(getattr(downstream, "take", None)):
        raise SpecError(
            f"operator: `downstream` ({downstream!r}) takes no rows. Give a function of a batch, or an object with "
            "take(rows), and with watermark(time) if it is to know the watermark."
        )
    return downstream.take


def _has_times(spec: StreamSpec) -> bool:
    try:
        _ = spec.continuation
    except SpecError:
        return False
    return True


def one_table(rows: list[pa.RecordBatch]) -> pa.Table:
    """Batches of rows as one table; a column that had no value at first, and so no type, has that of the others.

    >>> one_table([pa.record_batch({"v": pa.nulls(1)}), pa.record_batch({"v": ["a"]})]).to_pydict()
    {'v': [None, 'a']}
    """
    if all(batch.schema.equals(rows[0].schema) for batch in rows):
        return pa.Table.from_batches(rows)
    return pa.concat_tables([pa.Table.from_batches([batch]) for batch in rows], promote_options="default")
