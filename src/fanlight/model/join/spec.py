"""A join of two inputs, declared: what the specs of every kind of match have in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from fanlight.errors import SpecError
from fanlight.model.continuation import Continuation
from fanlight.model.join.sides import INPUT, KEY, TIME, JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several


class JoinSpec(StreamSpec):
    """The declaration of a join; each kind of match has a spec of its own.

    The records of both sides come with their time in the column `TIME`, their keys in columns `KEY…`, and the record
    itself as one struct, in a column called like its side; `Sided` prepares them so.

    >>> import fanlight as fl
    >>> orders, paid = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "p"))
    >>> isinstance(orders.join(paid, fl.same_time(), on="id").spec, fl.JoinSpec)
    True
    """

    __slots__ = ()

    left: Side
    right: Side
    how: JoinType
    where: Where | None
    """A condition over the joined columns that a pair must meet."""
    lateness: Duration
    """How far behind the watermark of its own input a record may be."""
    stamp: Literal["left", "right"] | None
    """Whose time is the time of a joined row; None if it has none."""
    goes_by_input: ClassVar[bool] = True
    """A record is judged by the watermark of its own input, and waits for that of the other."""

    def require_sides(self) -> None:
        """Refuse sides that cannot be told apart or compared, and watermarks that no join can go by."""
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
        if self.lateness.is_forever or self.lateness.micros < 0:
            raise SpecError(f"join: `lateness` ({self.lateness}) must be a duration from 0 up; rows are kept for it.")
        self._require_stamp()
        self._require_watermarks()

    def _require_stamp(self) -> None:
        if self.stamp not in ("left", "right", None):
            raise SpecError(f"stamped: {self.stamp!r} is no side. Use 'left' or 'right'.")
        for side, padded in (("left", self.how.pads_right), ("right", self.how.pads_left or self.how.of_left_only)):
            if self.stamp == side and padded:
                raise SpecError(
                    f"stamped: a row of this {self.how.value} join may have no {side} row, and so no time. Stamp it "
                    f"with the other side, or use another join."
                )

    def _require_watermarks(self) -> None:
        if not isinstance(self.watermark, Several):
            return
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
