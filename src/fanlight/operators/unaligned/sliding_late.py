"""Which records come too late for every sliding window that holds them."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.anchors import Anchors
from fanlight.kernels.groups import Bools
from fanlight.kernels.keys import encode_together
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.operators.lateness import Lateness
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.atoms import AtomLog


def too_late(plan: Plan, anchors: Anchors, lateness: Lateness, log: AtomLog, taken: Taken) -> Bools:
    """A record whose own window has expired is dead, unless a window of other records holds it that has not.

    Others are those known before, and those of the bundle that are in time for their own windows.
    """
    bundle = taken.bundle
    if len(taken) and len(bundle.watermarks) == 1:
        earliest = bundle.times.min(keepdims=True)
        # A later record is never the one that is too late.
        if not lateness.too_late(earliest, anchors.own_ends(earliest), bundle.watermarks)[0]:
            return np.zeros(len(taken), np.bool_)
    behind = lateness.too_late(bundle.times, anchors.own_ends(bundle.times), bundle.watermarks)
    if lateness.judges_records or not behind.any():
        return behind
    late = np.flatnonzero(behind)
    at = bundle.times[late]
    known = log.between(int(at.min()) - anchors.reach, int(at.max()) + anchors.reach + 1)
    _, ours, theirs = encode_together(known.keys, len(known), taken.keys(plan), len(taken))
    codes, moments = np.concatenate([ours, theirs[~behind]]), np.concatenate([known.times, bundle.times[~behind]])
    _, sorted_codes, times = sort_by_key_time(codes, moments)
    expired = lateness.expired_by(bundle.watermarks)
    after = expired[late] if len(expired) > 1 else np.full(len(late), expired[0])
    behind[late] = ~anchors.hold(sorted_codes, times, theirs[late], at, after)
    return behind
