"""The time axis: which moments get a tick, what they are called, and where a time lies in the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.counting import Counting, Scope

_SECOND = 1_000_000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3_600 * _SECOND, 86_400 * _SECOND
_STEPS = (
    *(count * 10**power for power in range(6) for count in (1, 2, 5)),
    *(count * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 5)),
)
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 600, 1_200)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_LETTERS = len("Jan 2026") + 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tick:
    """One named place of the axis."""

    time: Timestamp
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Times from `first` to `last`, drawn from `left` to `right`."""

    first: Timestamp
    last: Timestamp
    air: int
    """How far the axis goes on beyond everything that lies on it, at both ends."""
    left: float
    right: float
    zone: tzinfo | None
    """None where the axis counts positions, not time."""
    caption: str

    def x(self, time: Timestamp) -> float:
        """Where a time lies; what is beyond an end lies at it."""
        inside = min(max(time, self.first), self.last)
        return self.left + (self.right - self.left) * (inside - self.first) / (self.last - self.first)

    def text(self, time: Timestamp) -> str:
        """A time as tooltips say it."""
        if time in (START_OF_TIME, END_OF_TIME):
            return "the start of time" if time == START_OF_TIME else "the end of time"
        if self.zone is None:
            return str(time)
        moment = self._local(time)
        seconds = f"{moment:%H:%M:%S}.{moment.microsecond:06d}".rstrip("0").rstrip(".")
        return seconds if self._is_one_day else f"{moment:%Y-%m-%d} {seconds.removesuffix(':00')}"

    def ticks(self, digit: float) -> list[Tick]:
        """As many places as have room for labels, a digit of which is `digit` wide."""
        width, span = self.right - self.left, self.last - self.first
        step = next((step for step in _STEPS if (span // step + 1) * digit * self._letters(step) <= width), None)
        found = self._months(int(width // (digit * _MONTH_LETTERS))) if step is None else self._even(step)
        return [tick for tick in found if self.first < tick.time < self.last]

    def _letters(self, step: int) -> int:
        """How many letters a label needs, with the air beside it, if there is a tick every `step`."""
        if self.zone is None:
            return max(len(str(self.first)), len(str(self.last))) + 2
        if step >= _SECOND:
            return len("00:00:00") + 2
        return len("00:00:00.") + len(f"{step / _SECOND:.6f}".rstrip("0").partition(".")[2]) + 2

    def _even(self, step: int) -> list[Tick]:
        if self.zone is None:
            return [Tick(time, str(time)) for time in range(-(-self.first // step) * step, self.last + 1, step)]
        if step >= _DAY or (step >= _HOUR and self.zone is not UTC):
            return self._hours(step // _HOUR)
        found = []
        for time in range(-(-self.first // step) * step, self.last + 1, step):
            moment = self._local(time)
            fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".") if step < _SECOND else ""
            text = f"{moment:%H:%M}" if step >= _MINUTE else f"{moment:%H:%M:%S}{fraction}"
            found.append(Tick(time, self._named(moment, text)))
        return found

    def _hours(self, step: int) -> list[Tick]:
        """Every so many hours as the clocks of the zone show them, however long its days are."""
        day = self._local(self.first).replace(hour=0, minute=0, second=0, microsecond=0)
        found = []
        while _micros(day) <= self.last:
            for hour in range(0, 24, step):
                moment = day.replace(hour=hour)
                if self._local(_micros(moment)) == moment:  # an hour that the clocks leave out has no tick
                    found.append(Tick(_micros(moment), self._named(moment, f"{moment:%H:%M}")))
            day += timedelta(days=max(1, step // 24))
        return found

    def _named(self, moment: datetime, text: str) -> str:
        """The time of day; where there are several days, midnight is named after its day."""
        is_midnight = moment.hour == moment.minute == moment.second == moment.microsecond == 0
        return f"{_NAMES[moment.month - 1]} {moment.day}" if is_midnight and not self._is_one_day else text

    def _months(self, room: int) -> list[Tick]:
        opening = self._local(self.first).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        closing = self._local(self.last)
        months = (closing.year - opening.year) * 12 + closing.month - opening.month + 1
        step = next((count for count in _MONTHS if months // count + 1 <= room), _MONTHS[-1])
        found = []
        for count in range(opening.year * 12 + opening.month - 1, closing.year * 12 + closing.month, step):
            moment = opening.replace(year=count // 12, month=count % 12 + 1)
            found.append(Tick(_micros(moment), f"{_NAMES[moment.month - 1]} {moment.year}"))
        return found

    @property
    def date(self) -> str:
        """The day, or the year, that the ticks do not say."""
        opening, closing = self._local(self.first + self.air), self._local(self.last - self.air - 1)
        if self._is_one_day:
            return f"{opening:%Y-%m-%d}"
        return str(opening.year) if opening.year == closing.year else f"{opening.year} to {closing.year}"

    @property
    def _is_one_day(self) -> bool:
        return self._local(self.first + self.air).date() == self._local(self.last - self.air - 1).date()

    def _local(self, time: Timestamp) -> datetime:
        return (_EPOCH + timedelta(microseconds=time)).astimezone(self.zone)


def axis_over(spec: StreamSpec, times: list[Timestamp], left: float, right: float) -> Axis:
    """The axis of a run: all its finite `times` fit on it, with a little air at both ends."""
    finite = [time for time in times if time not in (START_OF_TIME, END_OF_TIME)] or [0]
    first, last = min(finite), max(finite)
    air = max(1, (last - first) // 40)
    axis = Axis(first - air, last + air, air, left, right, _zone(spec), "")
    return replace(axis, caption=_caption(spec, axis))


def _zone(spec: StreamSpec) -> tzinfo | None:
    if spec.domain is TimeDomain.ARRIVAL:
        return None
    if isinstance(spec, WindowSpec) and isinstance(spec.window, Calendar) and spec.window.zone != "UTC":
        return ZoneInfo(spec.window.zone)
    return UTC


def _caption(spec: StreamSpec, axis: Axis) -> str:
    kind = spec.window if isinstance(spec, WindowSpec) else None
    if isinstance(kind, Counting) and kind.by is not None:
        return f"position, from the column {kind.by}"
    if isinstance(kind, Counting) and kind.per is Scope.KEY:
        return "position among the records of the key"
    if axis.zone is None:
        return "place in the stream"
    which = "processing time" if spec.domain is TimeDomain.PROCESSING else "event time"
    return f"{which}, {axis.date}, {'UTC' if axis.zone is UTC else axis.zone}"


def _micros(moment: datetime) -> Timestamp:
    return (moment - _EPOCH) // timedelta(microseconds=1)
