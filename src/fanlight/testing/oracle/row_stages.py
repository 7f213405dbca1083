"""Rows with new columns, one row of each id, recent rows and whole changes as stages of a pipeline.

Their rows are records as they are; each says which watermark it hands on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.over.frame import SessionFrame
from fanlight.model.over.functions import Lead
from fanlight.model.over.spec import OverSpec
from fanlight.model.recent import RecentSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.unique import UniqueSpec
from fanlight.testing.oracle.graph import Row, StageOutcome, stage_oracle
from fanlight.testing.oracle.normalize import NormalizeOracle
from fanlight.testing.oracle.over import OverOutcome
from fanlight.testing.oracle.over_modes import ORACLES
from fanlight.testing.oracle.recent import RecentOracle
from fanlight.testing.oracle.unique import UniqueOracle, UniqueOutcome
from fanlight.testing.script import Counts, DeadLetter, Firing, Record, Step


class RowOutcome(Protocol):
    """What one step of an oracle of rows gave."""

    @property
    def rows(self) -> tuple[Record, ...]:
        """The rows that leave, in their order."""

    @property
    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """The records that could not be used."""

    @property
    def records_in(self) -> int:
        """How many records came."""

    @property
    def accepted(self) -> int:
        """How many of them were accepted."""


class RowOracle(Protocol):
    """An oracle whose rows are records as they are."""

    @property
    def watermark(self) -> int:
        """The watermark it has reached."""

    def step(self, step: Step) -> RowOutcome:
        """Take one step."""


class RowStage:
    """An oracle of rows as a stage that hands on its watermark."""

    def __init__(self, oracle: RowOracle) -> None:
        self.oracle = oracle
        self.clock = START_OF_TIME
        """The clock it has reached."""

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are those that leave."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        outcome = self.oracle.step(step)
        counts = Counts(outcome.records_in, outcome.accepted, dead_letters=len(outcome.dead_letters))
        return StageOutcome(outcome.rows, outcome.dead_letters, counts + self.counted_beside(outcome))

    def counted_beside(self, outcome: RowOutcome) -> Counts:
        """What else is counted of a step."""
        return Counts()

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """The rows."""
        return tuple(row for row in rows if not isinstance(row, Firing))

    def hands_on(self) -> int:
        """The watermark of its rows, less what `waits` says; the start and the end of time stay."""
        watermark, waits = self.oracle.watermark, self.waits
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return START_OF_TIME if waits is None else max(watermark - waits, START_OF_TIME)

    @property
    def waits(self) -> int | None:
        """How long a row may wait after the watermark has passed it; None if nobody knows."""
        return 0


class OverStage(RowStage):
    """Rows with new columns as a stage, in any mode."""

    def __init__(self, spec: OverSpec) -> None:
        super().__init__(ORACLES[spec.mode](spec))
        self.spec = spec

    def counted_beside(self, outcome: RowOutcome) -> Counts:
        """Rows with a value that its type cannot hold."""
        assert isinstance(outcome, OverOutcome)
        return Counts(values_out_of_range=len(outcome.withheld))

    @property
    def waits(self) -> int | None:
        """On close, as long as frames and functions look ahead; otherwise rows leave as they come."""
        spec = self.spec
        if spec.mode is not EmissionMode.ON_CLOSE:
            return 0
        if any(isinstance(one.frame, SessionFrame) for one in spec.new_columns):
            return None
        asked = [one.function for one in spec.new_columns if isinstance(one.function, Lead)]
        leads = [lead.offset for lead in asked if lead.within is None]
        withins = [lead.within.micros for lead in asked if lead.within is not None]
        waited_for = max([*leads, *(one.frame.rows_after for one in spec.new_columns)])
        longest = max([*withins, *(one.frame.time_after for one in spec.new_columns)])
        if waited_for:
            skips = any(lead.ignore_nulls for lead in asked if lead.within is None)
            if spec.forget is None or spec.forget.is_forever or skips:
                return None
            longest = max(longest, waited_for * spec.forget.micros)
        return longest


class UniqueStage(RowStage):
    """One row of each id as a stage."""

    def __init__(self, spec: UniqueSpec) -> None:
        super().__init__(UniqueOracle(spec))
        self.spec = spec

    def counted_beside(self, outcome: RowOutcome) -> Counts:
        """Records in whose place another row leaves."""
        assert isinstance(outcome, UniqueOutcome)
        return Counts(duplicates=outcome.duplicates)

    @property
    def waits(self) -> int:
        """Any row may be as far behind as a repetition."""
        return self.spec.within.micros


def _recent(spec: RecentSpec) -> RowStage:
    return RowStage(RecentOracle(spec))


def _normalized(spec: NormalizeSpec) -> RowStage:
    return RowStage(NormalizeOracle(spec))


stage_oracle.register(OverSpec, OverStage)
stage_oracle.register(UniqueSpec, UniqueStage)
stage_oracle.register(RecentSpec, _recent)
stage_oracle.register(NormalizeSpec, _normalized)
