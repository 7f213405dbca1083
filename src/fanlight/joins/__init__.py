"""The words of joins: two streams, what matches, and when joined rows leave. Each kind of match has a file."""

from fanlight.joins import interval
from fanlight.joins.result import JoinResult

__all__ = ["JoinResult", "interval"]
