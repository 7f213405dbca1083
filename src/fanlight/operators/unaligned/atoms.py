"""Records kept one by one, each as partials with its key and time, for windows that overlap as they like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.keys import KeyCodes, encode_loosely
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.operators.log import ChunkLog
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class Atoms:
    """Records as partials, one row each."""

    keys: list[pa.Array]
    times: Ints
    partials: Partials

    def __len__(self) -> int:
        return len(self.times)

    @staticmethod
    def of(plan: Plan, taken: Taken) -> Atoms:
        """The records of a bundle, in the order they came."""
        alone = Groups.alone(len(taken))
        times = taken.bundle.times
        arrivals = taken.arrivals if plan.fold.numbers_rows else None
        partials = plan.fold.partial(taken.values(plan), times, alone, taken.counted(plan), arrivals)
        return Atoms(taken.keys(plan), times, partials)

    def take(self, rows: Ints) -> Atoms:
        """The rows at `rows`, in that order."""
        places = pa.array(rows)
        keys = [column.take(places) for column in self.keys]
        return Atoms(keys, self.times[rows], self.partials.take(rows))

    @staticmethod
    def concat(parts: list[Atoms]) -> Atoms:
        """The rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return Atoms(
            [pa.concat_arrays(same) for same in zip(*(part.keys for part in parts), strict=True)],
            np.concatenate([part.times for part in parts]),
            Partials.concat([part.partials for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class SortedAtoms:
    """Rows in the order of their key codes and times."""

    found: KeyCodes
    codes: Ints
    times: Ints
    order: Ints
    """Which row, before they were sorted, each is."""

    @staticmethod
    def of(atoms: Atoms, kept: Bools | None = None) -> SortedAtoms:
        """Sort rows, or those that `kept` marks. Codes follow the order of the keys, so that results come out in it."""
        found = encode_loosely(atoms.keys, len(atoms), in_order=True)
        order, codes, times = sort_by_key_time(found.codes, atoms.times, kept)
        return SortedAtoms(found, codes, times, order)


class AtomLog:
    """The records of a shard by time, from the earliest one that a window can still need.

    What a step appends waits until the step retires what nothing needs any more: the rest of it is then written. So
    records that one step brings and no other needs are never cut into slices, and never written.
    """

    def __init__(self, plan: Plan, store: ChunkStore, width: int) -> None:
        self._plan = plan
        self._width = width
        self._log = ChunkLog(store, "atoms")
        self._schema = pa.schema([pa.field("time", pa.int64()), *plan.key_fields, *plan.fold.fields])
        self._waiting: list[Atoms] = []

    def append(self, atoms: Atoms) -> None:
        """Keep records."""
        if len(atoms):
            self._waiting.append(atoms)

    def between(self, first: int, last: int) -> Atoms:
        """The records with `first <= time < last`; those of one time in the order they came."""
        found, inside = self.around(first, last)
        return found if inside is None else found.take(np.flatnonzero(inside))

    def around(self, first: int, last: int) -> tuple[Atoms, Bools | None]:
        """The records with `first <= time < last` among others, and which they are; None if there are no others.

        Most often the others are few: whoever puts rows in order leaves them out with less work than taking the rest.
        """
        slices = self._log.slices
        near = slices[(slices >= first // self._width) & (slices <= (last - 1) // self._width)].tolist()
        stored = [self._read(near)] if near or not self._waiting else []
        found = Atoms.concat([*stored, *self._waiting])
        inside = (found.times >= first) & (found.times < last)
        return found, None if inside.all() else inside

    def retire(self, before: int) -> None:
        """Forget records before a time, those that are written whole slices at once; write what waited and is left."""
        slices = self._log.slices
        self._log.retire(slices[(slices + 1) * self._width <= before].tolist())
        if self._waiting:
            waiting, self._waiting = Atoms.concat(self._waiting), []
            self._write(waiting, np.flatnonzero(waiting.times >= before))

    def _write(self, atoms: Atoms, rows: Ints) -> None:
        """Add the records at `rows` to their slices. Slices with many small chunks are written as one."""
        if not len(rows):
            return
        slices = atoms.times[rows] // self._width
        order = np.argsort(slices, kind="stable")
        touched = self._log.append(slices[order], self._batch(atoms.take(rows[order])))
        for slice_ in self._log.crowded(touched):
            self._log.replace(slice_, self._batch(self._read([slice_])))

    def _batch(self, atoms: Atoms) -> pa.RecordBatch:
        columns = [pa.array(atoms.times), *atoms.keys, *self._plan.fold.to_arrays(atoms.partials)]
        return pa.record_batch(columns, schema=self._schema)

    def _read(self, slices: list[int]) -> Atoms:
        _, chunks = self._log.read(slices)
        table = pa.Table.from_batches(chunks, schema=self._schema).combine_chunks()
        columns = table.to_batches()[0].columns if len(table) else [pa.array([], f.type) for f in self._schema]
        times, *rest = columns
        width = len(self._plan.key_fields)
        return Atoms(rest[:width], times.to_numpy(), self._plan.fold.from_arrays(rest[width:]).thin())
