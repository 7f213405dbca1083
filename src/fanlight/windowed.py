"""The words of windows: when they fire, what a firing carries, then `agg`; or grouped again inside their windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Self, cast

from fanlight.display.page import plan_page
from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.aggregates import list as gathered
from fanlight.model.aggregates.ranked import TopBy, TopRows, top_order
from fanlight.model.continuation import OP, RECORD, ROW, WINDOW_END, WINDOW_START
from fanlight.model.enum_word import choice
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.given import checked, checked_columns
from fanlight.model.over.frame import Frame
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import to_document, words
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.top import ROWS, TopSpec
from fanlight.model.triggers import AtExpiry, AtWatermark, Trigger
from fanlight.model.windows.kind import WindowKind
from fanlight.over import Order, order_of
from fanlight.windowed_over import UP_TO_THE_ROW, PartitionRows

if TYPE_CHECKING:
    from fanlight.result import Result
    from fanlight.row_result import RowResult
    from fanlight.stream import Stream

_AFTERWARDS = (
    *("table", "df", "write_to", "dead_letters", "on_dead_letters", "accounting", "accounts", "explain", "operator"),
    *("rewindow", "fill", "spec"),
)
"""What only a complete pipeline has."""


@dataclass(frozen=True, slots=True, repr=False)
class Windowed:
    """A windowed stream: say when it fires and what a firing carries, then `agg`.

    >>> import fanlight as fl
    >>> windows = fl.stream([{"ts": 1}, {"ts": 2}], time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(n=fl.count()).table()["n"].to_pylist()
    [2]
    """

    stream: Stream
    kind: WindowKind
    lateness: Duration
    retention: Retention | None
    firing: Trigger = AtWatermark()
    updated_only: bool = False
    accumulation: Accumulation = Accumulation.ACCUMULATING
    rules: Semantics = Semantics()
    stamp: FiringTime = FiringTime.END

    def trigger(self, trigger: Trigger, *, updated_only: bool = False) -> Self:
        """When panes fire. `updated_only` holds back firings whose values did not change.

        >>> import fanlight as fl
        >>> minutes = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> operator = minutes.trigger(fl.at_watermark(early=fl.after(2))).agg(n=fl.count()).operator()
        >>> operator.add([{"ts": 5}, {"ts": 42}])
        >>> [(row["pane"]["timing"], row["n"]) for row in operator.take().to_pylist()]
        [('EARLY', 2)]
        """
        if not isinstance(trigger, Trigger):
            raise SpecError(
                f"trigger: {trigger!r} is no trigger. Use one, as in trigger(at_watermark(early=after(1)))."
            )
        return replace(self, firing=trigger, updated_only=updated_only)

    def discarding(self) -> Self:
        """A firing carries what came since the last one.

        >>> import fanlight as fl
        >>> clicks = [{"ts": ts} for ts in (5, 42, 70, 50)]  # the last one is late
        >>> stream = fl.stream(clicks, time="ts", unit="s", delay="0 s", rows=1)
        >>> minutes = stream.window(fl.tumbling("1 min"), lateness="1 h")
        >>> minutes.discarding().agg(n=fl.count()).table().column("n").to_pylist()
        [2, 1, 1]
        """
        return replace(self, accumulation=Accumulation.DISCARDING)

    def accumulating(self) -> Self:
        """A firing carries all so far; so it is unless you say otherwise.

        >>> import fanlight as fl
        >>> clicks = [{"ts": ts} for ts in (5, 42, 70, 50)]  # the last one is late
        >>> stream = fl.stream(clicks, time="ts", unit="s", delay="0 s", rows=1)
        >>> minutes = stream.window(fl.tumbling("1 min"), lateness="1 h")
        >>> minutes.accumulating().agg(n=fl.count()).table().column("n").to_pylist()
        [2, 3, 1]
        """
        return replace(self, accumulation=Accumulation.ACCUMULATING)

    def retracting(self) -> Self:
        """A firing carries all so far, after the one before has been taken back.

        >>> import fanlight as fl
        >>> clicks = [{"ts": ts} for ts in (5, 42, 70, 50)]  # the last one is late
        >>> stream = fl.stream(clicks, time="ts", unit="s", delay="0 s", rows=1)
        >>> minutes = stream.window(fl.tumbling("1 min"), lateness="1 h")
        >>> rows = minutes.retracting().agg(n=fl.count()).table().to_pylist()
        >>> [(row["pane"]["op"], row["n"]) for row in rows]
        [('+I', 2), ('-U', 2), ('+U', 3), ('+I', 1)]
        """
        return replace(self, accumulation=Accumulation.RETRACTING)

    def semantics(self, rules: Semantics | str) -> Self:
        """Answer the questions peers disagree on as one of them does: 'beam', 'flink', 'kafka' and so on.

        >>> import fanlight as fl
        >>> minutes = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> minutes.semantics("beam").agg(n=fl.count()).spec.semantics == fl.Semantics.named("beam")
        True
        """
        return replace(self, rules=Semantics.named(rules) if isinstance(rules, str) else rules)

    def closing(self, *, on_time: OnTime | str | None = None, last: Closing | str | None = None) -> Self:
        """Whether an on-time firing and a last firing leave with nothing new in them.

        >>> import fanlight as fl
        >>> minutes = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> told = minutes.trigger(fl.at_watermark(early=fl.after(1))).closing(on_time="always")
        >>> operator = told.agg(n=fl.count()).operator()
        >>> operator.add([{"ts": 5}])
        >>> operator.advance(watermark=60_000_000)
        >>> [(row["pane"]["timing"], row["n"]) for row in operator.take().to_pylist()]
        [('EARLY', 1), ('ON_TIME', 1)]
        """
        rules = self.rules
        if on_time is not None:
            rules = replace(rules, on_time=choice(OnTime, on_time, "on_time"))
        if last is not None:
            rules = replace(rules, closing=choice(Closing, last, "last"))
        return replace(self, rules=rules)

    def stamped(self, time: FiringTime | str) -> Self:
        """Which event time a firing carries: the window's end, or its earliest or latest record.

        >>> import fanlight as fl
        >>> minutes = fl.stream([{"ts": 5}, {"ts": 42}], time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> rows = minutes.stamped("latest").agg(n=fl.count()).sort()
        >>> [f"{time:%H:%M:%S}" for time in rows.table().column("window_time").to_pylist()]
        ['00:00:42']
        """
        return replace(self, stamp=choice(FiringTime, time, "stamped"))

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each pane; the pipeline is complete.

        >>> import fanlight as fl
        >>> sales = [{"ts": 5, "price": 3}, {"ts": 42, "price": 4}, {"ts": 61, "price": 1}]
        >>> minutes = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> minutes.agg(n=fl.count(), sold=fl.sum("price")).table().select(["n", "sold"]).to_pylist()
        [{'n': 2, 'sold': 7}, {'n': 1, 'sold': 1}]
        """
        spec = self._spec(self.stream, aggregates)
        stream = self.stream if self.stream.changes is None else self.stream.settled(spec)
        if any(aggregate.needs_whole_records for _, aggregate in spec.aggregates):
            read = [name for name in self._spec(stream, aggregates).columns if name != RECORD]
            stream = stream.as_whole_rows(*read, name=RECORD, kind=self.kind)
        return cast("Result", stream.complete(spec if stream is self.stream else self._spec(stream, aggregates)))

    def top(self, n: int, *, by: TopBy) -> RowResult[TopSpec]:
        """Of each key and window the `n` rows that are greatest in the columns `by`; the pipeline is complete.

        `asc("price")` puts the least first. Rows that are equal in `by` are in ascending order of their other columns.
        A row has the columns of its record, `window_start`, `window_end` and its `rank`, from 1. Where windows fire
        more than once, `op` says what a row does to the one that had its rank before.

        >>> import fanlight as fl
        >>> sales = [{"ts": 1, "price": 4}, {"ts": 2, "price": 9}, {"ts": 3, "price": 7}]
        >>> dearest = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 minute")).top(2, by="price")
        >>> dearest.table().select(["ts", "price", "rank"]).to_pylist()
        [{'ts': 2, 'price': 9, 'rank': 1}, {'ts': 3, 'price': 7, 'rank': 2}]
        """
        found = {ROWS: TopRows(self._whole, n, top_order(by))}
        for name in self.stream.keys:
            if name in (self._whole, ROWS, WINDOW_START, WINDOW_END, OP):
                raise SpecError(
                    f"top: the key {name!r} is called like a column that windows have here. Give it another name "
                    f"first, as in select(…, other={name!r}).key_by('other')."
                )
        said = self._spec(self.stream, found)
        if not (said.replaces or said.fires_once):
            raise SpecError(
                "top: `discarding` forgets what a firing had, and with it which rows are the first of the whole "
                "window. Say accumulating() or retracting(): a row then leaves once, and again where its rank changes."
            )
        # what has left must be known, so that it can be taken back
        windowed, stream = self.retracting() if said.replaces else self, self.stream
        if stream.changes is not None:
            stream = stream.settled(windowed._spec(stream, found))  # noqa: SLF001 -- its own class
        stream = self._in_whole_rows(stream)
        spec = windowed._spec(stream, found)  # noqa: SLF001 -- its own class
        return stream.complete(spec).complete(TopSpec(spec, spec.keys), Intake(Preparation(), WINDOW_START))

    @property
    def _whole(self) -> str:
        """The column that has the whole record."""
        return RECORD

    def _in_whole_rows(self, stream: Stream) -> Stream:
        """The stream with that column."""
        return stream.as_whole_rows(name=self._whole, kind=self.kind)

    def over(self, frame: Frame | None = None, *, order: Order = ()) -> PartitionRows:
        """Look at the records of each key and window, when the window has expired; then say what to `add`.

        Each record comes back with its window, once for each of its windows. `order` orders them by any columns;
        without, by time. Without a frame it is SQL's: from the first row to the row and its peers, those equal in the
        order.

        >>> import fanlight as fl
        >>> races = [{"ts": 1, "who": "Ada", "points": 7}, {"ts": 5, "who": "Eve", "points": 9}]
        >>> minutes = fl.stream(races, time="ts", unit="s").window(fl.tumbling("1 min"))
        >>> places = minutes.over(order=fl.desc("points")).add(place=fl.row_number(), share=fl.cume_dist())
        >>> places.table().select(["who", "place", "share"]).to_pylist()
        [{'who': 'Eve', 'place': 1, 'share': 0.5}, {'who': 'Ada', 'place': 2, 'share': 1.0}]
        """
        for told in self._refusals_of_over():
            raise SpecError(told)
        rows = "rows"
        while rows in self.stream.keys:
            rows += "_"
        once = replace(
            self,
            stream=self.stream.as_whole_rows(name=RECORD, kind=self.kind),
            firing=AtExpiry(),
            rules=replace(self.rules, closing=Closing.IF_NEW),
        )
        result = once.agg(**{rows: gathered(RECORD, by_arrival=True)})
        said = self.stream.time, self.stream.unit, UP_TO_THE_ROW if frame is None else frame
        return PartitionRows(result, rows, *said, order_of(order))

    def _refusals_of_over(self) -> Iterator[str]:
        """Why these windows cannot be looked over, with remedies; empty if they can."""
        if self.stream.changes is not None:
            yield (
                f"over: this stream has changes (`{self.stream.changes.op}`), which may take back a row. Sort it "
                "first, which gives the rows that are left, as in sort().key_by(…).window(…).over(…)."
            )
        if self.firing not in (AtWatermark(), AtExpiry()) or self.updated_only:
            yield (
                "over: a row leaves once, when its window has expired, so a trigger means nothing here. Leave it out, "
                "or use a shorter lateness."
            )
        if self.accumulation is not Accumulation.ACCUMULATING:
            yield (
                f"over: a row leaves once, when its window has expired, so `{self.accumulation.value}` means nothing "
                "here. Leave it out."
            )
        if self.stamp is not FiringTime.END:
            yield "over: each row has the time that it had, so `stamped` means nothing here. Leave it out."
        if self.retention is not None:
            yield "over: rows that have left are no windows to read, so `retention` means nothing here. Leave it out."

    def _spec(self, stream: Stream, aggregates: Mapping[str, Aggregate]) -> WindowSpec:
        """The declaration over these records."""
        return WindowSpec(
            time=stream.time,
            window=self.kind,
            aggregates=checked(aggregates),
            keys=stream.keys,
            trigger=self.firing,
            accumulation=self.accumulation,
            updated_only=self.updated_only,
            lateness=self.lateness,
            retention=self.retention,
            watermark=stream.watermark,
            semantics=self.rules,
            firing_time=self.stamp,
            unit=stream.unit,
            tick=stream.tick,
            ahead=stream.ahead if self.kind.domain is TimeDomain.EVENT else None,
            changes=stream.changes,
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the stream and its windows, never the data."""
        return plan_page("fanlight windowed stream", repr(self), "Say agg(…) to complete it.")

    def __repr__(self) -> str:
        """The stream and its windows, never the data."""
        return f"{repr(self.stream)[:-1]}, windows {words(to_document(self.kind))}: say agg(…) to complete it>"

    if not TYPE_CHECKING:  # a checker knows what is missing, and says it before it runs

        def __getattr__(self, name: str) -> NoReturn:
            """Called for what a windowed stream does not have: what comes before `window` or after `agg` is told so."""
            if name in ("sort", "unique_by", "recent", "apply"):
                told = f": say {name}(…) in the place of window(…) and agg(…), as in stream.{name}(…)"
            elif hasattr(type(self.stream), name):
                told = f": say {name}(…) before window(…)"
            else:
                told = f": say agg(…) first, as in agg(n=count()).{name}" if name in _AFTERWARDS else ""
            raise AttributeError(f"A windowed stream has no {name!r}{told}.")


@dataclass(frozen=True, slots=True, repr=False)
class Rewindowed(Windowed):
    """Results to be grouped again inside their windows: say by what, then `agg`."""

    def key_by(self, *columns: str) -> Self:
        """Group by these columns of the result; without, each window is one group."""
        return replace(self, stream=replace(self.stream, keys=checked_columns("key_by", columns)))

    @property
    def _whole(self) -> str:
        """The column that has the whole result."""
        return ROW

    def _in_whole_rows(self, stream: Stream) -> Stream:
        """It has one already."""
        return stream

    def _refusals_of_over(self) -> Iterator[str]:
        """The records of these windows are results, which know their window already."""
        yield (
            "over: results that are grouped again cannot be looked over. They are a stream: window them anew, as in "
            "window(tumbling('1 minute')).over(…)."
        )

    def __repr__(self) -> str:
        """What is grouped again, and by what."""
        by = ", ".join(self.stream.keys) or "window alone"
        return f"{self.stream.origin!r}\nto be grouped again by {by}: say agg(…)"
