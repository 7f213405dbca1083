"""Calendar pipelines, moved to where clocks are changed: a few microseconds become hours, days or weeks."""

from __future__ import annotations

from dataclasses import replace

from fanlight.model.semantics import Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, timestamp
from fanlight.model.time.watermarks import BoundedDisorder, FixedDistance, WatermarkStrategy
from fanlight.model.windows.calendar import Calendar, CalendarUnit
from fanlight.testing.script import Record, Step

HOUR = 3_600_000_000

ORIGINS = {
    "UTC": timestamp("1969-12-30T00:00Z"),
    "Europe/Berlin": timestamp("2026-03-27T23:00Z"),  # 2026-03-29 has 23 hours
    "America/Sao_Paulo": timestamp("2018-11-03T03:00Z"),  # 2018-11-04 begins at one o'clock
    "America/Havana": timestamp("2025-11-01T04:00Z"),  # on 2025-11-02 the first hour comes twice
    "America/St_Johns": timestamp("2006-10-28T02:30Z"),  # on 2006-10-29 yesterday comes again after midnight
    "Pacific/Apia": timestamp("2011-12-29T10:00Z"),  # 2011-12-30 was left out
    "Asia/Kathmandu": timestamp("1985-12-31T18:30Z"),  # a quarter of an hour was left out at the new year
}
"""Zones, and a midnight in each that is close to a change of clocks."""

PACES = {
    CalendarUnit.DAY: HOUR // 2,
    CalendarUnit.WEEK: 6 * HOUR,
    CalendarUnit.MONTH: 24 * HOUR,
    CalendarUnit.QUARTER: 3 * 24 * HOUR,
    CalendarUnit.YEAR: 12 * 24 * HOUR,
}
"""What a microsecond of a drawn script becomes."""


def placed(pipeline: tuple[WindowSpec, list[Step]]) -> tuple[WindowSpec, list[Step]]:
    """The pipeline at the origin of its zone and at the pace of its unit; one of another kind as it is."""
    spec, steps = pipeline
    if not isinstance(spec.window, Calendar):
        return pipeline
    origin, pace = ORIGINS[spec.window.zone], PACES[spec.window.unit]
    elsewhere = replace(
        spec,
        lateness=_longer(spec.lateness, pace),
        watermark=_slower(spec.watermark, pace),
        semantics=_starting(spec.semantics, origin, pace),
    )
    return elsewhere, [moved(step, origin, pace) for step in steps]


def moved(step: Step, origin: int, pace: int) -> Step:
    """A step at `origin`, a microsecond of it being `pace`."""
    watermark = step.watermark
    return replace(
        step,
        records=tuple(_dated(record, origin, pace) for record in step.records),
        watermark=watermark if watermark in (None, END_OF_TIME) else origin + watermark * pace,
        clock=None if step.clock is None else origin + step.clock * pace,
    )


def _dated(record: Record, origin: int, pace: int) -> Record:
    time = record["ts"]
    usable = time is not None and EARLIEST <= time <= LATEST
    return {**record, "ts": origin + time * pace} if usable else record


def _longer(duration: Duration, pace: int) -> Duration:
    return duration if duration.is_forever else Duration(duration.micros * pace)


def _slower(strategy: WatermarkStrategy, pace: int) -> WatermarkStrategy:
    match strategy:
        case BoundedDisorder(delay=delay):
            return replace(strategy, delay=_longer(delay, pace))
        case FixedDistance(distance=distance):
            return replace(strategy, distance=_longer(distance, pace))
    return strategy


def _starting(answers: Semantics, origin: int, pace: int) -> Semantics:
    if answers.earliest_start is None:
        return answers
    return replace(answers, earliest_start=origin + answers.earliest_start * pace)
