"""Custom windows: a user's function assigns windows to each record."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fanlight.errors import EngineError, FanlightError
from fanlight.kernels.grouping.groups import Ints, encode_together
from fanlight.kernels.slicing.slicing import EVERY_WINDOW
from fanlight.model.reason import Reason
from fanlight.model.windows.custom import Custom
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Panes
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import AssignedPanes, ByWatermark, ShardContext, regroup
from fanlight.operators.window.unaligned.panes import UnalignedPanes
from fanlight.operators.window.unaligned.record_windows import Paired, without_finished, without_pairs
from fanlight.state.store import ChunkStore


class CustomWindows(ByWatermark):
    """A record counts in its windows that have not expired and whose panes have not finished."""

    def __init__(self, context: ShardContext, kind: Custom) -> None:
        self._context = context
        self._kind = kind

    def assign(self, accepted: Accepted | None, preaggregated: None, step: StepTime) -> AssignedPanes:
        """Assign records to the windows that the function returns."""
        context = self._context
        if accepted is None:
            return context.nothing(None)
        rows, starts, ends = windows_of(self._kind, accepted)
        pairs, homeless = Paired(rows, starts, ends), without_pairs(rows, len(accepted))
        expired = context.lateness.expired_by(accepted.bundle.watermarks)
        late = ends <= (expired if len(expired) == 1 else expired[rows])
        if context.lateness.judges_records:
            late |= context.lateness.too_late(accepted.bundle.times, rows, accepted.bundle.watermarks)[rows]
        context.books.miss(int(np.count_nonzero(late)))
        pairs = pairs.where(~late)
        dead = without_pairs(pairs.rows, len(accepted)) & ~homeless
        accepted = context.reject(accepted, homeless, Reason.NO_WINDOW)
        accepted = context.reject(accepted, dead[~homeless], Reason.EXPIRED)
        pairs = pairs.over(~(homeless | dead))
        live = context.buckets.fetch_ends(pairs.ends)
        found, ours, theirs = encode_together(live.keys, len(live), accepted.keys(context.plan), len(accepted))
        accepted, theirs, pairs, live, ours = without_finished(context, accepted, theirs, pairs, live, ours)
        return regroup(
            context,
            live,
            accepted,
            context.bringing(accepted, pairs.rows),
            pairs.gathered(theirs, live, ours),
            found,
            step,
        )


def windows_of(kind: Custom, accepted: Accepted) -> tuple[Ints, Ints, Ints]:
    """The result of the function: record, start and end of each pair."""
    name, times = getattr(kind.assign, "__qualname__", repr(kind.assign)), accepted.bundle.times
    try:
        said = kind.assign(times, accepted.bundle.batch)
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
        raise EngineError(f"custom: `{name}` named a row outside 0 to {len(times) - 1}. Number rows by their place.")
    if (ends <= starts).any():
        place = int(np.flatnonzero(ends <= starts)[0])
        raise EngineError(
            f"custom: `{name}` returned a window that ends ({ends[place]}) before it starts ({starts[place]}) or with "
            "it. Return windows with a length, in microseconds."
        )
    return rows, starts, np.minimum(ends, EVERY_WINDOW)  # a window without end is the last to close


def _numbers(column: Any) -> Ints:
    numbers = np.asarray(column)
    if numbers.dtype.kind in "mM":
        numbers = numbers.astype(f"{numbers.dtype.kind}8[us]").astype(np.int64)
    return numbers.astype(np.int64, casting="safe")


def custom_panes(
    kind: Custom, plan: Plan, store: ChunkStore, _messages: Messages | None, lateness: Lateness, books: Books
) -> Panes:
    """The pane store of custom windows."""
    return UnalignedPanes(plan, store, lateness, books, partial(CustomWindows, kind=kind))
