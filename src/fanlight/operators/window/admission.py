"""Lateness and admission: which windows a watermark closes and expires, and which records are accepted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.inputs import input_values
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import NO_WINDOW, Slicing
from fanlight.model.reason import Reason
from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.missed_windows import missed_windows
from fanlight.operators.window.plan import Plan

_FAR = 2**61
_FEW = 8
_RANGE = 1 << 16
"""Up to this many slices, a bundle is judged by slice instead of by record."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """The law of closing and expiry, in window numbers.

    window ends      ... 3 ... 4 ... 5 ... 6 ... 7
    watermark                        ^ closed through 5
    minus lateness             ^ expired through 4
    """

    spec: WindowSpec
    slicing: Slicing
    _closing: tuple[int, bool] = field(init=False, repr=False, compare=False)
    _expiry: tuple[int, bool] | None = field(init=False, repr=False, compare=False)
    """How far behind the watermark a window expires, and whether strictly; None if no window expires."""
    _known: dict[Timestamp, tuple[int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The latest answers by watermark: a step asks several times, and most steps do not move the watermark."""

    def __post_init__(self) -> None:
        spec = self.spec
        expiry = None if spec.lateness.is_forever else (spec.lateness.micros, spec.expires_strictly)
        object.__setattr__(self, "_closing", (0, spec.closes_strictly))
        object.__setattr__(self, "_expiry", expiry)

    @property
    def judges_records(self) -> bool:
        """Whether a record's own time decides, whatever its windows are."""
        return self.spec.late_by is LateBy.RECORD and not self.spec.lateness.is_forever

    def closed_through(self, watermark: Timestamp) -> int:
        """The last window that `watermark` closes."""
        return self.through(watermark)[0]

    def expired_through(self, watermark: Timestamp) -> int:
        """The last window that `watermark` expires."""
        return self.through(watermark)[1]

    def through(self, watermark: Timestamp) -> tuple[int, int]:
        """The last windows that `watermark` closes and expires."""
        found = self._known.get(watermark)
        if found is None:
            at, expiry = np.array([watermark]), self._expiry
            closed = int(self._ended(at, *self._closing)[0])
            found = closed, NO_WINDOW if expiry is None else int(self._ended(at, *expiry)[0])
            if len(self._known) >= _FEW:
                self._known.clear()
            self._known[watermark] = found
        return found

    def expired_by(self, watermarks: Ints) -> Ints:
        """The last window that each watermark expires."""
        if len(watermarks) == 1:
            return np.array([self.expired_through(int(watermarks[0]))])
        return np.full(len(watermarks), NO_WINDOW) if self._expiry is None else self._ended(watermarks, *self._expiry)

    def fates(self, slices: Ints, expired: int) -> tuple[Bools, Bools] | None:
        """Which slices have no window, and which have only expired windows; None if there is no such slice."""
        if not len(slices):
            return None
        lowest, highest = int(slices.min()), int(slices.max())
        if highest - lowest >= min(_RANGE, len(slices)):
            return self._fates(slices, expired)
        homeless, dead = self._fates(np.arange(lowest, highest + 1), expired)
        if not (homeless.any() or dead.any()):
            return None
        return homeless[slices - lowest], dead[slices - lowest]

    def too_late(self, times: Ints, last: Ints, watermarks: Ints) -> Bools:
        """Which records are dead: all their windows have expired, or their own times are too far behind."""
        if self.judges_records:
            behind = np.minimum(np.maximum(watermarks, -_FAR), _FAR) - self.spec.lateness.micros
            return np.where(watermarks >= END_OF_TIME, True, times < behind)
        return last <= self.expired_by(watermarks)

    def _fates(self, slices: Ints, expired: int) -> tuple[Bools, Bools]:
        first, last = self.slicing.windows(slices)
        return last < first, (last <= expired) & (last >= first)

    def _ended(self, watermarks: Ints, lateness: int, strictly: bool) -> Ints:
        within = np.minimum(np.maximum(watermarks, -_FAR), _FAR) - (lateness + strictly)
        within = np.where(watermarks >= END_OF_TIME, END_OF_TIME, within)
        return np.where(watermarks == START_OF_TIME, NO_WINDOW, self.slicing.last_ending_by(within))


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted records: their slices, and the last window that had expired when they came."""

    bundle: Bundle
    slices: Ints
    expired: Ints
    """One for all records, or one for each."""
    places: Ints | None = None
    """The places of the records in the original bundle; None if no record was left out."""

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def arrivals(self) -> Ints:
        """The arrival number of each record."""
        places = np.arange(len(self)) if self.places is None else self.places
        return places + self.bundle.first

    def keys(self, plan: Plan) -> list[pa.Array]:
        """The key columns."""
        columns = [self.bundle.batch.column(name) for name in plan.spec.keys]
        return columns if plan.is_plain else [plain(column) for column in columns]

    def values(self, plan: Plan) -> list[pa.Array | None]:
        """What each incremental aggregate works on."""
        return values_of(plan, self.bundle.batch)

    def counted(self, plan: Plan) -> Bools | None:
        """Which records count for a firing's time; None means all of them."""
        if not plan.spec.semantics.holds:
            return None
        return self.bundle.times >= self.bundle.watermarks

    def at(self, places: Ints) -> Accepted:
        """The same records at other places in their windows, such as positions."""
        return replace(self, bundle=replace(self.bundle, times=places))

    def where(self, mask: Bools) -> Accepted:
        """The records that `mask` keeps."""
        places = np.flatnonzero(mask) if self.places is None else self.places[mask]
        return Accepted(self.bundle.where(mask), self.slices[mask], _where(self.expired, mask), places)


