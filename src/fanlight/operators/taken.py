"""Judging a bundle: which records are taken in, and from which window on they count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.model.kinds import is_aligned
from fanlight.model.letters import Reason
from fanlight.model.semantics import LateBy
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.lateness import Lateness
from fanlight.operators.missed import missed_windows
from fanlight.operators.plan import Plan, plain, values_of


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one step takes in: records with a readable time, and the watermark they are judged against."""

    batch: pa.RecordBatch
    times: Ints
    watermarks: Ints
    """One for all, or one a record."""

    def __len__(self) -> int:
        return len(self.times)

    def where(self, mask: Bools) -> Bundle:
        """The records that `mask` keeps."""
        return Bundle(self.batch.filter(pa.array(mask)), self.times[mask], _where(self.watermarks, mask))

    def part(self, start: int, end: int) -> Bundle:
        """The records from `start` up to `end`."""
        watermarks = self.watermarks[start:end] if len(self.watermarks) > 1 else self.watermarks
        return Bundle(self.batch.slice(start, end - start), self.times[start:end], watermarks)


@dataclass(frozen=True, slots=True)
class Taken:
    """Records that passed judgement: their slices, and the last window that had expired when they came."""

    bundle: Bundle
    slices: Ints
    expired: Ints
    """One for all, or one a record."""
    arrived: int
    places: Ints | None = None
    """Where in the bundle as it came the records stood; None if none was left out."""

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def arrivals(self) -> Ints:
        """The number of each record, counted as they came."""
        places = np.arange(len(self)) if self.places is None else self.places
        return places + self.arrived

    def keys(self, plan: Plan) -> list[pa.Array]:
        """The key columns."""
        return [plain(self.bundle.batch.column(name)) for name in plan.spec.keys]

    def values(self, plan: Plan) -> list[pa.Array | None]:
        """What each incremental aggregate works on."""
        return values_of(plan, self.bundle.batch)

    def counted(self, plan: Plan) -> Bools | None:
        """Which records a firing's time looks at; None is all of them."""
        if not plan.spec.semantics.holds:
            return None
        return self.bundle.times >= self.bundle.watermarks

    def where(self, mask: Bools) -> Taken:
        """The records that `mask` keeps."""
        places = np.flatnonzero(mask) if self.places is None else self.places[mask]
        return Taken(self.bundle.where(mask), self.slices[mask], _where(self.expired, mask), self.arrived, places)


def buried(taken: Taken, dead: Bools, reason: Reason, letters: DeadLetters, accounting: Accounting) -> Taken:
    """Make dead letters of records, and note it in the books; the records that are left."""
    if not dead.any():
        return taken
    bundle = taken.bundle
    accounting.dead_letters += letters.bury(bundle.batch, dead, reason, bundle.watermarks)
    return taken.where(~dead)


def buried_each(taken: Taken, dead: Bools, reason: Reason, letters: DeadLetters, accounting: Accounting) -> Taken:
    """The same where a record has one window for itself, and those that are dead have missed it."""
    accounting.missed_windows += int(np.count_nonzero(dead))
    return buried(taken, dead, reason, letters, accounting)


def judge(
    plan: Plan, lateness: Lateness, bundle: Bundle, arrived: int, letters: DeadLetters, accounting: Accounting
) -> Taken:
    """Bury what no window takes and what comes too late for all of its windows; the rest is taken in.

    Records are numbered as they arrive, from `arrived` on. The taken ones are not counted yet: the caller may still
    find that their panes have finished.
    """
    slices = plan.slicing.slices(bundle.times)
    expired = lateness.expired_by(bundle.watermarks)
    taken = Taken(bundle, slices, expired, arrived)
    if not is_aligned(plan.spec.window):
        return taken  # what becomes of a record depends on others of its key; their panes will tell
    verdict = _verdict(plan, lateness, taken)
    judged = verdict[1] if verdict is not None and lateness.judges_records else None
    if verdict is not None or plan.slicing.width > 1:  # a record with one window has missed none, if all are well
        accounting.missed_windows += missed_windows(plan.slicing, slices, expired, judged)
    if verdict is None:
        return taken
    homeless, dead = verdict
    accounting.dead_letters += letters.bury(bundle.batch, homeless, Reason.NO_WINDOW, bundle.watermarks)
    accounting.dead_letters += letters.bury(bundle.batch, dead, Reason.EXPIRED, bundle.watermarks)
    return taken.where(~(homeless | dead))


def _verdict(plan: Plan, lateness: Lateness, taken: Taken) -> tuple[Bools, Bools] | None:
    """Which records no window takes, and which come too late; None if all are well."""
    slices, bundle = taken.slices, taken.bundle
    if plan.spec.semantics.late_by is LateBy.WINDOW and len(taken.expired) == 1:
        return lateness.fates(slices, int(taken.expired[0]))  # records of one slice share their fate
    first, last = plan.slicing.windows(slices)
    homeless = last < first
    dead = lateness.too_late(bundle.times, last, bundle.watermarks) & ~homeless
    return (homeless, dead) if homeless.any() or dead.any() else None


def _where(column: Ints, mask: Bools) -> Ints:
    return column[mask] if len(column) > 1 else column
