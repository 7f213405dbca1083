"""Whether a source is one bundle, and what that means: all its records come at once, so none of them is late."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence, Sized
from typing import Any

import pyarrow as pa

from fanlight.embedded.sources import COLUMNAR_ROWS, Source
from fanlight.errors import FanlightWarning
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtWatermark
from fanlight.operators.ingest.follow import judges_each


def records_in(source: Source) -> int | None:
    """How many records a source has, if it says so before it is read.

    >>> records_in([{"ts": 1}, {"ts": 2}]), records_in(iter([{"ts": 1}])), records_in([pa.table({"ts": [1, 2]})])
    (2, None, None)
    """
    whole: Any = source
    if not isinstance(whole, Sized) or (isinstance(whole, Sequence) and len(whole) and hasattr(whole[0], "columns")):
        return None
    return len(whole)


def comes_in_bundles(source: Source) -> bool:
    """Whether a source by itself is more than one bundle, or may be.

    >>> comes_in_bundles([{"ts": 1}, {"ts": 2}]), comes_in_bundles(iter([{"ts": 1}, {"ts": 2}]))
    (False, True)
    """
    whole: Any = source
    pandas = sys.modules.get("pandas")  # a data frame can only come from a process that has imported it
    if isinstance(whole, pa.Table | pa.RecordBatch) or (pandas is not None and isinstance(whole, pandas.DataFrame)):
        return len(whole) > COLUMNAR_ROWS
    if isinstance(whole, Sequence):
        are_batches = len(whole) > 1 and hasattr(whole[0], "columns")
        return are_batches or len(whole) > COLUMNAR_ROWS
    return isinstance(whole, pa.RecordBatchReader) or not hasattr(whole, "__arrow_c_stream__")


def warn_of_one_bundle(spec: StreamSpec) -> None:
    """Say that what the spec asks for does not show in a run whose records all came at once."""
    asked = _asked(spec)
    if asked:
        warnings.warn(
            f"{' and '.join(asked)}: all records came as one bundle, which is judged by the watermark before it, so "
            "none was late, and a window fired early once at most. Cut the source as it would come, as in stream(…, "
            'rows=100), or stream(…, every="1 min") by its times; `rows` above their number says that one bundle is '
            "meant.",
            FanlightWarning,
            stacklevel=2,
        )


def _asked(spec: StreamSpec) -> list[str]:
    """What the spec asks for that needs several bundles to show."""
    if not isinstance(spec, WindowSpec) or isinstance(spec.watermark, Explicit) or judges_each(spec.watermark):
        return []
    early = any(isinstance(part, AtWatermark) and part.early is not None for part in spec.trigger.walk())
    lateness = [] if spec.lateness.micros == 0 else [f"window: `lateness` ({spec.lateness}) is asked for"]
    return lateness + (["trigger: `early` is asked for"] if early else [])