def values_of(plan: Plan, batch: pa.RecordBatch) -> list[pa.Array | None]:
    """The input of each incremental aggregate; aggregates on the same columns share one object."""
    found: dict[tuple[str, ...], pa.Array | None] = {}
    for _, names in plan.incremental:
        if names not in found:
            columns = [batch.column(name) for name in names]
            if plan.is_plain and len(columns) < 2:
                found[names] = columns[0] if columns else None
            else:
                found[names] = input_values(names, [plain(column) for column in columns])
    return [found[names] for _, names in plan.incremental]


def rejected(accepted: Accepted, dead: Bools, reason: Reason, books: Books) -> Accepted:
    """Make dead letters of the dead records and count them; returns the other records."""
    if not dead.any():
        return accepted
    bundle = accepted.bundle
    books.reject(bundle.batch, dead, reason, bundle.watermarks)
    return accepted.where(~dead)


def rejected_each(accepted: Accepted, dead: Bools, reason: Reason, books: Books) -> Accepted:
    """The same, where each record has one window of its own: each dead record has missed one."""
    books.miss(int(np.count_nonzero(dead)))
    return rejected(accepted, dead, reason, books)


def judge(plan: Plan, lateness: Lateness, bundle: Bundle, books: Books) -> Accepted:
    """Accept records; those without a window, or too late for all their windows, become dead letters.

    Accepted records are not counted yet: the caller may still find that their panes have finished.
    """
    slices = plan.slicing.slices(bundle.times)
    expired = lateness.expired_by(bundle.watermarks)
    accepted = Accepted(bundle, slices, expired)
    if not plan.is_aligned:
        return accepted  # whether a record is accepted depends on other records of its key: its panes decide
    verdict = _verdict(plan, lateness, accepted)
    judged = verdict[1] if verdict is not None and lateness.judges_records else None
    if verdict is not None or plan.slicing.width > 1:  # if no record is dead, records with one window have missed none
        books.miss(missed_windows(plan.slicing, slices, expired, judged))
    if verdict is None:
        return accepted
    homeless, dead = verdict
    books.reject(bundle.batch, homeless, Reason.NO_WINDOW, bundle.watermarks)
    books.reject(bundle.batch, dead, Reason.EXPIRED, bundle.watermarks)
    return accepted.where(~(homeless | dead))


def _verdict(plan: Plan, lateness: Lateness, accepted: Accepted) -> tuple[Bools, Bools] | None:
    """Which records have no window, and which are too late; None if all are accepted."""
    slices, bundle = accepted.slices, accepted.bundle
    if plan.spec.semantics.late_by is LateBy.WINDOW and len(accepted.expired) == 1:
        return lateness.fates(slices, int(accepted.expired[0]))  # records of one slice are judged alike
    first, last = plan.slicing.windows(slices)
    homeless = last < first
    dead = lateness.too_late(bundle.times, last, bundle.watermarks) & ~homeless
    return (homeless, dead) if homeless.any() or dead.any() else None


def _where(column: Ints, mask: Bools) -> Ints:
    return column[mask] if len(column) > 1 else column
