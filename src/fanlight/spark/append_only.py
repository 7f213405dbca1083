"""Result DataFrames that say which output mode fits them, before Spark does in words of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanlight.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def append_only(frame: DataFrame) -> DataFrame:
    """The frame; where it is streaming, its writer refuses the mode `complete` with the mode to use."""
    if not frame.isStreaming:
        return frame
    kind: Any = type(frame)  # that of a classic session, or of Spark Connect

    class Results(kind):  # type: ignore[misc]  # whichever it is
        """Rows that leave as they fire."""

        @property
        def writeStream(self) -> Any:  # noqa: N802 -- Spark's name
            return _told(super().writeStream)

    Results.__module__ = kind.__module__
    frame.__class__ = Results
    return frame


def _told(writer: Any) -> Any:
    """The writer, which knows what `complete` would mean."""
    kind: Any = type(writer)

    class ResultWriter(kind):  # type: ignore[misc]  # of either session
        """A writer of rows that leave as they fire."""

        def outputMode(self, outputMode: str) -> Any:  # noqa: N802, N803 -- Spark's names
            if str(outputMode).lower() == "complete":
                raise SpecError(
                    "outputMode: 'complete' writes the whole table of results with every batch, and the rows of a "
                    "result leave as they fire, each once. Use outputMode('append'); for a table with the newest row "
                    "of each window use write_to('sqlite:///totals.db', table='totals'), or a database by JDBC."
                )
            return super().outputMode(outputMode)

    writer.__class__ = ResultWriter
    return writer
