"""What left rows have found, chunk by chunk: the nearest right row, and of several at one time the last."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.operators.join.plan import RowPairs
from fanlight.operators.join.side_log import SideRows

NOBODY = -1


@dataclass(slots=True)
class Found:
    """Left rows that look for their right row, by key and time, and what each has found."""

    lefts: SideRows
    left: Ints
    """Who looks: places among `lefts`, by key and time."""
    codes: Ints
    times: Ints
    number: Ints
    """The chunk that each has found its row in; -1 if it has found none."""
    place: Ints
    """The place of that row in its chunk."""
    chunks: list[SideRows] = field(default_factory=list)

    @staticmethod
    def nothing(lefts: SideRows, left: Ints) -> Found:
        """The left rows at these places look, and have found nothing yet."""
        order, codes, times = sort_by_key_time(lefts.codes[left], lefts.times[left])
        return Found(lefts, left[order], codes, times, np.full(len(left), NOBODY), np.zeros(len(left), np.int64))

    @property
    def has_match(self) -> Bools:
        """Which of those who look have found a row."""
        has: Bools = self.number != NOBODY
        return has

    def look_at(self, chunk: SideRows, who: Ints | None, places: Ints) -> None:
        """Let rows of a chunk be better than what was found, one for each of `who` (None: of all); -1 is none."""
        if who is None and not self.chunks:
            self.number, self.place = np.where(places < 0, NOBODY, 0), places
            self.chunks.append(chunk)
            return
        hit = np.flatnonzero(places >= 0)
        who, places = hit if who is None else who[hit], places[hit]
        held = self.number[who] != NOBODY
        if held.any():
            better = ~held
            better[held] = self._is_better(chunk, who[held], places[held])
            who, places = who[better], places[better]
        if len(who):
            self.number[who], self.place[who] = len(self.chunks), places
            self.chunks.append(chunk)

    def forget(self, who: Ints) -> None:
        """Begin anew for these."""
        self.number[who] = NOBODY

    def pairs(self, number: int) -> tuple[Ints, RowPairs]:
        """Those who have found a row in this chunk, and the pairs."""
        who = np.flatnonzero(self.number == number)
        return who, RowPairs(self.lefts, self.chunks[number], self.left[who], self.place[who])

    def rights(self) -> tuple[SideRows, Ints]:
        """What was found, as one table; and for each of the left rows its place there, -1 if it has found none."""
        sizes = [len(chunk) for chunk in self.chunks]
        has = np.flatnonzero(self.has_match)
        of_left = np.full(len(self.lefts), NOBODY)
        if len(self.chunks) == 1 or sum(sizes) <= 2 * len(has):
            starts = np.cumsum([0, *sizes])[:-1]
            of_left[self.left[has]] = starts[self.number[has]] + self.place[has]
            return SideRows.concat(self.chunks), of_left
        parts, start = [], 0
        for number, chunk in enumerate(self.chunks):
            who = np.flatnonzero(self.number == number)
            parts.append(chunk.take(self.place[who]))
            of_left[self.left[who]] = start + np.arange(len(who))
            start += len(who)
        return SideRows.concat(parts), of_left

    def _is_better(self, chunk: SideRows, who: Ints, places: Ints) -> Bools:
        """Whether rows of a chunk are nearer than what these have found; before the left row rather than after."""
        times, came = np.empty(len(who), np.int64), np.empty(len(who), np.int64)
        for number, one in enumerate(self.chunks):
            own = np.flatnonzero(self.number[who] == number)
            rows = self.place[who[own]]
            times[own], came[own] = one.times[rows], one.came[rows]
        own, other = distances(chunk.times[places] - self.times[who]), distances(times - self.times[who])
        better: Bools = (own < other) | ((own == other) & (chunk.came[places] > came))
        return better


def distances(apart: Ints) -> Ints:
    """How far right rows are away as one number: twice as far as they are apart, and one more if they come after.

    >>> distances(np.array([-3, 3, 0])).tolist()
    [6, 7, 0]
    """
    return 2 * np.abs(apart) + (apart > 0)
