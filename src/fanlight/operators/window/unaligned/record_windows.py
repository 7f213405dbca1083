"""Pairs of a record and a window that it is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.grouping.row_identity import same_rows
from fanlight.model.reason import Reason
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.unaligned.assignment import Regrouping, ShardContext


@dataclass(frozen=True, slots=True)
class Paired(Columnar):
    """The record and the window of each pair."""

    rows: Ints
    starts: Ints
    ends: Ints

    def over(self, kept: Bools) -> Paired:
        """The same pairs after all records but `kept` were removed; only kept records have pairs."""
        return Paired((np.cumsum(kept) - 1)[self.rows], self.starts, self.ends)

    def gathered(self, codes: Ints, live: PaneTable, ours: Ints) -> Regrouping:
        """Group pairs and live panes by key and window. `codes` are the keys of the records, `ours` of the panes."""
        codes = np.concatenate([ours, codes[self.rows]])
        starts = np.concatenate([live.state["start"], self.starts])
        ends = np.concatenate([live.windows, self.ends])
        groups, samples = same_rows(codes, ends, starts)
        owners, came = np.split(groups.codes, [len(live)])
        return Regrouping(owners, came, codes[samples], starts[samples], ends[samples])


def without_pairs(rows: Ints, count: int) -> Bools:
    """Which of `count` records have no pair left."""
    missing: Bools = np.bincount(rows, minlength=count) == 0
    return missing


def without_finished(
    context: ShardContext, accepted: Accepted, codes: Ints, pairs: Paired, live: PaneTable, ours: Ints
) -> tuple[Accepted, Ints, Paired, PaneTable, Ints]:
    """Leave out finished panes and their pairs; records without another pair become dead letters."""
    finished = live.state["finished"]
    if not finished.any():
        return accepted, codes, pairs, live, ours
    over = (ours[finished], live.windows[finished], live.state["start"][finished])
    shut = among((codes[pairs.rows], pairs.ends, pairs.starts), over)
    context.books.miss(int(np.count_nonzero(shut)))
    pairs = pairs.where(~shut)
    dead = without_pairs(pairs.rows, len(accepted))
    context.buckets.rest(live.where(finished))
    return (
        context.reject(accepted, dead, Reason.FINISHED),
        codes[~dead],
        pairs.over(~dead),
        live.where(~finished),
        ours[~finished],
    )


def among(rows: tuple[Ints, Ints, Ints], others: tuple[Ints, Ints, Ints]) -> Bools:
    """Which rows also occur among the others."""
    groups, _ = same_rows(*(np.concatenate(pair) for pair in zip(others, rows, strict=True)))
    known = np.zeros(groups.count, np.bool_)
    known[groups.codes[: len(others[0])]] = True
    return known[groups.codes[len(others[0]) :]]
