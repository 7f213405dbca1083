"""The counts of a micro-batch, from the progress of the query that ran it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


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
    said = row.asDict()
    if said.keys() != {"values", "schema"}:
        return said
    return dict(zip((field["name"] for field in said["schema"]["fields"]), said["values"], strict=True))
