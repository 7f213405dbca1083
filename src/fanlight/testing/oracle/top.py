"""Top, read slowly from the law: what each rank of a pane had before is remembered, and compared with what it has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from fanlight.model.firing import Op
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.top import RANK, ROWS, TopSpec
from fanlight.model.windows.window import WHOLE_TIME
from fanlight.testing.oracle.graph import Row, StageOutcome, stage_oracle
from fanlight.testing.script import Counts, Firing, Record, Step, as_key, same

_TAKES_BACK = (Op.RETRACT.code, Op.DELETE.code)
_NO_ROW = object()


class TopStage:
    """The rows of windows, rank by rank, as a stage.

    It remembers the rows that each pane has shown, which the engine is told by the windows: so it finds windows that
    take back something else than they have shown.
    """

    def __init__(self, spec: TopSpec) -> None:
        self.spec = spec
        self.shown: dict[Any, list[Record]] = {}
        self.watermark = START_OF_TIME
        self.clock = START_OF_TIME

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are those of the ranks that have changed."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        rows = [row for firing in step.records for row in self._ranked(firing)]
        told = START_OF_TIME if step.watermark is None else step.watermark
        self.watermark = END_OF_TIME if step.end else max(self.watermark, told)
        return StageOutcome(tuple(rows), counts=Counts(len(step.records), len(step.records)))

    def _ranked(self, firing: Record) -> list[Record]:
        bounds = firing["window_start"], firing["window_end"]
        pane = as_key([*(firing[name] for name in self.spec.keys), *bounds])
        op, rows = firing.get("op", Op.INSERT.code), firing[ROWS]
        before = self.shown.get(pane, [])
        if op in _TAKES_BACK and not same(before, rows):
            raise AssertionError(f"oracle: {pane} takes back {rows}, and has shown {before}.")
        if op == Op.RETRACT.code:
            return []
        self.shown[pane] = [] if op == Op.DELETE.code else rows
        return [
            self._said(row, bounds, rank, change)
            for rank, (old, new) in enumerate(zip_longest(before, self.shown[pane], fillvalue=_NO_ROW), start=1)
            for row, change in _changes(old, new)
        ]

    def _said(self, row: Record, bounds: tuple[int, int], rank: int, op: Op) -> Record:
        own = {name: value for name, value in row.items() if name not in ("window_start", "window_end")}
        start, end = (None, None) if bounds[1] == WHOLE_TIME.end else bounds
        said = {**own, "window_start": start, "window_end": end, RANK: rank}
        return {**said, "op": op.code} if self.spec.replaces else said

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """The rows."""
        return tuple(row for row in rows if not isinstance(row, Firing))

    def hands_on(self) -> int:
        """The watermark less the length of a window: its first instant may be that of a row."""
        span = self.spec.windows.window.span
        if self.watermark in (START_OF_TIME, END_OF_TIME):
            return self.watermark
        return START_OF_TIME if span is None else max(self.watermark - span.micros, START_OF_TIME)


def _changes(old: Any, new: Any) -> list[tuple[Any, Op]]:
    """What is said of a rank that had `old` and has `new`."""
    if old is _NO_ROW:
        return [(new, Op.INSERT)]
    if new is _NO_ROW:
        return [(old, Op.DELETE)]
    return [] if same(old, new) else [(old, Op.RETRACT), (new, Op.UPDATE)]


stage_oracle.register(TopSpec, TopStage)
