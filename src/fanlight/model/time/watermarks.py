"""How a watermark follows the records: the declarations. `operators.ingest.inputs` runs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.later import LATER
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp


class Combine(Enum):
    """How several inputs make one watermark."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Explicit:
    """The caller gives the watermark: `advance(watermark=…)`, or control records.

    >>> import fanlight as fl
    >>> windows = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("1 min"))
    >>> operator = windows.agg(n=fl.count()).operator()
    >>> operator.add([{"ts": 1}])
    >>> operator.advance(watermark=60_000_000)
    >>> operator.take()["n"].to_pylist()
    [1]
    """


@dataclass(frozen=True, slots=True)
class BoundedDisorder:
    """The greatest time seen, less `delay`.

    `per_record` judges each record against the greatest time up to and including itself, as Kafka and
    Samza do; otherwise a whole bundle is judged against the watermark before it. `every` publishes at most
    once in that much clock time.
    """

    delay: Duration
    per_record: bool = False
    every: Duration | None = None

    def __post_init__(self) -> None:
        if self.delay.micros < 0 or self.delay.is_forever:
            raise SpecError(
                f"BoundedDisorder: `delay` ({self.delay}) must be from 0 up; records cannot be early. "
                "Use the longest disorder you expect, such as '5 seconds'."
            )


@dataclass(frozen=True, slots=True)
class FixedDistance:
    """The clock, less `distance`: for sources whose delay is known and whose times are not."""

    distance: Duration

    def __post_init__(self) -> None:
        if self.distance.micros < 0 or self.distance.is_forever:
            raise SpecError(f"FixedDistance: `distance` ({self.distance}) must be from 0 up.")


@dataclass(frozen=True, slots=True)
class Several:
    """One watermark from several named inputs.

    With `MIN`, nothing is said before every input has spoken, unless `initial` gives those that have not a
    value. An input silent for `idle` of clock time stops holding the others back until it speaks again. One that must
    be `ready` counts as one that has said nothing, and is never idle, before its own watermark has reached a time.
    """

    inputs: tuple[tuple[str, Explicit | BoundedDisorder | FixedDistance], ...]
    combine: Combine = Combine.MIN
    idle: Duration | None = None
    initial: Timestamp = START_OF_TIME
    ready: tuple[tuple[str, Timestamp], ...] = field(default=(), metadata=LATER)
    """The time that the watermark of an input must have reached before it counts."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.inputs]
        if not names or len(set(names)) != len(names):
            raise SpecError(f"Several: `inputs` ({', '.join(names) or 'none'}) must be distinct names, at least one.")
        if self.idle is not None and self.idle.micros <= 0:
            raise SpecError(f"Several: `idle` ({self.idle}) must be above zero. Leave it out to wait forever.")
        if not {name for name, _ in self.ready} <= set(names):
            raise SpecError(f"Several: `ready` ({self.ready}) must be about its inputs ({', '.join(names)}).")
        if self.ready and self.combine is Combine.MAX:
            raise SpecError(
                "Several: with `ready` the others wait for an input, and with the greatest watermark nobody waits. Use "
                "the least."
            )


WatermarkStrategy = Explicit | BoundedDisorder | FixedDistance | Several


@dataclass(frozen=True, slots=True)
class Control:
    """Rows of the stream say the watermark: a row that has a time in `column` is no record."""

    column: str


def control(column: str) -> Control:
    """The stream says its watermark itself: a row with a time in `column` is no record, but a watermark.

    >>> control("complete_until").column
    'complete_until'
    """
    return Control(column)


def bounded_disorder(delay: DurationLike) -> BoundedDisorder:
    """The greatest time seen, less `delay`.

    >>> bounded_disorder("5 s").delay
    Duration('5 s')
    """
    return BoundedDisorder(Duration.of(delay))


def stream_time(*, every: DurationLike | None = None) -> BoundedDisorder:
    """The greatest time seen, judged record by record: Kafka's and Samza's rule.

    >>> stream_time().per_record
    True
    """
    return BoundedDisorder(Duration(0), per_record=True, every=None if every is None else Duration.of(every))


def fixed_distance(distance: DurationLike) -> FixedDistance:
    """The clock, less `distance`.

    >>> fixed_distance("1 min").distance
    Duration('1 min')
    """
    return FixedDistance(Duration.of(distance))


def several(
    inputs: dict[str, Explicit | BoundedDisorder | FixedDistance],
    *,
    combine: Combine | str = Combine.MIN,
    idle: DurationLike | None = None,
    initial: Timestamp = START_OF_TIME,
) -> Several:
    """One watermark from several named inputs.

    >>> several({"web": stream_time(), "shop": bounded_disorder("5 s")}, idle="1 min").idle
    Duration('1 min')
    """
    return Several(
        tuple(inputs.items()), choice(Combine, combine, "combine"), None if idle is None else Duration.of(idle), initial
    )
