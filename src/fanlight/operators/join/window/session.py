"""A join by session: records of both sides make the sessions of a key, which leave when they are complete.

    left        ●   ●
    right          ■          ■
    sessions   [─────────)   [────)

A row whose key has a null equals no other, and is a session of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode
from fanlight.kernels.join.probe import matches
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.windows.session import Session
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.columns import plain
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.join.window.live_sessions import KeyedSessions, LiveSessions
from fanlight.operators.join.window.partners import WindowJoin
from fanlight.operators.join.window.windowed_rows import RowWindows, in_order
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class CodedSessions(NamedTuple):
    """Sessions by key and start; the keys are numbers."""

    codes: Ints
    starts: Ints
    ends: Ints


class NumberedSessions:
    """Complete sessions, numbered by their ends, then by their starts."""

    def __init__(self, starts: Ints, ends: Ints) -> None:
        order, by_end, by_start = sort_by_key_time(ends, starts)
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (by_end[1:] != by_end[:-1]) | (by_start[1:] != by_start[:-1])
        self.numbers: Ints = np.empty(len(order), np.int64)
        """The number of each; those with the same bounds have the same."""
        self.numbers[order] = np.cumsum(is_first) - 1
        self._starts, self._ends = by_start[is_first], by_end[is_first]

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        """Where windows start and end."""
        return self._starts[windows], self._ends[windows]


class SessionJoin(WindowJoin):
    """Rows wait until the session they are in is complete."""

    def __init__(self, plan: JoinPlan, kind: Session, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert kind.gap is not None  # the spec has refused the others
        self._gap, self._touching = kind.gap.micros, kind.touching
        self._live = LiveSessions(store, [plan.schema.field(name) for name in plan.spec.keys])
        self._fresh: list[KeyedSessions] = []

    def _faults(self, times: Ints, judged: Ints) -> dict[Reason, Bools]:
        watermarks, own = np.unique(judged, return_inverse=True)  # one of each side
        over = np.array([moved(watermark, 1 - self._gap) for watermark in watermarks.tolist()], np.int64)
        return {Reason.EXPIRED: times < over[own.reshape(-1)]}

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights)
        self._left.append(lefts)
        self._fresh = [self._intervals(rows, left=left) for rows, left in ((rights, False), (lefts, True))]

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of the sessions that are complete now."""
        before, complete = self._complete(progress)
        fresh, self._fresh = self._fresh, []
        if not fresh and complete == before:
            return []
        known = self._live.read()
        live = KeyedSessions.concat([known, *fresh]).merged(touching=self._touching) if fresh else known
        is_over = live.ends <= complete
        if fresh or is_over.any():
            self._live.write(live.where(~is_over))
        return self._leaving(live.where(is_over), before, complete) if complete > before else []

    def retire(self, progress: Progress) -> None:
        """Delete the rows before the earliest session that is not complete."""
        before, complete = self._complete(progress)
        if complete == before:
            return
        starts = self._live.read().starts
        horizon = min(moved(complete, 1 - self._gap), int(starts.min()) if len(starts) else complete)
        self._left.retire(horizon)
        self._right.retire(horizon)

    def _complete(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """Up to which end sessions are complete, before the step and after it."""
        sides = self._plan.spec.left, self._plan.spec.right
        before, after = (min(look(side, progress) for side in sides) for look in (self._before, self._after))
        return before, after

    def _leaving(self, over: KeyedSessions, before: Timestamp, complete: Timestamp) -> list[pa.RecordBatch]:
        """The rows of these sessions, and those with a null key whose own are over now."""
        since, until = (moved(at, 1 - self._gap) for at in (before, complete))
        low = min(since, int(over.starts.min())) if len(over) else since
        found = [log.between(low, until) for log in (self._left, self._right)]
        coded, lefts, rights = self._coded(over, *found)
        nobodys = [
            np.flatnonzero(self._is_null(rows, left=left) & (rows.times >= since))
            for rows, left in ((lefts, True), (rights, False))
        ]
        own = np.concatenate([lefts.times[nobodys[0]], rights.times[nobodys[1]]])
        sessions = NumberedSessions(np.concatenate([coded.starts, own]), np.concatenate([coded.ends, own + self._gap]))
        keyed, _, _ = numbers = np.split(sessions.numbers, np.cumsum([len(coded.codes), len(nobodys[0])]))
        windows = []
        for rows, alone, alone_numbers in zip((lefts, rights), nobodys, numbers[1:], strict=True):
            session, row = matches(rows.codes, rows.times, coded.codes, coded.starts, coded.ends - 1)
            windows.append(_merged(RowWindows(row, keyed[session]), RowWindows(alone, alone_numbers)))
        return self._complete_rows((lefts, rights), (windows[0], windows[1]), sessions)

    def _coded(
        self, sessions: KeyedSessions, lefts: SideRows, rights: SideRows
    ) -> tuple[CodedSessions, SideRows, SideRows]:
        """Sessions and rows by their keys, numbered together: equal numbers are equal keys; then by time."""
        keys = sessions.keys, self._keys(lefts, left=True), self._keys(rights, left=False)
        whole = [pa.concat_arrays(parts) for parts in zip(*keys, strict=True)]
        cuts = np.cumsum([len(sessions), len(lefts)])
        codes = encode(whole, cuts[-1] + len(rights)).codes.astype(np.int64, copy=False)
        of_sessions, of_left, of_right = np.split(codes, cuts)
        order, ordered, starts = sort_by_key_time(of_sessions, sessions.starts)
        over = CodedSessions(ordered, starts, sessions.ends[order])
        return over, in_order(replace(lefts, codes=of_left)), in_order(replace(rights, codes=of_right))

    def _intervals(self, rows: SideRows, *, left: bool) -> KeyedSessions:
        """What each row brings to the sessions of its key; one without a key brings nothing."""
        keyed = rows.where(~self._is_null(rows, left=left))
        return KeyedSessions(keyed.times, keyed.times + self._gap, self._keys(keyed, left=left))

    def _keys(self, rows: SideRows, *, left: bool) -> list[pa.Array]:
        """The keys of rows, of the type that both sides are compared by."""
        plan = self._plan
        side, schema = (plan.spec.left, plan.left) if left else (plan.spec.right, plan.right)
        kinds = [plan.schema.field(name).type for name in plan.spec.keys]
        if not schema:
            return [pa.array([], kind) for kind in kinds]
        places = [schema.get_field_index(name) for name in side.keys]
        return [plain(rows.columns[place]).cast(kind) for place, kind in zip(places, kinds, strict=True)]

    def _is_null(self, rows: SideRows, *, left: bool) -> Bools:
        """Which rows have a null among their keys."""
        found = np.zeros(len(rows), np.bool_)
        for key in self._keys(rows, left=left):
            if key.null_count:
                found |= np.asarray(key.is_null())
        return found


def _merged(one: RowWindows, other: RowWindows) -> RowWindows:
    """Rows in one window each, of two sorts, by row."""
    if not len(other):
        return one
    rows, windows = np.concatenate([one.rows, other.rows]), np.concatenate([one.windows, other.windows])
    order = np.argsort(rows, kind="stable")
    return RowWindows(rows[order], windows[order])
