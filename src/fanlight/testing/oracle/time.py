"""What time a record has, what it is judged against, and where the watermark goes.

    domain        a record's time                       the watermark
    event         its time column                       as the strategy says, or the caller
    processing    the clock                             the clock
    arrival       its place in the stream, from 1       the next place
    counting      its place among those of its key      the next place of each key
      … by        what a column says                    the greatest so far, plus 1

The watermark never goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanlight.errors import SpecError
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, FixedDistance
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.session import Session
from fanlight.testing.oracle.reach import Reach
from fanlight.testing.script import Key, Record, Step, as_key


@dataclass(frozen=True, slots=True)
class ArrivedRecord:
    """A record of a bundle whose time could be read; `reach` is what it is judged against."""

    number: int
    record: Record
    key: Key
    time: int
    reach: Reach


class Timekeeper:
    """Reads the times of records and moves the watermark, which never goes back."""

    def __init__(self, spec: WindowSpec) -> None:
        if not isinstance(spec.watermark, Explicit | BoundedDisorder | FixedDistance):
            raise SpecError(
                f"oracle: `watermark` ({type(spec.watermark).__name__}) needs several inputs, and a script has one. "
                "Combine the watermarks first and give them to the steps of an Explicit spec."
            )
        self.spec = spec
        self.clock = START_OF_TIME
        self.reach = Reach(positions={}) if self._counts_per_key else Reach()
        self.came = 0
        self.came_to: dict[Key, int] = {}
        self.greatest_time: int | None = None
        self.published_at: int | None = None

    def read(self, records: Sequence[Record]) -> list[ArrivedRecord | Reason]:
        """A bundle, record by record: when each came, or why nobody can say."""
        reach = self.reach
        read: list[ArrivedRecord | Reason] = []
        for record in records:
            key = as_key(record.get(name) for name in self.spec.keys)
            self.came += 1
            time = self._time(record, key)
            if isinstance(time, Reason):
                read.append(time)
                continue
            reach = self._judged_against(reach, time)
            read.append(ArrivedRecord(self.came, record, key, time, reach.of(key)))
        return read

    def advance(self, step: Step, *, timed: bool) -> None:
        """Move the watermark at the end of a step; `timed`: a record of its bundle had a time."""
        if step.end or self.reach.ended:
            self.reach = Reach(END_OF_TIME, ended=True)
        elif self._counts_per_key:
            self.reach = Reach(positions={key: came + 1 for key, came in self.came_to.items()})
        else:
            self.reach = replace(self.reach, watermark=max(self.reach.watermark, *self._candidates(step, timed)))

    @property
    def _counts_per_key(self) -> bool:
        return isinstance(self.spec.window, Counting) and self.spec.window.per is Scope.KEY

    def _time(self, record: Record, key: Key) -> int | Reason:
        """A record's time. In processing time it is the clock, or the watermark where that instant is over.

        A session, which ends later, starts at the clock all the same. Before any clock was told there is no time.
        """
        match self.spec.window:
            case Counting(by=str() as column):
                return self._position(record[column], key)
            case Counting(per=Scope.KEY):
                self.came_to[key] = self.came_to.get(key, 0) + 1
                return self.came_to[key]
        match self.spec.window.domain:
            case TimeDomain.PROCESSING if self.clock == START_OF_TIME:
                return Reason.NULL_TIME
            case TimeDomain.PROCESSING if isinstance(self.spec.window, Session):
                return self.clock
            case TimeDomain.PROCESSING:
                return max(self.clock, self.reach.watermark)
            case TimeDomain.ARRIVAL:
                return self.came
            case TimeDomain.EVENT:
                time: int | None = record[self.spec.time]
        if time is None:
            return Reason.NULL_TIME
        if not EARLIEST <= time <= LATEST:
            return Reason.TIME_OUT_OF_RANGE
        return Reason.TOO_FAR_AHEAD if self._is_too_far_ahead(time) else time

    def _is_too_far_ahead(self, time: int) -> bool:
        """Whether a time is further ahead of the clock than the stream allows; never, while no clock was told."""
        ahead = self.spec.ahead
        return ahead is not None and self.clock != START_OF_TIME and time > self.clock + ahead.micros

    def _position(self, position: int | None, key: Key) -> int | Reason:
        if position is None:
            return Reason.NULL_TIME
        if not 1 <= position <= LATEST:
            return Reason.TIME_OUT_OF_RANGE
        self.came_to[key] = max(self.came_to.get(key, 0), position)
        return position

    def _judged_against(self, reach: Reach, time: int) -> Reach:
        """What a record is judged against: with a per-record strategy, also the records before it and itself."""
        if self.spec.window.domain is not TimeDomain.EVENT or not isinstance(self.spec.watermark, BoundedDisorder):
            return reach
        self.greatest_time = time if self.greatest_time is None else max(self.greatest_time, time)
        if not self.spec.watermark.per_record:
            return reach
        return replace(reach, watermark=max(reach.watermark, time - self.spec.watermark.delay.micros))

    def _candidates(self, step: Step, timed: bool) -> list[int]:
        """Where the watermark might go; the greatest of them counts."""
        match self.spec.window.domain:
            case TimeDomain.PROCESSING:
                instant = self.spec.tick.micros if self.spec.semantics.clock_instant_is_over else 0
                return [START_OF_TIME if self.clock == START_OF_TIME else self.clock + instant]
            case TimeDomain.ARRIVAL:
                by_column = isinstance(self.spec.window, Counting) and self.spec.window.by is not None
                greatest = max(self.came_to.values(), default=0) if by_column else self.came
                return [greatest + 1]
        candidates = [self.reach.watermark if step.watermark is None else step.watermark]
        match self.spec.watermark:
            case BoundedDisorder(delay=delay, every=every):
                is_due = every is None or self.published_at is None or self.clock >= self.published_at + every.micros
                if timed and is_due and self.greatest_time is not None:
                    self.published_at = self.clock
                    candidates.append(self.greatest_time - delay.micros)
            case FixedDistance(distance=distance):
                candidates.append(self.clock - distance.micros)
        return candidates
