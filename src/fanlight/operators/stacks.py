"""The values of overlapping windows, each slice merged a constant number of times.

A window slides over slices as over a queue, so two stacks serve it: the front holds the merge of every suffix up to
`middle`, the back one running merge from `middle` on. A window is one suffix and the back.

    slices     f   .   .   .   m   .   .   b
    front      [f..m) [f+1..m) …
    back                       [m........b]
    window     suffix(f) + back

When the window has slid past `middle`, the slices of the back become the new front. A slice is merged once on each
side, whatever the overlap. All of it is a cache: the partial log holds the truth, and it can be dropped at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Fold, Partials
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import KeyCodes, encode, sort_order
from fanlight.kernels.pairs import Pairs
from fanlight.operators.log import PartialLog
from fanlight.operators.plan import Plan

_ROOM = 1 << 30
"""How many bytes the front may take; beyond, windows are merged from their slices one by one."""


@dataclass(frozen=True, slots=True)
class SliceRows:
    """The partials of one slice, each key once."""

    codes: Ints
    partials: Partials


class KeyIndex:
    """Keys numbered for as long as the stacks live, so that slices line up without hashing them again."""

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
        if found.count > known:
            self.keys, self.count, self._order = found.keys, found.count, None
        return found.codes[known:].astype(np.int64, copy=False)

    @property
    def order(self) -> Ints:
        """The numbers in ascending order of their keys, null last."""
        if self._order is None:
            self._order = sort_order(self.keys)
        return self._order

    def take(self, codes: Ints) -> list[pa.Array]:
        """The keys of these numbers."""
        return KeyCodes(codes, self.keys, self.count).take(codes)


class TwoStacks:
    """Serves windows in ascending order from a partial log."""

    def __init__(self, plan: Plan, log: PartialLog) -> None:
        self._plan = plan
        self._fold: Fold = plan.fold
        self._log = log
        keys = [pa.array([], field.type) for field in plan.key_fields]
        self._index = KeyIndex(keys, 0 if keys else 1)
        self._front: dict[int, Partials] = {}
        self._back: Partials | None = None
        self._rows: dict[int, SliceRows] = {}  # what a later front will be made of
        self._start = self._middle = 0
        self._end: int | None = None

    def serve(self, windows: Ints) -> tuple[Ints, list[pa.Array], Partials]:
        """The panes of these windows, in order of window and key: window, keys, partials."""
        self._fetch(windows)
        served = [self._serve(int(window)) for window in windows]
        codes = np.concatenate([codes for codes, _ in served])
        owners = np.repeat(windows, [len(codes) for codes, _ in served])
        return owners, self._index.take(codes), Partials.concat([partials for _, partials in served])

    def touch(self, slices: Ints, keys: list[pa.Array], partials: Partials) -> None:
        """Bring rows that were appended to slices already loaded into the stacks."""
        if self._end is None:
            return
        loaded = np.flatnonzero((slices <= self._end) & (slices >= self._start))
        if not len(loaded):
            return
        slices, partials = slices[loaded], partials.take(loaded)
        codes = self._index.intern([column.take(pa.array(loaded)) for column in keys], len(loaded))
        for slice_ in np.unique(slices).tolist():
            mine = slices == slice_
            self._patch(slice_, SliceRows(codes[mine], partials.take(mine)))

    def _fetch(self, windows: Ints) -> None:
        """Load the slices these windows will need and do not have, all keys looked up at once."""
        members = self._plan.slicing.members
        first, last = members(int(windows[0]))[0], members(int(windows[-1]))[1]
        low = first if self._end is None else max(first, self._end + 1)
        present = self._log.slices
        wanted: list[int] = present[(present >= low) & (present <= last)].tolist()
        owners, keys, partials = self._log.read(wanted)
        codes = self._index.intern(keys, len(owners))
        pairs = Pairs.of(owners, codes, self._index.count)
        owners, codes, merged = pairs.settle(self._fold.merge(partials, pairs.groups))
        cuts = np.searchsorted(owners, [*wanted, last + 1])
        for slice_, start, end in zip(wanted, cuts[:-1], cuts[1:], strict=True):
            span = np.arange(start, end)
            self._rows[slice_] = SliceRows(codes[span], merged.take(span))

    def _serve(self, window: int) -> tuple[Ints, Partials]:
        first, last = self._plan.slicing.members(window)
        if self._end is None or first >= self._middle:
            self._flip(first, last)
        else:
            for slice_ in range(self._end + 1, last + 1):
                if slice_ in self._rows:
                    self._back = self._merged(self._back, self._rows[slice_])
        for slice_ in range(self._start, first):
            self._front.pop(slice_, None)
        self._start, self._end = first, last
        value = self._grown(self._suffix(first))
        if self._back is not None:
            value = self._fold.combine(value, self._grown(self._back))
        order = self._index.order
        codes = order[value.rows[order] > 0]
        return codes, value.take(codes)

    def _flip(self, first: int, last: int) -> None:
        """Make the slices first..last the front, and empty the back."""
        self._rows = {slice_: rows for slice_, rows in self._rows.items() if slice_ >= first}
        self._shrink()
        self._front, self._back, self._middle = {}, None, last + 1
        if self._index.count * (last - first) * 8 * len(self._fold.fields) > _ROOM:
            return
        suffix: Partials | None = None
        for slice_ in range(last, first - 1, -1):
            rows = self._rows.pop(slice_, None)
            if rows is not None:
                suffix = self._merged(suffix, rows)
            if suffix is not None:
                self._front[slice_] = suffix

    def _suffix(self, first: int) -> Partials:
        """The merge of first..middle: from the front, or slice by slice where there was no room for one."""
        suffix = self._front.get(first)
        if suffix is None:
            for slice_ in range(first, self._middle):
                if slice_ in self._rows:
                    suffix = self._merged(suffix, self._rows[slice_])
        return self._fold.identity(self._index.count) if suffix is None else suffix

    def _patch(self, slice_: int, rows: SliceRows) -> None:
        if slice_ < self._middle and slice_ not in self._rows:
            for start in range(self._start, slice_ + 1):
                self._front[start] = self._merged(self._front.get(start), rows)
            return
        known = self._rows.get(slice_)
        self._rows[slice_] = rows if known is None else self._joined(known, rows)
        if slice_ >= self._middle:
            self._back = self._merged(self._back, rows)

    def _joined(self, left: SliceRows, right: SliceRows) -> SliceRows:
        codes = np.concatenate([left.codes, right.codes])
        pairs = Pairs.of(np.zeros(len(codes), np.int64), codes, self._index.count)
        both = Partials.concat([left.partials, right.partials])
        _, codes, partials = pairs.settle(self._fold.merge(both, pairs.groups))
        return SliceRows(codes, partials)

    def _merged(self, into: Partials | None, rows: SliceRows) -> Partials:
        into = self._fold.identity(self._index.count) if into is None else self._grown(into)
        return into.put(rows.codes, self._fold.combine(into.take(rows.codes), rows.partials))

    def _grown(self, partials: Partials) -> Partials:
        """Partials made before the last keys came, with room for those."""
        missing = self._index.count - len(partials)
        return Partials.concat([partials, self._fold.identity(missing)]) if missing else partials

    def _shrink(self) -> None:
        """Forget keys that no slice holds any more, once they are the most."""
        if not self._rows or not self._index.keys:
            return
        used = np.unique(np.concatenate([rows.codes for rows in self._rows.values()]))
        if 2 * len(used) + 1024 > self._index.count:
            return
        self._index = KeyIndex(self._index.take(used), len(used))
        self._rows = {
            slice_: SliceRows(np.searchsorted(used, rows.codes), rows.partials)
            for slice_, rows in self._rows.items()
        }
