"""Join the overlapping intervals of each key into clusters.

    intervals    [----)    [--)
                    [----)       [-)
    clusters     [-------) [--)  [-)

Rows may come in any order; clusters are ordered by key and start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Groups, Ints
from fanlight.kernels.sort_key_time import sort_by_key_time

_ROOM = 2**62


@dataclass(frozen=True, slots=True)
class Clusters:
    """Intervals that belong together, ordered by key code and start."""

    groups: Groups
    """The cluster of each interval."""
    codes: Ints
    """The key code of each cluster."""
    starts: Ints
    ends: Ints


def cluster(codes: Ints, starts: Ints, ends: Ints, *, touching: bool) -> Clusters:
    """Join the intervals of each key that overlap; with `touching`, also those that only meet.

    >>> found = cluster(np.array([0, 0, 0]), np.array([5, 0, 9]), np.array([8, 6, 12]), touching=False)
    >>> found.starts.tolist(), found.ends.tolist(), found.groups.codes.tolist()
    ([0, 9], [8, 12], [0, 0, 1])
    """
    order = by_code_and_start(codes, starts)
    code, start, end = codes[order], starts[order], ends[order]
    reach = _running_end(code, end)
    first = np.ones(len(order), np.bool_)
    apart = start[1:] > reach[:-1] if touching else start[1:] >= reach[:-1]
    first[1:] = apart | (code[1:] != code[:-1])
    heads = np.flatnonzero(first)
    owner = np.empty(len(order), np.int64)
    owner[order] = np.cumsum(first) - 1
    tails = np.append(heads[1:], len(order)) - 1
    return Clusters(Groups(owner, len(heads)), code[heads], start[heads], reach[tails] if len(heads) else heads)


def meets(codes: Ints, starts: Ints, ends: Ints, others: tuple[Ints, Ints, Ints], *, touching: bool) -> Bools:
    """Which intervals overlap one of the `others` (codes, starts, ends) of the same key; `others` do not overlap."""
    if not len(others[0]):
        return np.zeros(len(codes), np.bool_)
    order = by_code_and_start(others[0], others[1])
    code, start, end = (column[order] for column in others)
    edge = ends + 1 if touching else ends
    place = _last_before(code, start, codes, edge)
    near = place >= 0
    same = near & (code[place] == codes)
    met: Bools = same & (end[place] >= starts if touching else end[place] > starts)
    return met


def by_code_and_start(codes: Ints, starts: Ints) -> Ints:
    """The order of rows by code, then start; rows that are equal in both keep their order."""
    return sort_by_key_time(codes, starts).order


def _composite(codes: Ints, numbers: Ints) -> Ints | None:
    """Code and number in one integer, where they fit."""
    if not len(codes):
        return np.zeros(0, np.int64)
    low, high = int(numbers.min()), int(numbers.max())
    span = high - low + 1
    if span * (int(codes.max()) + 1) >= _ROOM:
        return None
    return codes.astype(np.int64) * span + (numbers - low)


def _running_end(codes: Ints, ends: Ints) -> Ints:
    """The greatest end so far, within each run of equal codes."""
    if not len(ends) or not (np.diff(ends) < 0).any():
        return ends
    composite = _composite(codes, ends)
    if composite is not None:
        low = int(ends.min())
        span = int(ends.max()) - low + 1
        return np.maximum.accumulate(composite) - codes.astype(np.int64) * span + low
    distinct, ranks = np.unique(ends, return_inverse=True)
    scale = len(distinct)
    return distinct[np.maximum.accumulate(codes.astype(np.int64) * scale + ranks) - codes.astype(np.int64) * scale]


def _last_before(code: Ints, start: Ints, codes: Ints, edges: Ints) -> Ints:
    """For each (code, edge) the last row of the sorted (code, start) before it; -1 if there is none."""
    both_codes, both_starts = np.concatenate([code, codes]), np.concatenate([start, edges])
    kind = np.concatenate([np.ones(len(code), np.int64), np.zeros(len(codes), np.int64)])
    order = np.lexsort((kind, both_starts, both_codes))
    seen = np.cumsum(kind[order]) - 1
    place = np.empty(len(order), np.int64)
    place[order] = seen
    return place[len(code) :]
