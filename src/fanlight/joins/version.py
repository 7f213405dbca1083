"""Joins with tables, declared: each left row with the version that was valid at its time."""

from __future__ import annotations

from dataclasses import replace
from types import NoneType
from typing import Any, cast

from fanlight.errors import SpecError
from fanlight.joins.as_of import with_nearest
from fanlight.joins.result import JoinResult
from fanlight.model.join.sides import TABLE_TIME
from fanlight.model.join.version import Version
from fanlight.model.retention import Retention
from fanlight.row_result import Reading
from fanlight.stream import Stream, joined


@joined.register
def by_version(
    match: Version, left: Stream, right: Stream, *, retention: Retention | None = None, **said: Any
) -> JoinResult:
    """The join of a stream with the versions of another, as `StreamWords.join` says it."""
    if right.time == TABLE_TIME:
        if said.get("ready") is not None:
            raise SpecError(
                f"join: `ready` ({said['ready']}) is a time that the table must have reached, and this table has none: "
                "rows wait until all of it was read. Leave it out."
            )
        if match.refresh is not None:
            raise SpecError(
                f"join: editions of the table that are {match.refresh} apart are told by their times, and this table "
                "has none. Give each edition the time from which on it holds, and name that column, as in "
                "table(…, time='copied'); or leave `refresh` out."
            )
        _require_at_hand(left, right)
        right = replace(right, ahead=left.ahead)
    return with_nearest(match.as_of(retention), left, right, of_versions=True, **said)


@joined.register(NoneType)
def with_table(match: None, left: Stream, right: Stream, **said: Any) -> JoinResult:  # noqa: ARG001 -- there is none
    """The join with a table that has no time; any other needs a match."""
    if right.time != TABLE_TIME:
        raise SpecError(
            "join: nothing says when rows match, and only a table without a time needs no match. Say it, as in "
            "join(…, interval('0 s', '5 min')), or join(…, version()) for the version of a row's time."
        )
    return by_version(Version(), left, right, **said)


def _require_at_hand(left: Stream, right: Stream) -> None:
    """Refuse a batch DataFrame beside a stream: Spark does not unite the two."""
    streaming = [
        cast("Any", stream.origin.source).isStreaming
        for stream in (left, right)
        if stream.is_on_spark and isinstance(stream.origin, Reading)
    ]
    if len(set(streaming)) > 1:
        raise SpecError(
            "join: the left side is a streaming DataFrame and the table a batch one, and Spark does not unite these. "
            "Join them before, as in stream(orders.join(broadcast(rates), 'currency'), …), which reads the table anew "
            "for each micro-batch; or give the table a time and read it as a stream, with version(refresh='10 min') "
            "if it comes whole every ten minutes."
        )
