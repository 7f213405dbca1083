"""Aggregating joins: for each left row an aggregate over its matches, and no pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side, Stamp
from fanlight.model.join.spec import JoinSpec
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.later import LATER
from fanlight.model.preparation import Where
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy

Aggregates = tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class AggregatedJoinSpec(SpreadJoinSpec):
    """The declaration of an aggregating join: two inputs, what matches, and what is computed of the matches.

    >>> import fanlight as fl
    >>> orders, bids = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "s"))
    >>> near = orders.join(bids, fl.interval("-10 s", "0 s"), on="id")
    >>> [name for name, _ in near.agg(high=fl.max("s.bid")).spec.aggregates]
    ['high']
    """

    left: Side
    right: Side
    match: Interval
    aggregates: Aggregates
    """By name: what is computed of the right rows that match."""
    how: JoinType = JoinType.INNER
    lateness: Duration = ZERO
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    where: Where | None = None
    mode: EmissionMode = EmissionMode.ON_CLOSE
    stamp: Stamp | None = "left"
    spread: Duration | None = field(default=None, metadata=LATER)

    @staticmethod
    def of(joined: JoinSpec, aggregates: Mapping[str, Aggregate]) -> AggregatedJoinSpec:
        """The same join with aggregates in the place of pairs."""
        if not isinstance(joined, IntervalJoinSpec):
            raise SpecError(
                "agg: only an interval join has several matches for each left row to aggregate. Say "
                "join(…, interval('-10 s', '0 s')).agg(…), or window(…) before agg(…)."
            )
        if joined.left.changes is not None or joined.right.changes is not None:
            raise SpecError(
                "agg: a side has changes, which may take back a row that was aggregated. Sort it first, which gives "
                "the rows that are left."
            )
        if joined.semantics != JoinSemantics():
            raise SpecError("agg: aggregates of matches go by the law alone. Leave semantics(…) out.")
        if joined.mode is EmissionMode.RETRACTING:
            raise SpecError("agg: aggregates of matches leave once, when they are complete. Leave retracting() out.")
        about = joined.how, joined.lateness, joined.watermark, joined.ahead, joined.where
        given = tuple(aggregates.items())
        spec = AggregatedJoinSpec(joined.left, joined.right, joined.match, given, *about)
        return replace(spec, spread=joined.spread)

    def __post_init__(self) -> None:
        if self.how not in (JoinType.INNER, JoinType.LEFT):
            raise SpecError(
                f"agg: each row is a left row and what was computed of its matches, so there is no {self.how.value} "
                "join with aggregates. Use left, or inner for left rows that have a match."
            )
        self.require_sides()
        self.require_least("aggregates")
        self.require_spread()
        if self.mode is not EmissionMode.ON_CLOSE:
            raise SpecError(
                f"agg: a match may come until a left row is complete, so its aggregates are not {self.mode.value}. "
                "Leave that out: rows leave on close."
            )
        if self.stamp != "left":
            raise SpecError("stamped: a row of aggregates has the time of its left row. Leave stamped(…) out.")
        if self.where is not None:
            raise SpecError(
                f"agg: a condition over both rows ({self.where.told}) would make every pair, and aggregates make none. "
                "Say where(…) on the right stream; or join without agg(…), which gives the pairs."
            )
        self._require_aggregates()

    def _require_aggregates(self) -> None:
        if not self.aggregates:
            raise SpecError("agg: nothing is computed. Say what, as in agg(high=max('s.bid')).")
        for name, aggregate in self.aggregates:
            given: object = aggregate
            if not isinstance(given, Aggregate):
                raise SpecError(f"agg: `{name}` ({given!r}) is no aggregate. Use one, as in {name}=max('s.bid').")
            if aggregate.needs_whole_records or aggregate.needs_complete_panes:
                raise SpecError(
                    f"agg: `{name}` is a function of all rows of a window, called once for it, and matches are "
                    "there for every row. Use another aggregate, or fold(…)."
                )
            for column in aggregate.columns:
                if column.startswith(f"{self.left.name}."):
                    raise SpecError(
                        f"agg: `{name}` reads {column!r}, a column of the left side, and aggregates are of the right "
                        f"rows that match. Read {self.right.name}.…; the left row's columns stand beside it."
                    )

    def right_column(self, written: str) -> str:
        """The column of the right side that an aggregate calls so: by its name, or after the name of its side."""
        return written.removeprefix(f"{self.right.name}.")

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row waits as long as a match may come."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return max(watermark - max(self.match.most, 0) - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        kept = Duration(self.match.upper.micros - self.match.lower.micros)
        given = ", ".join(f"{name} = {_worded(aggregate)}" for name, aggregate in self.aggregates)
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", str(self.match)),
            ("gives", f"{given} of the matches of each row; no pairs are made"),
            ("fires", "a row when nothing can match it any more, in the order of the left rows"),
            *self.spread_told,
            ("keeps", f"the rows of both sides for {kept} and the delays: rate × ({kept} + delays)"),
        )


def _worded(aggregate: Aggregate) -> str:
    return f"{type(aggregate).__name__.lower()}({', '.join(aggregate.columns)})"
