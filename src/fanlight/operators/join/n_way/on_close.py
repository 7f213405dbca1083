"""An n-way join on close: a row of the lead is looked up once, when it is complete, and leaves in order.

row of the lead at t      complete when none before it and no match of it can come:   t < min(W0, W1 - most1, …)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.join.n_way.matched import combined
from fanlight.operators.join.n_way.operator import NWayJoin
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress


class NWayOnClose(NWayJoin):
    """All rows wait until the row of the lead is complete."""

    def _take(self, rows: list[SideRows], first: int) -> None:
        for log, own in zip(self._logs, rows, strict=True):
            log.append(own)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The combinations of the rows of the lead that are complete now, in order."""
        passed = self._passed(progress)
        low, high = (self._complete([step[place] for step in passed]) for place in (0, 1))
        rows = (self._logs[0].between(low, high) if high > low else self._nothing(0)).by_key()
        leads = self._hopeful(self._new(rows), ())
        leads = leads.take(np.lexsort([leads.rows.came, leads.rows.times]))
        closed = self._closed([after for _, after in passed])
        matched = self._matched(leads, (), closed, closed, 0)
        return [] if matched is None else self._plan.rows(self._plan.met(combined(leads.rows, matched)))

    def _kept(self, passed: list[Timestamp]) -> list[Timestamp]:
        lead = self._complete(passed)
        return [lead, *(moved(lead, match.least) for match in self._plan.spec.matches)]

    def _complete(self, passed: list[Timestamp]) -> Timestamp:
        """Before which time rows of the lead are complete."""
        return min(passed[0], *self._closed(passed))
