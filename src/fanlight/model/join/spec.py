"""A join of two inputs, declared: what the specs of every kind of match have in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP, Continuation
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.sides import BOTH, JOINED_TIME, TABLE_TIME, JoinType, Side, Stamp
from fanlight.model.preparation import Where
from fanlight.model.time.watermarks import Combine, Several


class JoinSpec(SidedSpec):
    """The declaration of a join of two inputs; each kind of match has a spec of its own.

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
    stamp: Stamp | None
    """Whose time is the time of a joined row; None if it has none."""
    stamps: ClassVar[tuple[Stamp, ...]] = ("left", "right")
    """What its rows can be stamped with."""
    takes_changes: ClassVar[bool] = False
    """Whether its sides may have changes."""

    @property
    def sides(self) -> tuple[Side, ...]:  # type: ignore[override]
        """The left side and the right one."""
        return self.left, self.right

    def require_sides(self) -> None:
        """Refuse sides that cannot be told apart or compared, and watermarks that no join can go by."""
        if self.left.name == self.right.name:
            raise SpecError(
                f"join: both sides are called {self.left.name!r}, so nobody could tell their columns apart. Give one "
                "another name, as in stream(…, name='o')."
            )
        if len(self.left.keys) != len(self.right.keys):
            raise SpecError(
                f"join: the left side has {len(self.left.keys)} keys and the right side {len(self.right.keys)}, and "
                "they are compared one by one. Say key_by(…) on both with as many columns, or on='id'."
            )
        self.require_inputs()
        self._require_stamp()
        for side in (self.left, self.right):
            if side.changes is not None:
                self._require_takable(side, side.changes)

    def _require_takable(self, side: Side, changes: Changes) -> None:
        if not self.takes_changes:
            raise SpecError(
                f"join: {side.name!r} has changes (`{changes.op}`), which may take back a row that was joined. Sort it "
                "first, which gives the rows that are left."
            )
        if not changes.consistent:
            raise SpecError(
                f"join: the changes of {side.name!r} (`{changes.op}`) may delete rows that never came, or replace rows "
                "that were not deleted. Normalize them first (`NormalizeSpec`), as stream.join(…) does."
            )
        self._require_op_apart(side, changes)

    def _require_op_apart(self, side: Side, changes: Changes) -> None:
        if changes.op in (side.time, *side.keys):
            raise SpecError(
                f"join: {changes.op!r} of {side.name!r} is the column of operations, which says what a record does and "
                "is no part of its row. Use another column as time or key."
            )

    def require_least(self, what: str) -> None:
        """Refuse that both sides go by the greatest of their watermarks, where rows wait for both."""
        if isinstance(self.watermark, Several) and self.watermark.combine is Combine.MAX:
            raise SpecError(
                f"join: a row of {what} leaves when both sides have come far enough, so the least of their watermarks "
                "counts. Leave combine='greatest' out."
            )

    def _require_stamp(self) -> None:
        if self.stamp is not None and self.stamp not in self.stamps:
            *others, last = map(repr, self.stamps)
            raise SpecError(f"stamped: {self.stamp!r} is no time of these rows. Use {', '.join(others)} or {last}.")
        if self.stamp in BOTH and self.how.of_left_only:
            raise SpecError(
                f"stamped: a row of this {self.how.value} join has no right row, so {self.stamp!r} would be the time "
                "of its left row. Use 'left'."
            )
        for side, padded in (("left", self.how.pads_right), ("right", self.how.pads_left or self.how.of_left_only)):
            if self.stamp == side and padded:
                raise SpecError(
                    f"stamped: a row of this {self.how.value} join may have no {side} row, and so no time. Stamp it "
                    f"with the other side{self._or_both}, or use another join."
                )

    @property
    def _or_both(self) -> str:
        return ", with 'least' or 'greatest' of those it has" if "least" in self.stamps else ""

    @property
    def changes(self) -> Changes | None:
        """How records change earlier ones, of either side; every delete has its row. None: no record does."""
        said = self.left.changes is not None or self.right.changes is not None
        return Changes(OP, consistent=True) if said else None

    @property
    def op(self) -> str | None:
        """The column of the result that says what a row does. None: every row stays."""
        return None

    @property
    def continuation(self) -> Continuation:
        """The result as a stream: its time is that of one side, or one of both."""
        if self.stamp is None:
            raise SpecError(
                "join: a row of a full join may have no left row or no right one, so neither side's time is the time "
                f"of all rows, and nothing can follow it by time. Use a left or a right join{self._stamp_remedy}."
            )
        told = None if self.op is None else Changes(self.op, consistent=True)
        if self.stamp in BOTH:
            return Continuation(JOINED_TIME, changes=told)
        if self.stamp == "left":
            return Continuation(self.left.time, self.left.unit, changes=told)
        return Continuation(self.right_name(self.right.time, (self.left.time,)), self.right.unit, changes=told)

    @property
    def _stamp_remedy(self) -> str:
        return ", or stamped('least')" if "least" in self.stamps else ""

    @property
    def unshown(self) -> tuple[str, ...]:
        """The columns of the right side that a joined row does not have: its keys, which stand once."""
        return (*self.right.keys, TABLE_TIME)

    def right_name(self, column: str, taken: Collection[str]) -> str:
        """How a column of the right side is called in a joined row; `taken` are the names of the left side."""
        return f"{column}_{self.right.name}" if column in taken else column
