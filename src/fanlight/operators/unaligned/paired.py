"""Records paired with the windows they are in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.tuples import same_rows
from fanlight.model.letters import Reason
from fanlight.operators.frame import Frame
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.joining import Regrouping, Room


@dataclass(frozen=True, slots=True)
class Paired:
    """The record and the window of each pair."""

    rows: Ints
    starts: Ints
    ends: Ints

    def where(self, mask: Bools) -> Paired:
        """The pairs that `mask` keeps."""
        return Paired(self.rows[mask], self.starts[mask], self.ends[mask])

    def over(self, kept: Bools) -> Paired:
        """The same pairs when of the records only those of `kept` are left; no other has a pair."""
        return Paired((np.cumsum(kept) - 1)[self.rows], self.starts, self.ends)

    def gathered(self, codes: Ints, live: Frame, ours: Ints) -> Regrouping:
        """Pairs and live panes by key and window. `codes` are the keys of the records, `ours` those of the panes."""
        codes = np.concatenate([ours, codes[self.rows]])
        starts = np.concatenate([live.state["start"], self.starts])
        ends = np.concatenate([live.windows, self.ends])
        groups, samples = same_rows(codes, ends, starts)
        owners, came = np.split(groups.codes, [len(live)])
        return Regrouping(owners, came, codes[samples], starts[samples], ends[samples])


def without_pairs(rows: Ints, count: int) -> Bools:
    """Which of `count` records no pair is left of."""
    missing: Bools = np.bincount(rows, minlength=count) == 0
    return missing


def without_finished(
    room: Room, taken: Taken, codes: Ints, pairs: Paired, live: Frame, ours: Ints
) -> tuple[Taken, Ints, Paired, Frame, Ints]:
    """Leave out panes that have finished and the pairs for them; records that have no other are buried."""
    finished = live.state["finished"]
    if not finished.any():
        return taken, codes, pairs, live, ours
    over = (ours[finished], live.windows[finished], live.state["start"][finished])
    shut = among((codes[pairs.rows], pairs.ends, pairs.starts), over)
    room.accounting.missed_windows += int(np.count_nonzero(shut))
    pairs = pairs.where(~shut)
    dead = without_pairs(pairs.rows, len(taken))
    room.buckets.rest(live.where(finished))
    return (
        room.bury(taken, dead, Reason.FINISHED),
        codes[~dead],
        pairs.over(~dead),
        live.where(~finished),
        ours[~finished],
    )


def among(rows: tuple[Ints, Ints, Ints], others: tuple[Ints, Ints, Ints]) -> Bools:
    """Which rows are also among the others."""
    groups, _ = same_rows(*(np.concatenate(pair) for pair in zip(others, rows, strict=True)))
    known = np.zeros(groups.count, np.bool_)
    known[groups.codes[: len(others[0])]] = True
    return known[groups.codes[len(others[0]) :]]
