"""The counts and watermarks of a micro-batch, from the progress of the query that ran it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Row
    from pyspark.sql.streaming.listener import StreamingQueryProgress


WATERMARK = "watermark"
"""What Spark calls the watermark among the counts of a stage."""


def observed_as(stage: int) -> str:
    """What Spark calls the counts of a stage."""
    return "fanlight" if stage == 1 else f"fanlight_{stage}"


def counts(progress: StreamingQueryProgress, stage: int = 1) -> dict[str, int]:
    """The accounting of the batch that `progress` is about, as in `counts(query.lastProgress)`; empty if it has none.

    Over Spark Connect a row of the progress comes as its values and its schema, elsewhere as a row. This reads both.
    """
    row = progress.observedMetrics.get(observed_as(stage))
    if row is None:
        return {}
    return {name: value for name, value in _observed(row).items() if name != WATERMARK}


def watermark(progress: StreamingQueryProgress, stage: int = 1) -> datetime | None:
    """The watermark that a stage acted on in the batch that `progress` is about; None if it had none."""
    row = progress.observedMetrics.get(observed_as(stage))
    return None if row is None else _observed(row).get(WATERMARK)


def _observed(row: Row) -> dict[str, Any]:
    said = row.asDict()
    if said.keys() != {"values", "schema"}:
        return said
    return dict(zip((field["name"] for field in said["schema"]["fields"]), said["values"], strict=True))
