"""N-way joins: rows of several inputs that match one row of the first, all by one key, side by side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.continuation import Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import FARTHEST, Interval, IntervalJoinSpec
from fanlight.model.join.kept import kept_by_name
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.sides import TABLE_TIME, JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Combine, Explicit, Several, WatermarkStrategy


@dataclass(frozen=True, slots=True)
class NWayJoinSpec(SidedSpec):
    """The declaration of an n-way join: its inputs, what of each matches a row of the first, and when rows leave.

    >>> import fanlight as fl
    >>> o, p, s = (fl.stream([], time="ts", unit="s").key_by("id") for _ in range(3))
    >>> [side.name for side in fl.join(o=o, p=p, s=s, match=fl.interval("0 s", "1 h")).spec.sides]
    ['o', 'p', 's']
    """

    sides: tuple[Side, ...]
    """The inputs in the order in which they are named. The first is the lead: rows of the others match rows of it."""
    matches: tuple[Interval, ...]
    """What matches a row of the lead, of each other input: how far its time may be from that of the lead."""
    wheres: tuple[Where | None, ...]
    """Of each other input, a condition over the columns of the lead and its own that a match must meet."""
    where: Where | None = None
    """A condition over the joined columns that a combination must meet; of an inner join."""
    how: JoinType = JoinType.INNER
    mode: EmissionMode = EmissionMode.EAGER
    lateness: Duration = ZERO
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

    def __post_init__(self) -> None:
        self._require_names()
        for side in self.sides:
            self._require_keys(side)
            if side.changes is not None:
                raise SpecError(
                    f"join: {side.name!r} has changes (`{side.changes.op}`), which may take back a row that was "
                    "joined. Sort it first, which gives the rows that are left; or join two by two, as in "
                    "orders.join(…).retracting(), which takes joined rows back."
                )
        if len(self.matches) != len(self.others) or len(self.wheres) != len(self.others):
            raise SpecError(
                f"join: {len(self.others)} inputs match the first, and there are {len(self.matches)} intervals and "
                f"{len(self.wheres)} conditions. Give one of each, or None, to every input but the first."
            )
        for match in self.matches:
            match.within(None)
        if self.how not in (JoinType.INNER, JoinType.LEFT):
            raise SpecError(
                f"join: several inputs at once are joined with how='inner' or 'left', not {self.how.value!r}. Use one "
                f"of these, or join two by two, as in orders.join(payments, …, how={self.how.value!r})."
            )
        if self.where is not None and self.pads:
            raise SpecError(
                "join: a condition over all inputs does not say which of them has no match where it is false. Say it "
                f"of one input, as in where={{{self.others[0].name!r}: …}}, or join with how='inner'."
            )
        if self.mode is EmissionMode.RETRACTING:
            raise SpecError(
                "join: what several inputs give at once is not kept up to date. Use eager() or on_close(), or join two "
                "by two, as in orders.join(payments, …).retracting()."
            )
        if isinstance(self.watermark, Several) and self.watermark.combine is Combine.MAX:
            raise SpecError(
                "join: a combination waits until all inputs have come far enough, so the least of their watermarks "
                "counts. Leave combine='greatest' out."
            )
        self.require_inputs()

    def _require_names(self) -> None:
        names = [side.name for side in self.sides]
        if len(names) < 2:
            raise SpecError("join: needs at least two inputs, each with a name, as in join(o=…, p=…, match=…).")
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"join: two inputs are called {name!r}. Give each a name of its own.")

    def _require_keys(self, side: Side) -> None:
        if len(side.keys) != len(self.lead.keys):
            raise SpecError(
                f"join: {self.lead.name!r} has {len(self.lead.keys)} keys and {side.name!r} has {len(side.keys)}, and "
                "they are compared one by one. Say key_by(…) on all with as many columns, or on='id'."
            )

    @property
    def lead(self) -> Side:
        """The first input, whose rows all others match."""
        return self.sides[0]

    @property
    def others(self) -> tuple[Side, ...]:
        """The inputs that match the lead."""
        return self.sides[1:]

    @property
    def pads(self) -> bool:
        """Whether a row of the lead leaves without a match too, with nulls in its place."""
        return self.how is JoinType.LEFT

    @property
    def pairs(self) -> tuple[IntervalJoinSpec, ...]:
        """For each other input, the join of the lead with it alone: what makes a match."""
        each = zip(self.others, self.matches, self.wheres, strict=True)
        return tuple(
            IntervalJoinSpec(self.lead, other, match, where=where, lateness=self.lateness)
            for other, match, where in each
        )

    @property
    def reach(self) -> int:
        """How far behind its latest match a row of the lead may be."""
        return max(0, *(match.most for match in self.matches))

    def name_of(self, side: Side, column: str, taken: Collection[str]) -> str:
        """How a column of an input is called in a joined row; `taken` are the names of those before it."""
        return f"{column}_{side.name}" if column in taken else column

    def unshown_of(self, side: Side) -> tuple[str, ...]:
        """The columns of another input than the lead that a joined row does not have: its keys, which stand once."""
        return (*side.keys, TABLE_TIME)

    @property
    def continuation(self) -> Continuation:
        """The result as a stream: its time is that of the lead."""
        return Continuation(self.lead.time, self.lead.unit)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row of the lead waits as long as a match of it may come."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return max(watermark - self.reach - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        matches = zip(self.others, self.matches, strict=True)
        wheres = [
            ("condition", f"{other.name}: {where.told}")
            for other, where in zip(self.others, self.wheres, strict=True)
            if where is not None
        ]
        lead, others = self.lead.name, " and ".join(side.name for side in self.others)
        wheres += [] if self.where is None else [("condition", self.where.told)]
        on_close = f"when a row of {lead} is complete, in the order of {lead}"
        eager = "a combination as soon as all its rows are here"
        pads = "; nulls as soon as no match can come any more" if self.pads else ""
        return (
            ("joins", f"{lead} with {others}, {self.how.value}"),
            ("matches", "; ".join(match.told(self.lead.name, other.name) for other, match in matches)),
            *wheres,
            ("fires", on_close if self.mode is EmissionMode.ON_CLOSE else f"{eager}{pads}"),
            ("keeps", self._keeps),
        )

    @property
    def _keeps(self) -> str:
        if any(match.upper.micros - match.lower.micros >= FARTHEST.micros for match in self.matches):
            return "rows until the input ends: what is kept grows with the stream"
        return f"{kept_by_name(self, self._lengths)}; nothing between the inputs"

    def _lengths(self, delays: tuple[int, ...]) -> list[int]:
        """How long behind the newest time rows of each input are kept; inputs are so far behind."""
        own, *behind = delays
        waits = [match.upper.micros + delay for match, delay in zip(self.matches, behind, strict=True)]
        if self.mode is EmissionMode.ON_CLOSE:
            return [max(own, *waits), *(max(own, *waits) - match.lower.micros for match in self.matches)]
        found = [max(waits)]
        for place, match in enumerate(self.matches):
            for_others = waits if self.pads else [*waits[:place], *waits[place + 1 :]]
            found.append(max([own, *for_others]) - match.lower.micros)
        return found
