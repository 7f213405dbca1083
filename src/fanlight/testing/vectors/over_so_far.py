"""A view over rows without a watermark: after each step it shows what would leave if the input ended there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.testing.vectors.compare import Comparison
from fanlight.testing.vectors.expect import groups_of, require_attributes
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.sort import SortDriver


def shows_so_far(vector: Vector) -> bool:
    """Whether a case reads such a view: its state is asked for, and nobody says how far time has come."""
    says_time = vector.get("emit") or vector.get("watermark_policy") or any("watermark" in one for one in vector.steps)
    return vector.get("expect_mode") == "state" and not says_time


def differences_so_far(vector: Vector, driver: Callable[[], SortDriver], computed: Iterable[str]) -> list[str]:
    """What differs in the state after each step: all rows so far go through a run of their own, to its end."""
    require_attributes(vector, {*computed, *(name for record in vector.records for name in record)})
    comparison, problems = Comparison(vector.get("row_order", "any")), []
    for after, expected in groups_of(vector).items():
        run, records = driver(), [record for step in vector.steps[: after + 1] for record in step.get("in") or ()]
        shown = [*run.bundle(records), *run.watermark(END_OF_TIME)]
        problems += [f"after step {after}: {problem}" for problem in comparison.differences(expected, shown)]
    return problems
