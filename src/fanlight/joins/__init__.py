"""The words of joins: two streams, what matches, and when joined rows leave. Each kind of match has a file."""

from fanlight.joins import as_of, frames, interval, version, window
from fanlight.joins.result import JoinResult
from fanlight.joins.why import why

__all__ = ["JoinResult", "as_of", "frames", "interval", "version", "why", "window"]
