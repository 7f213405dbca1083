"""One run that Spark has in two queries: what the first one told is told with the second.

`write_to(…, flush=True)` reads all there is in one query, and ends the input in another over the same checkpoint. A
user has one run, so `recentProgress` has the batches of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery


def after(earlier: list[StreamingQueryProgress], query: StreamingQuery) -> StreamingQuery:
    """The query, with the progress of the batches before it first; as it is, if there were none."""
    if not earlier:
        return query
    kind: Any = type(query)  # that of a classic session, or of Spark Connect

    class WholeRun(kind):  # type: ignore[misc]  # whichever it is
        """A query that also tells of the batches before it."""

        @property
        def recentProgress(self) -> list[StreamingQueryProgress]:  # noqa: N802 -- Spark's name
            return [*earlier, *super().recentProgress]

    query.__class__ = WholeRun
    return query
