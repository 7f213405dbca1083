"""Windows that a user's function names for each record."""

from __future__ import annotations

from typing import Any

import numpy as np

from fanlight.errors import EngineError, FanlightError
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import encode_together
from fanlight.kernels.slicing import EVERY_WINDOW
from fanlight.model.custom import Custom
from fanlight.model.letters import Reason
from fanlight.operators.panes import Moment
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.joining import ByWatermark, Joined, Room, regroup
from fanlight.operators.unaligned.paired import Paired, without_finished, without_pairs


class AssignedWindows(ByWatermark):
    """A record joins the windows it is given that have not expired and whose panes have not finished."""

    def __init__(self, room: Room, kind: Custom) -> None:
        self._room = room
        self._kind = kind

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Let records join the windows the function names."""
        room = self._room
        rows, starts, ends = windows_of(self._kind, taken)
        pairs, homeless = Paired(rows, starts, ends), without_pairs(rows, len(taken))
        expired = room.lateness.expired_by(taken.bundle.watermarks)
        late = ends <= (expired if len(expired) == 1 else expired[rows])
        if room.lateness.judges_records:
            late |= room.lateness.too_late(taken.bundle.times, rows, taken.bundle.watermarks)[rows]
        room.accounting.missed_windows += int(np.count_nonzero(late))
        pairs = pairs.where(~late)
        dead = without_pairs(pairs.rows, len(taken)) & ~homeless
        taken = room.bury(taken, homeless, Reason.NO_WINDOW)
        taken = room.bury(taken, dead[~homeless], Reason.EXPIRED)
        pairs = pairs.over(~(homeless | dead))
        live = room.buckets.fetch_ends(pairs.ends)
        found, ours, theirs = encode_together(live.keys, len(live), taken.keys(room.plan), len(taken))
        taken, theirs, pairs, live, ours = without_finished(room, taken, theirs, pairs, live, ours)
        return regroup(
            room, live, taken, room.bringing(taken, pairs.rows), pairs.gathered(theirs, live, ours), found, moment
        )


def windows_of(kind: Custom, taken: Taken) -> tuple[Ints, Ints, Ints]:
    """What the function says: record, start and end of each pair."""
    name, times = getattr(kind.assign, "__qualname__", repr(kind.assign)), taken.bundle.times
    try:
        said = kind.assign(times, taken.bundle.batch)
        columns = [_numbers(column) for column in said]
    except FanlightError:
        raise
    except Exception as problem:
        raise EngineError(
            f"custom: `{name}` raised {type(problem).__name__}: {problem}; the windows of {len(times)} records are "
            f"unknown. Correct `{name}`: it is called with (times, batch) and returns (starts, ends) or "
            "(rows, starts, ends)."
        ) from problem
    if len(columns) == 2 and len(columns[0]) == len(times):
        columns = [np.arange(len(times)), *columns]
    if len(columns) != 3 or len({len(column) for column in columns}) != 1:
        raise EngineError(
            f"custom: `{name}` returned columns of {[len(column) for column in columns]} rows for {len(times)} "
            "records. Return (starts, ends), one for each record, or (rows, starts, ends) of one length."
        )
    rows, starts, ends = columns
    if len(rows) and (rows.min() < 0 or rows.max() >= len(times)):
        raise EngineError(f"custom: `{name}` named a row outside 0 to {len(times) - 1}. Number rows as they came.")
    if (ends <= starts).any():
        place = int(np.flatnonzero(ends <= starts)[0])
        raise EngineError(
            f"custom: `{name}` returned a window that ends ({ends[place]}) before it starts ({starts[place]}) or with "
            "it. Return windows with a length, in microseconds."
        )
    return rows, starts, np.minimum(ends, EVERY_WINDOW)  # one without end is the last that a watermark closes


def _numbers(column: Any) -> Ints:
    numbers = np.asarray(column)
    if numbers.dtype.kind in "mM":
        numbers = numbers.astype(f"{numbers.dtype.kind}8[us]").astype(np.int64)
    return numbers.astype(np.int64, casting="safe")
