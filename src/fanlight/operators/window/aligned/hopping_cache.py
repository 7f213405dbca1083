"""A cache for merging overlapping windows: two stacks over the partial log. The log holds the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Ints, KeyCodes, Pairs, encode, sort_order
from fanlight.kernels.slicing.two_stacks import SliceRows, Stacks, by_slice
from fanlight.operators.window.plan import Plan


class SliceLog(Protocol):
    """Where the partials of slices are kept."""

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""

    def read(self, slices: Iterable[int]) -> tuple[Ints, list[pa.Array], Partials]:
        """The rows of these slices: slice, keys, partials. A key may occur more than once."""


class KeyIndex:
    """Numbers keys for as long as the stacks live, so that slices line up without hashing keys again."""

    def __init__(self, keys: list[pa.Array], count: int) -> None:
        self.keys = keys
        self.count = count
        self._order: Ints | None = None

    def intern(self, keys: list[pa.Array], rows: int) -> Ints:
        """The number of each key; new keys get the next ones."""
        if not keys:
            return np.zeros(rows, np.int64)
        known = self.count
        found = encode([pa.concat_arrays(pair) for pair in zip(self.keys, keys, strict=True)], known + rows)
        number = np.full(found.count, -1)
        number[found.codes[:known]] = np.arange(known)
        fresh = np.flatnonzero(number < 0)
        if len(fresh):
            number[fresh] = known + np.arange(len(fresh))
            self.keys = [pa.concat_arrays(pair) for pair in zip(self.keys, found.take(fresh), strict=True)]
            self.count, self._order = found.count, None
        return number[found.codes[known:]]

    @property
    def order(self) -> Ints:
        """The numbers in ascending order of their keys, null last."""
        if self._order is None:
            self._order = sort_order(self.keys)
        return self._order

    def take(self, codes: Ints) -> list[pa.Array]:
        """The keys of these numbers."""
        return KeyCodes(codes, self.keys, self.count).take(codes)


class ServedWindows:
    """The panes of overlapping windows, for a shard whose windows expire in order."""

    def __init__(self, plan: Plan, log: SliceLog) -> None:
        self._plan = plan
        self._log = log
        keys = [pa.array([], field.type) for field in plan.key_fields]
        self._index = KeyIndex(keys, 0 if keys else 1)
        self._stacks = Stacks(plan.aggregation, self._index.count, slides=plan.slicing.slides)

    def serve(self, windows: Ints) -> tuple[Ints, list[pa.Array], Partials]:
        """The panes of these windows, in order of window and key: window, keys, partials."""
        first = self._plan.slicing.members(int(windows[0]))[0]
        if self._stacks.flips_at(first):
            self._shrink(first)  # only here, because the results below still use the numbers of the index
        self._fetch(windows)
        served = [self._serve(int(window)) for window in windows]
        codes = np.concatenate([codes for codes, _ in served])
        owners = np.repeat(windows, [len(codes) for codes, _ in served])
        return owners, self._index.take(codes), Partials.concat([partials for _, partials in served])

    def touch(self, slices: Ints, keys: list[pa.Array], partials: Partials) -> None:
        """Add rows that were appended to slices already in the stacks; a key may occur more than once."""
        if self._stacks.end is None:
            return
        served = np.flatnonzero((slices <= self._stacks.end) & (slices >= self._stacks.start))
        if not len(served):
            return
        codes = self._intern([column.take(pa.array(served)) for column in keys], len(served))
        pairs = Pairs.of(slices[served], codes, self._index.count)
        slices, codes, partials = pairs.settle(self._plan.aggregation.merge(partials.take(served), pairs.groups))
        for slice_ in np.unique(slices).tolist():
            mine = slices == slice_
            self._stacks.patch(slice_, SliceRows(codes[mine], partials.take(mine)))

    def _fetch(self, windows: Ints) -> None:
        """Load the missing slices of these windows; all keys are looked up at once."""
        members, end = self._plan.slicing.members, self._stacks.end
        first, last = members(int(windows[0]))[0], members(int(windows[-1]))[1]
        low = first if end is None else max(first, end + 1)
        present = self._log.slices
        wanted: list[int] = present[(present >= low) & (present <= last)].tolist()
        owners, keys, partials = self._log.read(wanted)
        codes = self._intern(keys, len(owners))
        pairs = Pairs.of(owners, codes, self._index.count)
        self._stacks.load(by_slice(*pairs.settle(self._plan.aggregation.merge(partials, pairs.groups))))

    def _serve(self, window: int) -> tuple[Ints, Partials]:
        value = self._stacks.serve(*self._plan.slicing.members(window))
        order = self._index.order
        codes = order[value.rows[order] > 0]
        return codes, value.take(codes)

    def _intern(self, keys: list[pa.Array], rows: int) -> Ints:
        codes = self._index.intern(keys, rows)
        self._stacks.count = self._index.count
        return codes

    def _shrink(self, first: int) -> None:
        """Forget keys that are in no slice from `first` on, once they are the majority."""
        held = np.zeros(self._index.count, np.bool_)
        for slice_, rows in self._stacks.rows.items():
            if slice_ >= first:
                held[rows.held] = True
        used = np.flatnonzero(held)
        if 2 * len(used) + 1024 < self._index.count:
            self._index = KeyIndex(self._index.take(used), len(used))
            self._stacks.renumber(used, first)
