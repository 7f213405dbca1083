"""A user's own sink: it writes batches and notes the newest; which batch may come next is decided here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa

from fanlight.errors import SinkError
from fanlight.sinks.batch import Batch, BatchNote, Part
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.ledger import Ledger


@runtime_checkable
class BatchSink(Protocol):
    """The protocol of a user's own sink for `write_to`.

    Exactly once is the work of two: the sink writes a batch and its note together, or neither; Fanlight asks for the
    note before it hands a batch over, skips a repeat and refuses a batch that does not follow.
    """

    @property
    def place(self) -> str:
        """Where it writes, for messages; nothing secret."""
        ...

    def newest(self, query: str) -> BatchNote | None:
        """The note of the newest batch of a query that is here; None if there is none.

        Called before every batch, and once more before the first of a start.
        """
        ...

    def take(self, rows: pa.Table, batch: Batch) -> None:
        """Write the batch and keep `batch.note` as the newest of `batch.query`: both, or neither.

        Called with every batch, empty ones too, and never with one that is noted. `batch` has the dead letters and the
        accounting as well. One that is not above the newest comes only when the user has said on_mismatch="accept":
        batches from its number on that are here are then out of date.
        """
        ...


@dataclass(frozen=True)
class UserSink:
    """A `BatchSink`, and the part of a result that it is handed; what it raises fails the batch as it is."""

    sink: BatchSink
    part: Part

    guarantee: ClassVar[str] = (
        "exactly once, if the sink writes a batch and its note together: a batch that it has noted is not handed over "
        "again, and one that does not follow it is refused"
    )
    sees_all: ClassVar[bool] = True

    @property
    def places(self) -> dict[Part, str]:
        """The sink's own word for it; with the rows it is handed the dead letters and the accounting too."""
        return dict.fromkeys(Part, self.sink.place) if self.part is Part.ROWS else {self.part: self.sink.place}

    def check(self, delivery: Delivery) -> None:
        """Refuse a batch that does not follow what the sink has noted."""
        self._takes(delivery)

    def write(self, delivery: Delivery) -> None:
        """Hand the batch over, unless it is noted."""
        if self._takes(delivery):
            self.sink.take(delivery.batch.part(self.part), delivery.batch)

    def _takes(self, delivery: Delivery) -> bool:
        noted: object = self.sink.newest(delivery.query)
        if noted is not None and not isinstance(noted, BatchNote):
            raise SinkError(
                f"write_to: {self.sink.place} did not take batch {delivery.number}: its newest() gave {noted!r}, which "
                "is neither None nor a BatchNote, so it is unknown which batches are there. Nothing was written. "
                "Return BatchNote(number, offsets)."
            )
        number, offsets = (None, None) if noted is None else noted
        ledger = Ledger(self.sink.place, delivery.query, number, offsets)
        return ledger.takes(delivery.number, accepts=delivery.accepts, offsets=delivery.offsets)
