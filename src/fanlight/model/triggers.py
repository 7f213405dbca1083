"""When a pane fires: an algebra of frozen values.

A trigger is asked only about panes that something happened to in a step: records came, the window
closed or expired, a timer came due, the caller gave a signal. It answers *ready* or not; when it fires it may *finish*.
A pane whose whole trigger has finished fires no more, and further records for it are dead letters.

| trigger                   | ready when                                        | after firing          |
|---------------------------|---------------------------------------------------|-----------------------|
| `AtWatermark(early, late)`| the window closes; `early` before, `late` after   | see the class         |
| `AtExpiry`                | the window expires                                | finished              |
| `After(n)`                | n records came since it started                   | finished              |
| `AfterDelay(d)`           | the clock is d past its first record              | finished              |
| `Every(p)`                | the clock (or watermark) passed a multiple of p   | goes on               |
| `OnSignal`                | the caller's signal is on                         | goes on, or finished  |
| `Never`                   | never                                             |                       |
| `AnyOf`, `AllOf`          | one part is ready; every unfinished part is ready | finished              |
| `InOrder`                 | its first unfinished part is ready                | when the last finishes|
| `Repeat`                  | its part is ready                                 | the part starts again |
| `Until(main, until)`      | either is ready                                   | when either finishes  |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration, DurationLike


class Trigger:
    """The root of the algebra; a value, never the thing that runs.

    >>> isinstance(after(3), Trigger)
    True
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The triggers this one is made of, in order."""
        return ()

    def walk(self) -> Iterator[Trigger]:
        """This trigger and everything it is made of, from the top down."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class After(Trigger):
    """Once `records` records have come."""

    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise SpecError(f"After: `records` ({self.records}) must be at least 1. Use after(1) for every update.")


@dataclass(frozen=True, slots=True)
class AfterDelay(Trigger):
    """Once the clock is `delay` past the first record since this trigger started."""

    delay: Duration

    def __post_init__(self) -> None:
        _require_positive("AfterDelay", "delay", self.delay)


@dataclass(frozen=True, slots=True)
class Every(Trigger):
    """Each time the clock passes a multiple of `period`, whether records came or not.

    In the event domain the watermark takes the clock's place, and the count starts at the
    first record's own time.
    """

    period: Duration
    domain: TimeDomain = TimeDomain.PROCESSING

    def __post_init__(self) -> None:
        _require_positive("Every", "period", self.period)
        if self.domain is TimeDomain.ARRIVAL:
            raise SpecError(
                "Every: `domain` (arrival) is no clock. Use 'event': of windows over positions it counts positions."
            )


@dataclass(frozen=True, slots=True)
class AtExpiry(Trigger):
    """Once, when the window expires: the final value and nothing before it."""


@dataclass(frozen=True, slots=True)
class OnSignal(Trigger):
    """While the caller's signal is on: every pane in the step that gives it, later those that something happens to."""


@dataclass(frozen=True, slots=True)
class Never(Trigger):
    """Never by itself; what is pending leaves when the window expires."""


EVERY_UPDATE = After(1)


@dataclass(frozen=True, slots=True)
class AtWatermark(Trigger):
    """When the window closes, with an early part before and a late part after.

    Both parts repeat by themselves. Without a late part the trigger finishes when the window
    closes, and late records become dead letters.
    """

    early: Trigger | None = None
    late: Trigger | None = EVERY_UPDATE

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return tuple(part for part in (self.early, self.late) if part is not None)


@dataclass(frozen=True, slots=True)
class AnyOf(Trigger):
    """As soon as one part is ready; then finished."""

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _require_parts("AnyOf", self.triggers)

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers


@dataclass(frozen=True, slots=True)
class AllOf(Trigger):
    """As soon as every part is ready; then finished."""

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _require_parts("AllOf", self.triggers)

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers


@dataclass(frozen=True, slots=True)
class InOrder(Trigger):
    """One part after the other, each starting when the one before has finished."""

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _require_parts("InOrder", self.triggers)

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers


@dataclass(frozen=True, slots=True)
class Repeat(Trigger):
    """The part again and again; never finished."""

    trigger: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.trigger,)


@dataclass(frozen=True, slots=True)
class Until(Trigger):
    """`main`, until `until` fires once and ends it."""

    main: Trigger
    until: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.main, self.until)


def _require_positive(kind: str, field: str, value: Duration) -> None:
    if value.micros <= 0 or value.is_forever:
        raise SpecError(f"{kind}: `{field}` ({value}) must be above zero. Use a duration such as '10 seconds'.")


