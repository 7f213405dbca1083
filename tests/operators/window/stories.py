"""Small pipelines told step by step: which rows leave each step, in the law's own words for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.model.aggregates import list as listed
from fanlight.model.firing import Accumulation
from fanlight.model.spec import WindowSpec
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import Trigger, after, at_watermark
from fanlight.testing import Step, Transcript, oracle
from fanlight.testing.player import play

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "over": pa.bool_()})
WITH_EVERY_RECORD = at_watermark(early=after(1), late=after(1))

Row = tuple[str, int, int, list[int]]
"""What the row does to the table of results, where its window starts and ends, and the times of its records."""


def story(
    window: Any,
    *steps: Step,
    trigger: Trigger = WITH_EVERY_RECORD,
    accumulation: Accumulation = Accumulation.RETRACTING,
    **fields: Any,
) -> Transcript:
    """A pipeline over records that are worth their times. The oracle tells it in the same words."""
    spec = WindowSpec(
        "ts",
        window,
        (("of", listed("v")),),
        ("k",),
        trigger=trigger,
        accumulation=accumulation,
        watermark=Explicit(),
        **fields,
    )
    told = play(spec, steps, SCHEMA)
    assert rows(told) == rows(oracle.run(spec, steps))
    return told


def came(*times: int, key: str = "a", over: tuple[int, ...] = (), **step: Any) -> Step:
    """A bundle of records of one key at these times; those of `over` say that their session ends with them."""
    return Step(tuple({"ts": time, "k": key, "v": time, "over": time in over} for time in times), **step)


def rows(told: Transcript) -> list[list[Row]]:
    """The rows of each step."""
    return [
        [(firing.op.code, firing.window.start, firing.window.end, firing.values["of"]) for firing in outcome.firings]
        for outcome in told.outcomes
    ]


def indexes(told: Transcript) -> list[list[int]]:
    """For each step which firing of its pane each row is, from 0."""
    return [[firing.number for firing in outcome.firings] for outcome in told.outcomes]
