"""The words of joins: two streams or more, what matches, and when joined rows leave. Each kind of match has a file."""

from fanlight.joins import as_of, frames, interval, version, window
from fanlight.joins.n_way import NWayJoinResult, join
from fanlight.joins.result import JoinResult
from fanlight.joins.why import why

__all__ = ["JoinResult", "NWayJoinResult", "as_of", "frames", "interval", "join", "version", "why", "window"]