def _require_parts(kind: str, parts: tuple[Trigger, ...]) -> None:
    if not parts:
        raise SpecError(f"{kind}: needs at least one trigger. Use never() for a trigger that never fires.")


def at_watermark(*, early: Trigger | None = None, late: Trigger | None = EVERY_UPDATE) -> AtWatermark:
    """When the window closes; `early` and `late` firings around it.

    >>> at_watermark(early=every("10 seconds"), late=after(1)).early
    Every(period=Duration('10 s'), domain=<TimeDomain.PROCESSING: 'processing'>)
    """
    return AtWatermark(early, late)


def at_expiry() -> AtExpiry:
    """Once, with the final value, when no further record can change it.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.at_expiry()).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.advance(watermark=60_000_000)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return AtExpiry()


def after(records: int) -> After:
    """After this many records.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.repeat(fl.after(2))).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return After(records)


def after_delay(delay: DurationLike) -> AfterDelay:
    """After this much clock time since the pane's first record.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.after_delay("10 s")).agg(n=fl.count()).operator()
    >>> operator.advance(clock=0)
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.advance(clock=10_000_000)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return AfterDelay(Duration.of(delay))


def every(period: DurationLike, *, domain: TimeDomain | str = TimeDomain.PROCESSING) -> Every:
    """At each multiple of `period` of the clock, or of the watermark.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.repeat(fl.every("10 s"))).agg(n=fl.count()).operator()
    >>> operator.advance(clock=1_000_000)
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.advance(clock=10_000_000)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return Every(Duration.of(period), choice(TimeDomain, domain, "domain"))


def any_of(*triggers: Trigger) -> AnyOf:
    """When the first of several is ready.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.any_of(fl.after(100), fl.on_signal())).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.advance(signal=True)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return AnyOf(triggers)


def all_of(*triggers: Trigger) -> AllOf:
    """When all of several are ready.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.all_of(fl.after(2), fl.on_signal())).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.take()["n"].to_pylist()
    []
    >>> operator.advance(signal=True)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return AllOf(triggers)


def in_order(*triggers: Trigger) -> InOrder:
    """One after the other.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.in_order(fl.after(1), fl.after(2))).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}])
    >>> operator.add([{"ts": 2}])
    >>> operator.add([{"ts": 3}])
    >>> operator.take()["n"].to_pylist()
    [1, 3]
    """
    return InOrder(triggers)


def repeat(trigger: Trigger) -> Repeat:
    """Again and again.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.repeat(fl.after(1))).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.add([{"ts": 3}])
    >>> operator.take()["n"].to_pylist()
    [2, 3]
    """
    return Repeat(trigger)


def until(main: Trigger, end: Trigger) -> Until:
    """`main`, ended by the first firing of `end`.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.until(fl.repeat(fl.after(1)), fl.on_signal())).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return Until(main, end)


def on_signal() -> OnSignal:
    """When the caller says so: `advance(signal=True)` fires every pane that has something to say.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.on_signal()).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.advance(signal=True)
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return OnSignal()


def never() -> Never:
    """Not before the window expires.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> operator = windows.trigger(fl.never()).agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}, {"ts": 2}])
    >>> operator.take()["n"].to_pylist()
    []
    >>> operator.end()
    >>> operator.take()["n"].to_pylist()
    [2]
    """
    return Never()


LATE_BATCHES = AfterDelay(Duration(10_000_000))
"""What Samza's late arrival policy is if nothing else is said: updates wait for 10 seconds, and leave together."""


def samza_policies(
    *, early: Trigger | None = None, full_size: Trigger | None = None, late: Trigger | None = LATE_BATCHES
) -> Trigger:
    """Samza's three policies: `early` looks at the current window, `full_size` ends it, `late` updates past windows.

    The defaults are those of Samza's windowed aggregator: no early result, the end of the window, and late messages in
    batches of 10 seconds of the clock. Its join windows are `samza_policies(early=repeat(after(1)), late=after(1))`.
    `early` runs once as written, `late` again and again; without `late`, late messages become dead letters.

    >>> samza_policies().late
    AfterDelay(delay=Duration('10 s'))
    """
    for name, policy in (("early", early), ("full_size", full_size), ("late", late)):
        if policy is not None and not isinstance(policy, Trigger):
            raise SpecError(
                f"samza_policies: `{name}` ({policy!r}) is no trigger. Use one such as after(100) for a count, "
                "after_delay('10 seconds') for a period, or None for none."
            )
    once = None if early is None else InOrder((early, Never()))
    if full_size is None and late is not None:
        return AtWatermark(once, late)
    full = full_size or AtWatermark(late=None)
    current = full if once is None else Until(once, full)
    return current if late is None else InOrder((current, Repeat(late)))
