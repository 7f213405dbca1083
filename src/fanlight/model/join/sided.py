"""A join of several inputs, declared: what a join has however many they are, and whatever makes their rows match."""

from __future__ import annotations

from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.continuation import OP
from fanlight.model.join.sides import COPY, INPUT, KEY, TIME, Side
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several


class SidedSpec(StreamSpec):
    """The declaration of a join, of two inputs or more.

    The records of all sides come with their time in the column `TIME`, their keys in columns `KEY…`, and the record
    itself as one struct, in a column called like its side; `Sided` prepares them so.
    """

    __slots__ = ()

    sides: tuple[Side, ...]
    """The sides in the order in which they are named; the time of the first decides what matches it."""
    lateness: Duration
    """How far behind the watermark of its own input a record may be."""
    goes_by_input: ClassVar[bool] = True
    """A record is judged by the watermark of its own input, and waits for that of the others."""

    @property
    def arriving(self) -> tuple[Side, ...]:
        """The sides in the order in which their records stand in a bundle: the first comes last, and finds all."""
        return (*self.sides[1:], self.sides[0])

    def require_inputs(self) -> None:
        """Refuse names that every join has, a lateness that nobody can wait for, watermarks that no join can go by."""
        for side in self.sides:
            if side.name in (TIME, INPUT, OP, COPY) or side.name.startswith(KEY):
                raise SpecError(
                    f"join: a side is called {side.name!r}, as a column that every join has. Give it another name, as "
                    "in stream(…, name='o')."
                )
        if self.lateness.is_forever or self.lateness.micros < 0:
            raise SpecError(f"join: `lateness` ({self.lateness}) must be a duration from 0 up; rows are kept for it.")
        self._require_watermarks()

    def _require_watermarks(self) -> None:
        if not isinstance(self.watermark, Several):
            return
        for name, strategy in self.watermark.inputs:
            if isinstance(strategy, BoundedDisorder) and strategy.per_record:
                raise SpecError(
                    f"join: the watermark of {name!r} follows every single record, and the records of a join are "
                    "judged by the bundle. Leave per_record out; bundles of one record are judged one by one."
                )
        names, needed = tuple(name for name, _ in self.watermark.inputs), [side.name for side in self.arriving]
        if names != (*needed,):
            raise SpecError(f"join: the watermarks are of {names}, not of {' and '.join(needed)}.")

    @property
    def time(self) -> str:  # type: ignore[override]
        """The column of times, of every side."""
        return TIME

    @property
    def unit(self) -> TimeUnit:  # type: ignore[override]
        """Times come as microseconds."""
        return TimeUnit.MICROSECONDS

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns of keys, of every side."""
        return tuple(f"{KEY}{number}" for number in range(len(self.sides[0].keys)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that must be there from the start; those of a side get their types with its records."""
        return (TIME,)
