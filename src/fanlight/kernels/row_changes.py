"""Inserts and deletes of rows, applied one after the other: which deletes find a row, and which rows remain.

    live before   A A                      two rows equal to A
    changes       -D A   -D A   -D A   +I A
    finds a row   yes    yes    no
    left                               A

Each row has a number; equal rows have the same number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Groups, Ints, runs
from fanlight.kernels.grouping.row_identity import places_within


@dataclass(frozen=True, slots=True)
class SettledChanges:
    """The outcome of changes: `finds` and `stays` have an entry for each change, `removed` has one for each group."""

    finds: Bools
    """For a delete: whether it found a row. True for inserts."""
    stays: Bools
    """For an insert: whether its row is still there after all changes. False for deletes."""
    removed: Ints
    """How many of the earlier live rows are gone; the oldest go first."""


def settle_equal(groups: Groups, is_delete: Bools, live: Ints) -> SettledChanges:
    """Apply changes where several rows may be equal: a delete takes the oldest. `live` counts the rows before.

    >>> three = Groups(np.zeros(3, np.int64), 1)
    >>> settle_equal(three, np.array([True, True, False]), np.array([1])).finds.tolist()
    [True, False, True]
    """
    order = np.argsort(groups.codes, kind="stable")
    codes = groups.codes[order]
    lowest = _lowest_so_far(codes, np.where(is_delete[order], -1, 1), live)
    before = np.zeros_like(lowest)
    before[1:] = np.where(_continues(codes), lowest[:-1], 0)
    finds = np.empty(len(codes), np.bool_)
    finds[order] = lowest == before
    taken = np.bincount(groups.codes[finds & is_delete], minlength=groups.count)
    removed = np.minimum(taken, live)
    stays = ~is_delete
    inserted = groups.codes[stays]
    stays[stays] = places_within(inserted) >= (taken - removed)[inserted]
    return SettledChanges(finds, stays, removed)


def settle_unique(groups: Groups, is_delete: Bools, live: Ints) -> SettledChanges:
    """Apply changes where a group has one row at most: an insert replaces the row that is there.

    >>> three = Groups(np.zeros(3, np.int64), 1)
    >>> settle_unique(three, np.array([False, False, True]), np.array([0])).stays.tolist()
    [False, False, False]
    """
    order = np.argsort(groups.codes, kind="stable")
    codes, deletes = groups.codes[order], is_delete[order]
    continues = _continues(codes)
    is_there = live[codes] > 0
    is_there[1:][continues] = ~deletes[:-1][continues]
    finds, stays = np.empty(len(codes), np.bool_), np.empty(len(codes), np.bool_)
    finds[order] = ~deletes | is_there
    stays[order] = ~deletes & ~np.append(continues, False)
    return SettledChanges(finds, stays, live)


def last_changes(groups: Groups, is_delete: Bools, live: Ints) -> Ints:
    """Where a group has one row at most: the place of the row that is there before each change, or -1 if none is.

    It is the place of the insert before it, if that came with these changes, else what `live` says of the group.

    >>> last_changes(Groups(np.zeros(3, np.int64), 1), np.array([False, True, False]), np.array([7])).tolist()
    [7, 0, -1]
    """
    order = np.argsort(groups.codes, kind="stable")
    codes, deletes = groups.codes[order], is_delete[order]
    before = live[codes]
    continues = _continues(codes)
    before[1:][continues] = np.where(deletes[:-1], -1, order[:-1])[continues]
    found = np.empty(len(codes), np.int64)
    found[order] = before
    return found


def oldest_of(numbers: Ints, removed: Ints) -> Bools:
    """Which live rows are gone: of each number the first, as many as were removed. Those without a number stay.

    >>> oldest_of(np.array([0, -1, 0]), np.array([1])).tolist()
    [True, False, False]
    """
    known = np.flatnonzero(numbers >= 0)
    gone = np.zeros(len(numbers), np.bool_)
    gone[known] = places_within(numbers[known]) < removed[numbers[known]]
    return gone


def _continues(codes: Ints) -> Bools:
    """For sorted codes: whether each of them, from the second on, equals the one before it."""
    same: Bools = codes[1:] == codes[:-1]
    return same


def _lowest_so_far(codes: Ints, steps: Ints, live: Ints) -> Ints:
    """The lowest count of each group up to each change, at most zero, as if counts could go below zero.

    A delete that makes a new low found no row. Later groups are lowered by more than counts can differ, so one
    running minimum over all rows starts anew with each group.
    """
    bounds = runs(codes)
    total = np.cumsum(steps)
    before = np.repeat((total - steps)[bounds[:-1]], np.diff(bounds))
    counts = np.minimum(live[codes] + total - before, 0)
    fall = codes * (len(codes) + 1)
    lowest: Ints = np.minimum.accumulate(counts - fall) + fall
    return lowest
