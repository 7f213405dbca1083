"""A user's function as a sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.delivery import Delivery

Function = Callable[[pa.Table, Batch], object]


@dataclass(frozen=True)
class FunctionSink:
    """Calls `function(table, batch)` once for each batch, empty ones too; what it raises fails the batch as it is."""

    function: Function
    part: Part

    guarantee: ClassVar[str] = (
        "at least once: a batch is handed over again when the query stopped before its end was noted; "
        "(batch.query, batch.number) is the same then"
    )
    sees_all: ClassVar[bool] = True

    @property
    def places(self) -> dict[Part, str]:
        """The function's name; with the rows it is handed the dead letters and the accounting too."""
        name = f"{getattr(self.function, '__qualname__', type(self.function).__qualname__)}()"
        return dict.fromkeys(Part, name) if self.part is Part.ROWS else {self.part: name}

    def check(self, delivery: Delivery) -> None:
        """A function keeps no ledger, so nothing can be said."""

    def write(self, delivery: Delivery) -> None:
        """Hand the batch over."""
        self.function(delivery.batch.part(self.part), delivery.batch)
