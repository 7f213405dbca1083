"""Which records come too late for every sliding window that holds them."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, encode_together
from fanlight.kernels.sliding_windows import Anchors
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.sliding.row_log import RowLog


def too_late(plan: Plan, anchors: Anchors, lateness: Lateness, log: RowLog, accepted: Accepted) -> Bools:
    """Which records are dead: their own window has expired, and no live window of another record contains them.

    Other records are the stored ones, and those of the bundle that are in time for their own windows.
    """
    bundle = accepted.bundle
    if len(accepted) and len(bundle.watermarks) == 1:
        earliest = bundle.times.min(keepdims=True)
        # If the earliest record is in time, all records are.
        if not lateness.too_late(earliest, anchors.own_ends(earliest), bundle.watermarks)[0]:
            return np.zeros(len(accepted), np.bool_)
    behind = lateness.too_late(bundle.times, anchors.own_ends(bundle.times), bundle.watermarks)
    if lateness.judges_records or not behind.any():
        return behind
    late = np.flatnonzero(behind)
    at = bundle.times[late]
    known = log.between(int(at.min()) - anchors.reach, int(at.max()) + anchors.reach + 1)
    _, ours, theirs = encode_together(known.keys, len(known), accepted.keys(plan), len(accepted))
    codes, moments = np.concatenate([ours, theirs[~behind]]), np.concatenate([known.times, bundle.times[~behind]])
    _, sorted_codes, times = sort_by_key_time(codes, moments)
    expired = lateness.expired_by(bundle.watermarks)
    after = expired[late] if len(expired) > 1 else np.full(len(late), expired[0])
    behind[late] = ~anchors.hold(sorted_codes, times, theirs[late], at, after)
    return behind
