"""Fill, read slowly from the law: between two windows of a key, the missing ones are walked through one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.fill import FillSpec, FillWith
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.tumbling import Tumbling
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.calendar import unit_of
from fanlight.testing.oracle.graph import Row, StageOutcome, stage_oracle
from fanlight.testing.oracle.order import null_last
from fanlight.testing.script import Counts, Firing, Key, Record, Step, as_key

MOST = 100_000


class FillStage:
    """Windows with their gaps filled, as a stage: the newest window of each key is remembered for ever."""

    def __init__(self, spec: FillSpec) -> None:
        self.spec = spec
        self.newest: dict[Key, Record] = {}
        self.watermark = START_OF_TIME
        self.clock = START_OF_TIME

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are the windows that came, and the missing ones before them."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        rows: list[Record] = []
        for came in sorted(step.records, key=lambda one: one["window_end"]):
            key = as_key(came[name] for name in self.spec.keys)
            if key in self.newest:
                rows += self._missing(self.newest[key], came)
            rows.append(self._said(came, _window(came), {name: self._own(came[name]) for name in self.spec.filled}))
            self.newest[key] = came
        rows.sort(key=self._order)
        told = START_OF_TIME if step.watermark is None else step.watermark
        self.watermark = END_OF_TIME if step.end else max(self.watermark, told)
        return StageOutcome(tuple(rows), counts=Counts(len(step.records), len(step.records)))

    def _missing(self, before: Record, after: Record) -> list[Record]:
        """The rows of the windows between two of a key; none if the gap is too long."""
        longest = self.spec.longest
        apart = after["window_end"] - before["window_end"]
        if longest is not None and not longest.is_forever and apart > longest.micros:
            return []
        between = [_window(before)]
        while (following := self._next(between[-1])).end < after["window_end"]:
            between.append(following)
            if len(between) - 1 > MOST:
                return []
        steps = len(between)
        return [
            self._said(
                after, one, {name: self._value(before[name], after[name], place, steps) for name in self.spec.filled}
            )
            for place, one in enumerate(between)
            if place
        ]

    def _next(self, window: Window) -> Window:
        match self.spec.windows.window.origin:
            case Tumbling(size=every) | Hopping(every=every):
                return Window(window.start + every.micros, window.end + every.micros)
            case Calendar(unit=unit, zone=zone):
                return unit_of(unit, zone, window.end)
        raise SpecError(f"oracle of fill: {self.spec.windows.window!r} has no next window.")

    def _own(self, value: Any) -> Any:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return float(value) if self.spec.how is FillWith.LINEAR and is_whole else value

    def _value(self, before: Any, after: Any, place: int, steps: int) -> Any:
        """The value of the window that is number `place` of the `steps` from one window to the other."""
        if self.spec.how is FillWith.LAST:
            return before
        numbers = isinstance(before, int | float | Decimal) and isinstance(after, int | float | Decimal)
        if self.spec.how is FillWith.NULL or not numbers or isinstance(before, bool):
            return None
        if any(isinstance(side, float) and not math.isfinite(side) for side in (before, after)):
            return before + (after - before) * place / steps
        exact = Fraction(before) + (Fraction(after) - Fraction(before)) * place / steps
        return _rounded(exact, before) if isinstance(before, Decimal) else float(exact)

    def _said(self, came: Record, window: Window, values: Record) -> Record:
        keys = {name: came[name] for name in self.spec.keys}
        return {**keys, "window": {"start": window.start, "end": window.end}, **values}

    def _order(self, row: Record) -> Any:
        """As firings are ordered: by window end, window start, key."""
        return row["window"]["end"], row["window"]["start"], [null_last(row[name]) for name in self.spec.keys]

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """Rows, flat, as those of the windows are."""
        return tuple(self._flat(row) for row in rows if not isinstance(row, Firing))

    def _flat(self, row: Record) -> Record:
        own = {name: value for name, value in row.items() if name != "window"}
        start, end = row["window"]["start"], row["window"]["end"]
        return {
            **own,
            "window_start": start,
            "window_end": end,
            "window_time": end - self.spec.windows.tick.micros,
        }

    def hands_on(self) -> int:
        """The watermark less the longest gap that is filled."""
        if self.watermark in (START_OF_TIME, END_OF_TIME):
            return self.watermark
        longest = self.spec.longest
        if longest is not None and not longest.is_forever:
            return max(self.watermark - longest.micros, START_OF_TIME)
        match self.spec.windows.window.origin:
            case Tumbling(size=every) | Hopping(every=every):
                return max(self.watermark - (MOST + 1) * every.micros, START_OF_TIME)
        return START_OF_TIME


def _window(came: Record) -> Window:
    return Window(came["window_start"], came["window_end"])


def _rounded(exact: Fraction, like: Decimal) -> Decimal:
    """The nearest decimal with as many digits after the point; of a half, the one away from zero."""
    with localcontext(prec=100):
        step = Decimal(1).scaleb(int(like.as_tuple().exponent))
        return (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(step, ROUND_HALF_UP)


stage_oracle.register(FillSpec, FillStage)
