"""A join, declared: two inputs, what matches, which rows leave, and when."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Literal

from fanlight.errors import SpecError
from fanlight.model.continuation import Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.match import Interval
from fanlight.model.preparation import Where
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several, WatermarkStrategy

TIME = "time"
"""The column with the time of a record of either side, as microseconds, before it is judged."""
INPUT = "input"
"""The column that says of a record from which side it came."""
KEY = "key."
"""What the columns of keys begin with, of either side: then comes the number of the key."""


MODES = (EmissionMode.EAGER, EmissionMode.ON_CLOSE)
"""When rows of a join can leave."""


class JoinType(Enum):
    """Which rows leave."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def pads_left(self) -> bool:
        """Whether a left row without a match leaves, with nulls for the right one."""
        return self in (JoinType.LEFT, JoinType.FULL)

    @property
    def pads_right(self) -> bool:
        """Whether a right row without a match leaves, with nulls for the left one."""
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def of_left_only(self) -> bool:
        """Whether rows have the columns of the left side alone."""
        return self in (JoinType.SEMI, JoinType.ANTI)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join: the name of its input, its column of times, and its keys."""

    name: str
    time: str
    unit: TimeUnit | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinSpec(StreamSpec):
    """The declaration of a join.

    The records of both sides come with their time in the column `TIME`, their keys in columns `KEY…`, and the record
    itself as one struct, in a column called like its side; `Sided` prepares them so.
    """

    left: Side
    right: Side
    match: Interval
    how: JoinType = JoinType.INNER
    mode: EmissionMode = EmissionMode.EAGER
    where: Where | None = None
    """A condition over the joined columns that a pair must meet."""
    lateness: Duration = ZERO
    """How far behind the watermark of its own input a record may be."""
    stamp: Literal["left", "right"] | None = "left"
    """Whose time is the time of a joined row; None if it has none."""
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    goes_by_input: ClassVar[bool] = True
    """A record is judged by the watermark of its own input, and waits for that of the other."""

    def __post_init__(self) -> None:
        if self.left.name == self.right.name:
            raise SpecError(
                f"join: both sides are called {self.left.name!r}, so nobody could tell their columns apart. Give one "
                "another name, as in stream(…, name='o')."
            )
        for name in (self.left.name, self.right.name):
            if name in (TIME, INPUT) or name.startswith(KEY):
                raise SpecError(
                    f"join: a side is called {name!r}, as a column that every join has. Give it another name, as in "
                    "stream(…, name='o')."
                )
        if len(self.left.keys) != len(self.right.keys):
            raise SpecError(
                f"join: the left side has {len(self.left.keys)} keys and the right side {len(self.right.keys)}, and "
                "they are compared one by one. Say key_by(…) on both with as many columns, or on='id'."
            )
        if self.mode not in MODES:
            raise SpecError(
                f"join: joined rows are not kept up to date yet ({self.mode.value}). Use eager or on_close."
            )
        if self.lateness.is_forever or self.lateness.micros < 0:
            raise SpecError(f"join: `lateness` ({self.lateness}) must be a duration from 0 up; rows are kept for it.")
        if self.stamp not in ("left", "right", None):
            raise SpecError(f"stamped: {self.stamp!r} is no side. Use 'left' or 'right'.")
        for side, padded in (("left", self.how.pads_right), ("right", self.how.pads_left or self.how.of_left_only)):
            if self.stamp == side and padded:
                raise SpecError(
                    f"stamped: a row of this {self.how.value} join may have no {side} row, and so no time. Stamp it "
                    f"with the other side, or use another join."
                )
        if isinstance(self.watermark, Several):
            for name, strategy in self.watermark.inputs:
                if isinstance(strategy, BoundedDisorder) and strategy.per_record:
                    raise SpecError(
                        f"join: the watermark of {name!r} follows every single record, and the records of a join are "
                        "judged by the bundle. Leave per_record out; bundles of one record are judged one by one."
                    )
            names = tuple(name for name, _ in self.watermark.inputs)
            if names != (self.right.name, self.left.name):
                raise SpecError(f"join: the watermarks are of {names}, not of {self.right.name} and {self.left.name}.")

    @property
    def time(self) -> str:  # type: ignore[override]
        """The column of times, of either side."""
        return TIME

    @property
    def unit(self) -> TimeUnit:  # type: ignore[override]
        """Times come as microseconds."""
        return TimeUnit.MICROSECONDS

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns of keys, of either side."""
        return tuple(f"{KEY}{number}" for number in range(len(self.left.keys)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that must be there from the start; those of a side get their types with its records."""
        return (TIME,)

    @property
    def continuation(self) -> Continuation:
        """The result as a stream: its time is that of one side."""
        if self.stamp is None:
            raise SpecError(
                "join: a row of a full join may have no left row or no right one, so neither side's time is the time "
                "of all rows, and nothing can follow it by time. Use a left or a right join."
            )
        if self.stamp == "left":
            return Continuation(self.left.time, self.left.unit)
        return Continuation(self.right_name(self.right.time, (self.left.time,)), self.right.unit)

    def right_name(self, column: str, taken: Collection[str]) -> str:
        """How a column of the right side is called in a joined row; `taken` are the names of the left side."""
        return f"{column}_{self.right.name}" if column in taken else column

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row waits as long as its match may come.

        On close a pair waits for its left row, also where it has the time of the right one.
        """
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        least, most = self.match.least, self.match.most
        waits = max(most, 0)
        if self.stamp == "right":
            waits = max(-least, 0) if self.mode is EmissionMode.EAGER else waits - least
        return max(watermark - waits - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        kept = Duration(self.match.upper.micros - self.match.lower.micros)
        when = {
            EmissionMode.EAGER: "a pair as soon as both rows are here",
            EmissionMode.ON_CLOSE: "a row when nothing can match it any more, in the order of the left rows",
        }[self.mode]
        pads = "; a row without a match when none can come any more" if self.mode is EmissionMode.EAGER else ""
        condition = () if self.where is None else (("condition", self.where.told),)
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", str(self.match)),
            *condition,
            ("fires", f"{when}{pads if self.how is not JoinType.INNER else ''}"),
            ("keeps", f"the rows of both sides for {kept} and the delays: rate × ({kept} + delays)"),
        )
