"""Overlapping windows merged over two stacks: each slice is merged a constant number of times.

A window slides over slices as over a queue, so two stacks serve it: the front holds the merge of every suffix up to
`middle`, the back one running merge from `middle` on. A window is one suffix and the back.

    slices     f   .   .   .   m   .   .   b
    front      [f..m) [f+1..m) …
    back                       [m........b]
    window     suffix(f) + back

When the window has slid past `middle`, the slices of the back become the new front. A slice is merged once on each
side, whatever the overlap. Empty slices cost nothing: the suffix from an empty slice is that of the next slice with
rows. Windows that grow and then start anew (cumulating ones) need no suffix but the first.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from fanlight.kernels.aggregates.aggregation import Aggregation, Partials
from fanlight.kernels.grouping.groups import Ints, runs
from fanlight.kernels.routes import ROUTES


@dataclass(frozen=True, slots=True)
class SliceRows:
    """The partials of one slice, each key once. If `codes` is None they are dense: row i is code i."""

    codes: Ints | None
    partials: Partials

    @property
    def held(self) -> Ints:
        """The codes that occur."""
        return np.flatnonzero(self.partials.rows) if self.codes is None else self.codes


class Stacks:
    """Merges windows, in ascending order, into dense partials: one row for each key code, `rows` 0 if it is absent."""

    def __init__(self, aggregation: Aggregation, count: int, *, slides: bool = True) -> None:
        """`slides` says whether each window starts one slice after the one before, so that every suffix is needed."""
        self._aggregation = aggregation
        self._slides = slides
        self.count = count
        """How many key codes there are. Only `renumber` makes it smaller."""
        self.rows: dict[int, SliceRows] = {}
        """The slices that a later front is made from."""
        self.start = self.middle = 0
        self.end: int | None = None
        self._front: list[tuple[int, Partials | None]] = []  # suffixes by their first slice, descending
        self._fronted = False
        self._back: Partials | None = None

    def load(self, slices: dict[int, SliceRows]) -> None:
        """Take in slices that have not been served.

        Where most keys occur, a slice is stored dense: it is merged twice, and made dense only once.
        """
        for slice_, rows in slices.items():
            is_full = rows.codes is not None and 2 * len(rows.codes) > self.count
            self.rows[slice_] = SliceRows(None, self._merged(None, rows)) if is_full else rows

    def serve(self, first: int, last: int) -> Partials:
        """The merge of the slices first..last, which must have been loaded."""
        if self.end is None or first >= self.middle:
            self._flip(first, last)
        else:
            for slice_ in range(self.end + 1, last + 1):
                if slice_ in self.rows:
                    self._back = self._merged(self._back, self.rows[slice_])
        while self._front and self._front[-1][0] < first:
            self._front.pop()
        self.start, self.end = first, last
        value = self._grown(self._suffix(first))
        return value if self._back is None else self._aggregation.combine(value, self._grown(self._back))

    def flips_at(self, first: int) -> bool:
        """Whether serving a window from `first` makes a new front."""
        return self.end is None or first >= self.middle

    def patch(self, slice_: int, rows: SliceRows) -> None:
        """More rows for a slice that has been served already."""
        if slice_ < self.middle and self._fronted:
            self._patch_front(slice_ if self._slides else self.start, rows)
            return
        known = self.rows.get(slice_)
        self.rows[slice_] = rows if known is None else SliceRows(None, self._merged(self._merged(None, known), rows))
        if slice_ >= self.middle:
            self._back = self._merged(self._back, rows)

    def renumber(self, used: Ints, first: int) -> None:
        """Forget the slices before `first` and all codes except `used`, which get new numbers."""
        kept = {slice_: rows for slice_, rows in self.rows.items() if slice_ >= first}
        self.rows = {}
        for slice_, rows in kept.items():
            held = rows.held
            partials = rows.partials.take(held) if rows.codes is None else rows.partials
            self.rows[slice_] = SliceRows(np.searchsorted(used, held), partials)
        self.count = len(used)

    def _patch_front(self, slice_: int, rows: SliceRows) -> None:
        """Merge rows into the suffixes that contain `slice_`: they start with it or before it."""
        place = bisect_left(self._front, -slice_, key=lambda entry: -entry[0])
        if place == len(self._front) or self._front[place][0] != slice_:
            self._front.insert(place, (slice_, self._front[place - 1][1] if place else None))
        for i in range(place, len(self._front)):
            start, suffix = self._front[i]
            self._front[i] = (start, self._merged(suffix, rows))

    def _flip(self, first: int, last: int) -> None:
        """Make the slices first..last the front, and empty the back."""
        self.rows = {slice_: rows for slice_, rows in self.rows.items() if slice_ >= first}
        self._front, self._back, self.middle = [], None, last + 1
        present = sorted((slice_ for slice_ in self.rows if slice_ <= last), reverse=True)
        kept = len(present) if self._slides else 1
        self._fronted = self.count * kept * 8 * len(self._aggregation.fields) <= ROUTES.get().front_bytes
        if not self._fronted:
            return
        suffix: Partials | None = None
        for slice_ in present:
            suffix = self._merged(suffix, self.rows.pop(slice_))
            if self._slides:
                self._front.append((slice_, suffix))
        if not self._slides and suffix is not None:
            self._front.append((first, suffix))

    def _suffix(self, first: int) -> Partials:
        """The merge of first..middle: from the front, or slice by slice where the front has no such suffix."""
        suffix = self._front[-1][1] if self._front else None
        if not self._fronted:
            for slice_ in sorted(slice_ for slice_ in self.rows if first <= slice_ < self.middle):
                suffix = self._merged(suffix, self.rows[slice_])
        return self._aggregation.identity(self.count) if suffix is None else suffix

    def _merged(self, into: Partials | None, rows: SliceRows) -> Partials:
        if rows.codes is None:
            dense = self._grown(rows.partials)
            return dense if into is None else self._aggregation.combine(self._grown(into), dense)
        into = self._aggregation.identity(self.count) if into is None else self._grown(into)
        return into.put(rows.codes, self._aggregation.combine(into.take(rows.codes), rows.partials))

    def _grown(self, partials: Partials) -> Partials:
        """Partials with rows added for codes that are newer than they are."""
        missing = self.count - len(partials)
        return Partials.concat([partials, self._aggregation.identity(missing)]) if missing else partials


def by_slice(slices: Ints, codes: Ints, partials: Partials) -> dict[int, SliceRows]:
    """Cut rows into slices; they are ordered by slice, and each (slice, code) occurs once."""
    bounds = runs(slices)
    present, starts, ends = slices[bounds[:-1]].tolist(), bounds[:-1].tolist(), bounds[1:].tolist()
    return {
        slice_: SliceRows(codes[start:end], partials.part(start, end))
        for slice_, start, end in zip(present, starts, ends, strict=True)
    }
