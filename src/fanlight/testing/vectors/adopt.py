"""Which cases Fanlight answers, and why not the others.

Every rule looks at the fields of the format, never at a case's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length, moment

BUILT_OPS = (
    "window_agg",
    "window_agg_chain",
    "assign",
    "assign_groups",
    "accumulation",
    "watermark_merge",
    "watermark_gen",
    "sort",
    "over",
    "dedup_within_watermark",
    "join",
    "cogroup",
    "group_by_ts",
    "window_topn",
    "gap_fill",
)

STEP_FIELDS = {
    "in",
    "watermark",
    "native",
    "side",
    "clock",
    "no_timers",
    "end",
    "checkpoint_restore",
    "tick",
    "add",
    "merge",
    "ready",
    "finish",
}


class NotAdoptedError(Exception):
    """A case that asks for something Fanlight does not do; the message is the reason."""


def refuse(vector: Vector) -> None:
    """Raise the reason if this case is not adopted."""
    if vector.op not in BUILT_OPS:
        raise NotAdoptedError(f"{vector.op}: not built yet")
    _refuse_window(vector.mapping("window"))
    for step in vector.steps:
        _refuse_step(step, vector)
    for group in vector.expect:
        for row in group.get("rows") or ():
            _refuse_contradiction(row)
    if vector.op == "dedup_within_watermark":
        _refuse_behind(vector)
    if vector.op == "over" and not says_its_order(vector):
        _refuse_frames(vector.mapping("over"))
    if vector.op == "join":
        _refuse_join(vector)


def _refuse_window(window: Mapping[str, Any]) -> None:
    if window.get("evictor"):
        raise NotAdoptedError(
            "evictors are left to Flink: they throw records out of a pane by hand, so that every firing reads the "
            "whole pane again; ask the same with a sliding window, a count window or an aggregate over messages"
        )


def says_its_order(vector: Vector) -> bool:
    """Whether each column of an `over` says its own order: the rows are a view then, which changes with its input."""
    columns = vector.mapping("over").get("cols") or ()
    return bool(columns) and all(re.search(r"\border\b", str(text)) for text in columns)


def _refuse_step(step: Mapping[str, Any], vector: Vector) -> None:
    if vector.op == "over" and says_its_order(vector):
        return
    if "upsert" in step or "delete_ids" in step:
        raise NotAdoptedError("upsert and delete_ids change a maintained view's input; an append stream has neither")
    unknown = sorted(str(field) for field in step if field not in STEP_FIELDS)
    if unknown:
        raise NotAdoptedError(f"steps with `{unknown[0]}` are not built yet")


def _refuse_behind(vector: Vector) -> None:
    """Refuse to leave repetitions out where records come behind the watermark, and not so far that they are expired."""
    watermark, within = START_OF_TIME, length(vector.get("lateness_ms")).micros
    for step in vector.steps:
        times = [moment(record["ts"]) for record in step.get("in") or ()]
        if any(watermark - within <= time < watermark for time in times):
            raise NotAdoptedError(
                "Spark drops every record behind the watermark; here one is taken as long as it is not further behind "
                "than ids reach, so that a slow record which nothing repeats is not lost"
            )
        watermark = max(watermark, moment(step.get("watermark", "-inf")))


def _refuse_frames(over: Mapping[str, Any]) -> None:
    if "partition" not in over or not isinstance(over.get("order"), str):
        raise NotAdoptedError("over: rows are ordered by their time; other orders are not built yet")


def _refuse_contradiction(row: Any) -> None:
    if not isinstance(row, Mapping):
        return
    early = row.get("timing") == "early" or row.get("early") is True
    if early and row.get("nonspec_index", -1) != -1:
        raise NotAdoptedError(
            f"contradicts itself: an early firing with nonspec_index {row['nonspec_index']}; by the peer's own "
            "definition an early pane has no non-speculative index (it is -1)"
        )


def _refuse_join(vector: Vector) -> None:
    """Raise the reason if the law has no answer that this case asks for."""
    join = vector.mapping("join")
    if join.get("kind") not in ("interval", "equal_time", "equi", "window", "join_window"):
        raise NotAdoptedError(f"join: rows that match by {join.get('kind')} are not built yet")
