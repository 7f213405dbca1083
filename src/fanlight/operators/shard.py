"""One shard: the five stops of a record are judge, take in, fire, retire, and out."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW, covered
from fanlight.model.kinds import is_aligned
from fanlight.model.sessions import Session
from fanlight.model.sliding import Sliding
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.correctable import CorrectablePanes
from fanlight.operators.folded import Folded
from fanlight.operators.lateness import Lateness
from fanlight.operators.messages import Messages
from fanlight.operators.missed import missed_by_folded
from fanlight.operators.once import OncePanes
from fanlight.operators.panes import Content, Moment, Panes, Signal
from fanlight.operators.plan import Plan
from fanlight.operators.retained import Retained
from fanlight.operators.taken import Bundle, Taken, judge
from fanlight.operators.triggered import TriggeredPanes
from fanlight.operators.unaligned.panes import UnalignedPanes
from fanlight.operators.unaligned.retained import RetainedByKey
from fanlight.operators.unaligned.sessions_once import SessionsOnce
from fanlight.operators.unaligned.sliding_once import SlidingOnce
from fanlight.operators.withheld import details
from fanlight.state.store import Address, ChunkStore

_INDEX = Address("index", 0, 0)
_TEXT = pa.schema([("index", pa.string())])
_JSON = json.JSONEncoder(sort_keys=True)
_QUIET = Signal()

Told = Callable[[list[pa.RecordBatch]], None]
"""Hears what leaves a step, before the step is committed."""


class ShardOperator:
    """The logic of one share of the keys.

    Everything it knows is in the store; what it holds besides can be built again from there. A step that fails
    changes nothing.
    """

    watermark: Timestamp
    clock: Timestamp
    arrived: int
    """How many records have come."""
    steps: int
    """How many steps have been committed."""
    notes: dict[str, Any]
    """What the caller keeps with the state."""
    _panes: Panes

    def __init__(self, plan: Plan, store: ChunkStore, *, panes: bool = True) -> None:
        """`panes` says whether firings tell of their panes."""
        self.plan = plan
        self._tells_panes = panes
        self._store = store
        self._lateness = Lateness(plan.spec, plan.slicing)
        self.letters = DeadLetters(plan.schema, of_times=plan.of_times)
        self.accounting = Accounting()
        self.reload()

    @property
    def is_live(self) -> bool:
        """Whether anything is kept that time alone could make fire or expire."""
        return any(self._store.list(space) for space in ("partials", "panes", "records", "retained"))

    def step(
        self,
        bundle: Bundle | None = None,
        watermark: Timestamp = START_OF_TIME,
        clock: Timestamp = START_OF_TIME,
        signal: Signal = _QUIET,
        notes: dict[str, Any] | None = None,
        folded: Folded | None = None,
        told: Told | None = None,
    ) -> list[pa.RecordBatch]:
        """Take a bundle, then a watermark, then a clock; return what leaves, in order.

        `folded` are records of the same bundle that were folded before they came. `notes` are kept with the state,
        for the caller to find after a restart. `told` is told what leaves just before the step is committed, for
        callers who must not lose it if they are interrupted before this returns.
        """
        return self._atomically(lambda: self._step(bundle, folded, watermark, clock, signal), notes, told)

    def end(
        self, signal: Signal = _QUIET, notes: dict[str, Any] | None = None, told: Told | None = None
    ) -> list[pa.RecordBatch]:
        """Close and expire every window; nothing remains."""
        return self._atomically(lambda: self._end(signal), notes, told)

    def begin(self, watermark: Timestamp, clock: Timestamp) -> None:
        """Let time have passed before the first record: it is kept with the first step."""
        self.watermark, self.clock = max(self.watermark, watermark), max(self.clock, clock)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> list[tuple[str, Content]]:
        """What windows hold: the live ones, and the expired ones that are still readable."""
        retained = [] if self._retained is None else [("expired", self._retained.content(first, last))]
        closed, expired = self._through(self.watermark)
        first = max(first, expired + 1)
        return [
            *retained,
            ("closed", self._panes.content(first, min(last, closed))),
            ("open", self._panes.content(max(first, closed + 1), last)),
        ]

    def records(self, first: Timestamp, last: Timestamp) -> pa.RecordBatch | None:
        """The stored messages of the slices from `first` to `last`; None if messages are not kept."""
        if self._messages is None:
            return None
        slices = self._messages.slices
        low, high = self.plan.slicing.slices(np.array([first, last]))
        return self._messages.read(slices[(slices >= low) & (slices <= high)].tolist())

    def _step(
        self, bundle: Bundle | None, folded: Folded | None, watermark: Timestamp, clock: Timestamp, signal: Signal
    ) -> list[pa.RecordBatch]:
        self.clock = max(self.clock, clock)
        target = max(self.watermark, watermark)
        leaving: list[pa.RecordBatch] = []
        for part, reached in self._parts(bundle, target):
            leaving += self._advance(part, folded, self._moment(reached, signal))
            self.watermark, folded = reached, None
        return leaving

    def _end(self, signal: Signal) -> list[pa.RecordBatch]:
        closed, expired = self._through(self.watermark)
        moment = Moment(END_OF_TIME, self.clock, closed, EVERY_WINDOW, expired, EVERY_WINDOW, self.arrived - 1, signal)
        leaving = self._advance(None, None, moment)
        self.watermark = END_OF_TIME
        return leaving

    def _parts(self, bundle: Bundle | None, target: Timestamp) -> list[tuple[Bundle | None, Timestamp]]:
        """The step's bundle and watermark; cut where panes that fire once must not see what came after they expired.

        Only a bundle judged record by record is cut: before each record whose own watermark expires another window,
        what has expired leaves first.
        """
        if bundle is None or len(bundle.watermarks) < 2 or not isinstance(self._panes, OncePanes):
            return [(bundle, target)]
        expired = self._lateness.expired_by(bundle.watermarks)
        before = np.concatenate([[self._through(self.watermark)[1]], expired[:-1]])
        cuts = np.flatnonzero(expired > before).tolist()
        bounds = [0, *cuts, len(bundle)]
        reached = [*(int(bundle.watermarks[cut]) for cut in cuts), target]
        return [(bundle.part(bounds[i], bounds[i + 1]), reached[i]) for i in range(len(reached))]

    def _advance(self, bundle: Bundle | None, folded: Folded | None, moment: Moment) -> list[pa.RecordBatch]:
        taken: Taken | None = None
        if bundle is not None and len(bundle):
            taken = judge(self.plan, self._lateness, bundle, self.arrived, self.letters, self.accounting)
            self.arrived += len(bundle)
        if folded is not None:
            self.arrived += folded.records
            self.accounting.accepted += folded.records
            self.accounting.missed_windows += missed_by_folded(self.plan.slicing, folded, moment.expired_before)
        if taken or folded:
            taken = self._panes.take_in(taken or None, folded, moment)
        if taken:
            if self._messages is not None:
                self._messages.append(taken)
            self.accounting.accepted += len(taken)
        firings = self._panes.fire(replace(moment, arrived=self.arrived - 1))
        self._retire(moment)
        if firings is not None and firings.outside:
            firings, withheld = firings.parted()
            self.letters.withhold(details(self.plan, withheld), moment.watermark)
            self.accounting.values_out_of_range += len(withheld)
        if firings is None or not len(firings):
            return []
        return [firings.to_batch(self.plan, moment.clock, panes=self._tells_panes)]

    def _retire(self, moment: Moment) -> None:
        through = moment.expired
        if self._retained is not None:
            self._retained.keep(self._panes.expiring(moment))
            self._retained.trim(moment.watermark)
        self._panes.retire(moment.expired)
        if self._messages is not None:
            slices = self._messages.slices
            first, last = self.plan.slicing.windows(slices)
            if self._retained is not None and self.plan.spec.message_retention:
                windows = covered(first, np.minimum(last, through))
                through = min(through, self._retained.forgotten(windows, moment.watermark))
            self._messages.retire(slices[last <= through].tolist())

    def _moment(self, watermark: Timestamp, signal: Signal) -> Moment:
        closed_before, expired_before = self._through(self.watermark)
        closed, expired = self._through(watermark)
        return Moment(watermark, self.clock, closed_before, closed, expired_before, expired, self.arrived - 1, signal)

    def _through(self, watermark: Timestamp) -> tuple[int, int]:
        return self._lateness.through(watermark)

    def _atomically(
        self, work: Callable[[], list[pa.RecordBatch]], notes: dict[str, Any] | None, told: Told | None
    ) -> list[pa.RecordBatch]:
        steps, letters = self.steps, self.letters.count
        try:
            leaving = work()
            self._save(notes)
            if told is not None:
                told(leaving)
            self._store.commit()
        except BaseException:
            self._store.rollback()
            self.reload()
            if self.steps == steps:  # an interrupt may come when all is done
                self.letters.cut(letters)
            raise
        return leaving

    def _save(self, notes: dict[str, Any] | None) -> None:
        self.notes = self.notes if notes is None else notes
        self.steps += 1
        index = {
            "steps": self.steps,
            "watermark": self.watermark,
            "clock": self.clock,
            "arrived": self.arrived,
            "accounting": self.accounting.as_dict(),
            "notes": self.notes,
        }
        self._store.put(_INDEX, _chunk_of(_JSON.encode(index)))

    def reload(self) -> None:
        """Take everything from the store, as after a restart."""
        index: dict[str, Any] = {}
        if _INDEX in self._store.list("index"):
            index = json.loads(self._store.get(_INDEX).column("index")[0].as_py())
        self.watermark = index.get("watermark", START_OF_TIME)
        self.clock = index.get("clock", START_OF_TIME)
        self.arrived = index.get("arrived", 0)
        self.steps = index.get("steps", 0)
        self.notes = index.get("notes", {})
        for name, count in {**Accounting().as_dict(), **index.get("accounting", {})}.items():
            setattr(self.accounting, name, count)
        plan, store = self.plan, self._store
        self._messages = Messages(plan, store) if plan.keeps_messages else None
        retention = plan.spec.retention
        self._retained: Retained | RetainedByKey | None = None
        if retention is not None:
            keeping = Retained if is_aligned(plan.spec.window) else RetainedByKey
            self._retained = keeping(plan, store, retention)
        window, once = plan.spec.window, plan.spec.fires_once and not plan.spec.keeps_panes
        books = (self._lateness, self.letters, self.accounting)
        if isinstance(window, Sliding) and once:
            self._panes = SlidingOnce(plan, window, store, *books)
        elif isinstance(window, Session) and once and not window.has_limits:
            self._panes = SessionsOnce(plan, window, store, *books)
        elif not is_aligned(window):
            self._panes = UnalignedPanes(plan, store, *books)
        elif once:
            self._panes = OncePanes(plan, store, self._messages)
        elif not plan.spec.keeps_panes:
            self._panes = CorrectablePanes(plan, store, self._messages)
        else:
            self._panes = TriggeredPanes(plan, store, self._messages, self.letters, self.accounting)


def _chunk_of(text: str) -> pa.RecordBatch:
    """One text as a chunk, put together by hand: it is written at every step, and Arrow would look what it is."""
    data = text.encode()
    column = pa.StringArray.from_buffers(1, pa.py_buffer(struct.pack("<ii", 0, len(data))), pa.py_buffer(data))
    return pa.RecordBatch.from_arrays([column], schema=_TEXT)
