"""What becomes of a bundle: which pane is told of which records, which panes are replaced, who is left out.

`Given` is the intake of windows that a record alone decides; sessions and sliding windows have their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fanlight.model.changes import Changes
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.changes import is_delete, operation
from fanlight.testing.oracle.firing import Entry, OraclePane
from fanlight.testing.oracle.reach import Reach, closed, expired, too_far_back
from fanlight.testing.oracle.time import ArrivedRecord
from fanlight.testing.oracle.triggers import TriggerNode
from fanlight.testing.oracle.windows import windows_of
from fanlight.testing.script import Key

Place = tuple[Key, Window]
Panes = dict[Place, OraclePane]


@dataclass(slots=True)
class TakenIn:
    """What became of a bundle. `dead` says of a record's number why it was not accepted."""

    told: dict[Place, list[Entry]] = field(default_factory=dict)
    replaced: list[OraclePane] = field(default_factory=list)
    dead: dict[int, Reason] = field(default_factory=dict)
    accepted: int = 0
    missed_windows: int = 0


class PaneAssignment(Protocol):
    """How one kind of window takes a bundle in."""

    def take_in(self, arrivals: Sequence[ArrivedRecord], before: Reach) -> TakenIn:
        """Judge the records and let the accepted ones join their panes; `before` is the reach before the step."""


class Given:
    """Records join the windows they are in, whatever else came."""

    def __init__(self, spec: WindowSpec, panes: Panes) -> None:
        self.spec = spec
        self.panes = panes

    def take_in(self, arrivals: Sequence[ArrivedRecord], before: Reach) -> TakenIn:
        intake, changes = TakenIn(), self.spec.changes
        for arrival in arrivals:
            if changes is not None and operation(changes, arrival.record) is None:
                intake.dead[arrival.number] = Reason.NO_SUCH_OPERATION
                continue
            theirs = windows_of(self.spec, arrival.record, arrival.time)
            windows = self._judge(arrival, theirs)
            if isinstance(windows, Reason):
                intake.dead[arrival.number] = windows
                intake.missed_windows += len(theirs)
                continue
            intake.accepted += 1
            intake.missed_windows += len(theirs) - len(windows)
            for window in windows:
                place = (arrival.key, window)
                pane = self.panes.setdefault(place, OraclePane(*place, TriggerNode.of(self.spec.trigger)))
                entry = entry_of(self.spec, arrival, window, before)
                if changes is not None and is_delete(changes, arrival.record):
                    pane.take_back(entry, self._columns(changes))
                else:
                    pane.join([entry])
                intake.told.setdefault(place, []).append(entry)
        return intake

    def _judge(self, arrival: ArrivedRecord, windows: list[Window]) -> list[Window] | Reason:
        """Those of its windows that a record joins, or why it joins none."""
        if not windows:
            return Reason.NO_WINDOW
        if too_far_back(self.spec, arrival.time, arrival.reach):
            return Reason.EXPIRED
        alive = [window for window in windows if not expired(self.spec, window, arrival.reach)]
        if not alive:
            return Reason.EXPIRED
        return [window for window in alive if not self._finished(arrival.key, window)] or Reason.FINISHED

    def _columns(self, changes: Changes) -> list[str]:
        """The columns that a stage reads, in which a delete is equal to the record that it takes back."""
        return [name for name in self.spec.columns if name not in (changes.op, self.spec.time, self.spec.offsets)]

    def _finished(self, key: Key, window: Window) -> bool:
        pane = self.panes.get((key, window))
        return pane is not None and pane.trigger.finished


def entry_of(spec: WindowSpec, arrival: ArrivedRecord, window: Window, before: Reach) -> Entry:
    """A record as it comes to a pane."""
    return Entry(
        arrival.number,
        arrival.record,
        arrival.time,
        behind=arrival.time < arrival.reach.watermark,
        came_before_close=not closed(spec, window, before.of(arrival.key)),
    )


def by_key(arrivals: Sequence[ArrivedRecord]) -> Iterator[tuple[Key, list[ArrivedRecord]]]:
    """The arrivals of each key, in order of arrival."""
    for key in dict.fromkeys(arrival.key for arrival in arrivals):
        yield key, [arrival for arrival in arrivals if arrival.key == key]
