"""What of a pipeline may be shown unasked: a run over records that are here, and few."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from fanlight.errors import FanlightError
from fanlight.viz.own_run import RunsItself
from fanlight.viz.timeline import timeline

_FEW = 100_000
"""More records are not run through a pipeline unasked."""

_DRAWN = 200
"""More records make no picture that one can read."""


def is_at_hand(source: object, clock: object) -> bool:
    """Whether reading the source changes nothing and takes no time: records that are here, and few of them.

    A clock that is a function may tell something else each time, so it is not asked either.

    >>> is_at_hand([{"ts": 1}], None), is_at_hand(iter([{"ts": 1}]), None)
    (True, False)
    """
    pandas = sys.modules.get("pandas")  # a data frame can only come from a process that has imported it
    kinds: tuple[Any, ...] = (list, tuple, pa.Table, pa.RecordBatch, *(() if pandas is None else (pandas.DataFrame,)))
    return isinstance(source, kinds) and len(source) <= _FEW and not callable(clock)


def picture_of(pipeline: RunsItself, records: int) -> str | None:
    """The picture of a pipeline's own run, if it can be drawn, and read."""
    if records > _DRAWN:
        return None
    try:
        return timeline(pipeline)
    except FanlightError:  # what cannot be drawn is shown without a picture
        return None
