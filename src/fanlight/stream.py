"""The words a pipeline is written in: `stream(…).key_by(…).window(…).trigger(…).agg(…)`, or `stream(…).sort()`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeVar, cast

from fanlight.advice import require_clock
from fanlight.display.page import plain_plan, plan_page
from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.enum_word import choice
from fanlight.model.given import checked_columns
from fanlight.model.join.as_of import AsOf
from fanlight.model.join.frames import Frames
from fanlight.model.join.interval import Interval
from fanlight.model.join.version import Version
from fanlight.model.join.window import SameWindow
from fanlight.model.join.words import words_taken
from fanlight.model.over.frame import Frame
from fanlight.model.preparation import Intake, Preparation, WholeRow, select_of, text_of, where_of
from fanlight.model.recent import RecentSpec
from fanlight.model.retention import Retention
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import TimestampLike
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import WatermarkStrategy
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.model.windows.kind import WindowKind
from fanlight.over import Forget, Order, OverRows
from fanlight.whole_rows import normalized, of_whole_rows
from fanlight.windowed import Windowed

if TYPE_CHECKING:
    from fanlight.joins.result import JoinResult
    from fanlight.row_result import RowResult

Spec_ = TypeVar("Spec_", bound=StreamSpec)
"""What a pipeline was declared as."""


class Origin(Protocol):
    """Where the records of a stream come from: a source, or the stage before."""

    def complete(self, spec: StreamSpec, intake: Intake) -> RowResult[Any]:
        """The pipeline of `spec` over these records, after what `intake` does to them."""

    @property
    def is_on_spark(self) -> bool:
        """Whether they are on Spark."""

    @property
    def has_clock(self) -> bool:
        """Whether they come with a clock, or by hand from somebody who has one."""

    @property
    def is_at_hand(self) -> bool:
        """Whether they can be read unasked: they are here, few, and here again the next time."""

    @property
    def told_inputs(self) -> Sequence[tuple[str, str | None]]:
        """Its inputs for a picture of the plan: each with its name, and what it is; None if that is results."""


@singledispatch
def joined(match: Any, left: Stream, right: Stream, **said: Any) -> RowResult[Any]:  # noqa: ARG001 -- for those that know
    """The join of two streams by a kind of match, which registers here how it is joined."""
    raise SpecError(f"join: {match!r} says nothing of when rows match. Use a match, as in interval('0 s', '5 min').")


class StreamWords(ABC):
    """The words that can follow a stream. A result is a stream again, so they can follow a result too."""

    __slots__ = ()

    @abstractmethod
    def as_stream(self) -> Stream:
        """This as a stream."""

    def key_by(self, *columns: str) -> Stream:
        """Group by these columns; null is a group of its own.

        >>> import fanlight as fl
        >>> sales = fl.stream([{"ts": 1, "shop": "a"}, {"ts": 2, "shop": "b"}], time="ts", unit="s").key_by("shop")
        >>> sales.window(fl.tumbling("1 min")).agg(n=fl.count()).table()["shop"].to_pylist()
        ['a', 'b']
        """
        if not columns:
            raise SpecError("key_by: needs at least one column. Leave key_by out for one group.")
        return replace(self.as_stream(), keys=checked_columns("key_by", columns))

    def where(self, condition: Any) -> Stream:
        """Keep the records for which the condition is true; the others are counted as `filtered`.

        Conditions are expressions of `pyarrow.compute`. Null leaves a record out, as in SQL. A record that is left out
        still moves the watermark.

        >>> import fanlight as fl
        >>> sales = [{"ts": 1, "price": 3}, {"ts": 2, "price": -1}, {"ts": 3, "price": 4}]
        >>> paid = fl.stream(sales, time="ts", unit="s").where(fl.col("price") > 0).window(fl.tumbling("1 min"))
        >>> paid.agg(n=fl.count()).table().column("n").to_pylist()
        [2]
        """
        stream = self.as_stream()
        return replace(stream, preparation=stream.preparation.then(where_of(condition)))

    def select(self, *columns: str, **computed: Any) -> Stream:
        """Keep these columns, and add computed or renamed ones; the column of times must be among them.

        >>> import fanlight as fl
        >>> sales = [{"ts": 1, "price": 3, "pieces": 2}, {"ts": 2, "price": 5, "pieces": 1}]
        >>> costs = fl.stream(sales, time="ts", unit="s").select("ts", cost=fl.col("price") * fl.col("pieces"))
        >>> costs.sort().table().to_pylist()
        [{'ts': 1, 'cost': 6}, {'ts': 2, 'cost': 5}]
        """
        stream, step = self.as_stream(), select_of(*columns, **computed)
        time = next((name for name, source in step.columns if text_of(source) == stream.time), None)
        if time is None:
            raise SpecError(
                f"select: the column of times, {stream.time!r}, is left out, and every stage goes by it. "
                f"Name it too, as in select({stream.time!r}, …)."
            )
        for column in [] if stream.changes is None else [stream.changes.op, *stream.changes.unique]:
            if column not in dict(step.columns):
                raise SpecError(
                    f"select: {column!r} is left out, which says what a record changes. Name it too, by its own name."
                )
        first = stream.first_time or stream.time
        return replace(stream, preparation=stream.preparation.then(step), time=time, first_time=first)

    def window(
        self, kind: WindowKind, *, lateness: DurationLike | None = None, retention: Retention | None = None
    ) -> Windowed:
        """Cut the stream into windows that stay correctable for `lateness` after they close.

        Without it they are final when they close; over the results of a stage that corrects its own, they stay
        correctable as long as those are.

        >>> import fanlight as fl
        >>> sales = [{"ts": ts, "shop": shop} for ts, shop in enumerate("abbcbca")]
        >>> minutes = fl.stream(sales, time="ts", unit="s").key_by("shop").window(fl.tumbling("2 s")).agg(n=fl.count())
        >>> busiest = minutes.window(fl.tumbling("4 s")).agg(most=fl.max("n"), rows=fl.count())
        >>> busiest.table().select(["most", "rows"]).to_pylist()
        [{'most': 1, 'rows': 4}, {'most': 1, 'rows': 3}]
        """
        if not isinstance(kind, WindowKind):
            raise SpecError(f"window: {kind!r} is no kind of window. Use one, as in window(tumbling('1 minute')).")
        stream = self.as_stream()
        corrected = stream.lateness if kind.domain is TimeDomain.EVENT else ZERO
        return Windowed(stream, kind, corrected if lateness is None else Duration.of(lateness), retention)

    def sort(self, *ties: str, order: Literal["shard", "total"] = "shard") -> RowResult[SortSpec]:
        """The rows in the order of their times, each as it came, when the watermark has passed it.

        Rows of one time are ordered by the columns `ties`, then as they came. With keys, the rows of a key are in
        order, and on Spark so are those of a shard; `order="total"` puts all rows in one shard and in one order. The
        pipeline is complete. A record that comes after the watermark is a dead letter: a longer `delay` waits longer.

        >>> import fanlight as fl
        >>> clicks = [{"ts": 5, "page": "b"}, {"ts": 3, "page": "a"}, {"ts": 5, "page": "a"}]
        >>> fl.stream(clicks, time="ts", unit="s").sort("page").table().to_pylist()
        [{'ts': 3, 'page': 'a'}, {'ts': 5, 'page': 'a'}, {'ts': 5, 'page': 'b'}]
        """
        if order not in ("shard", "total"):
            raise SpecError(
                f"sort: `order` ({order!r}) says how far the order goes. Use 'shard', or 'total' for all rows in one; "
                "columns that order rows of one time come first, as in sort('id', order='total')."
            )
        return self.apply(SortSpec, ties=checked_columns("sort", ties), total=order == "total")

    def unique_by(
        self, *columns: str, within: DurationLike, keep: Literal["first", "last"] = "first"
    ) -> RowResult[UniqueSpec]:
        """One row for records with the same values in these columns that are no further than `within` apart.

        The first to come leaves at once; with `keep="last"` the last by time leaves, when no other can come. The others
        are counted as duplicates. With keys, ids are per key. The pipeline is complete.

        >>> import fanlight as fl
        >>> paid = [{"ts": 1, "id": 7}, {"ts": 2, "id": 8}, {"ts": 5, "id": 7}, {"ts": 90, "id": 7}]
        >>> fl.stream(paid, time="ts", unit="s").unique_by("id", within="1 min").table().column("ts").to_pylist()
        [1, 2, 90]
        """
        stream, ids = self.as_stream(), checked_columns("unique_by", columns)
        if stream.changes is not None:
            raise SpecError(
                f"unique_by: this stream has changes (`{stream.changes.op}`), which may take back a row that has left. "
                "Sort it first, which gives the rows that are left, as in sort().unique_by(…)."
            )
        keyed = replace(stream, keys=stream.keys or ids)
        return keyed.apply(UniqueSpec, ids=ids, within=Duration.of(within), keep=choice(Keep, keep, "keep"))

    def recent(self, within: DurationLike) -> RowResult[RecentSpec]:
        """The rows of the last `within` before the watermark: each leaves as it comes, and is taken back when older.

        The column `op` says which: `+I` comes, `-D` is taken back. When the input ends nothing more is taken back, so
        the rows that are left are those of the last `within`. The pipeline is complete.

        >>> import fanlight as fl
        >>> clicks = [{"ts": 1, "page": "a"}, {"ts": 30, "page": "b"}, {"ts": 70, "page": "a"}]
        >>> last = fl.stream(clicks, time="ts", unit="s", rows=1, delay="0 s").recent("1 min")
        >>> [(row["op"], row["ts"]) for row in last.table().to_pylist()]
        [('+I', 1), ('+I', 30), ('+I', 70), ('-D', 1)]
        """
        stream, duration = self.as_stream(), Duration.of(within)
        if stream.changes is not None:
            stream = replace(stream.in_full(duration), keys=stream.keys or stream.changes.unique)
        return stream.apply(RecentSpec, within=duration)

    def over(self, frame: Frame, *, order: Order = (), forget: Forget = None, by: Order = ()) -> OverRows:
        """Look at the rows of its key around each row, those of `frame`; then say what to `add`.

        Rows of one time are ordered by the columns `order`. `forget` says how long after its newest row a key is
        remembered; only frames over time need none. `by` orders rows by columns in the place of their time, where they
        are corrected (`retracting`). After `add`, another `over` shares the pass.

        >>> import fanlight as fl
        >>> paid = fl.stream([{"ts": 1, "price": 4}, {"ts": 2, "price": 9}], time="ts", unit="s")
        >>> paid.over(fl.rows(1), forget="1 h").add(before=fl.lag("price")).table().column("before").to_pylist()
        [None, 4]
        """
        earlier: OverRows | None = getattr(self, "over_rows", None)
        return (
            OverRows.of(self.as_stream(), frame, order, forget, by)
            if earlier is None
            else earlier.also(frame, order, forget, by)
        )

    def join(
        self,
        right: StreamWords,
        match: Interval | AsOf | SameWindow | Version | Frames | None = None,
        *,
        how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner",
        on: str | tuple[str, ...] | None = None,
        where: Any = None,
        lateness: DurationLike | None = None,
        idle: DurationLike | None = None,
        combine: Literal["least", "greatest"] = "least",
        retention: Retention | None = None,
        spread: DurationLike | None = None,
        ready: TimestampLike | None = None,
    ) -> JoinResult:
        """Join this stream, the left one, with another: rows with equal keys whose times `match`.

        The keys are those of `key_by` on both sides, one by one, or the columns `on` of both; without any, times alone
        count. `where` is a condition over the joined columns; `s.price` is the column of the side called `s`. Pairs
        of an inner join leave as soon as both rows are here; all other joins leave on close. A side that has brought
        nothing for `idle` of the clock holds the other back no longer. With `combine="greatest"` both sides go by the
        greatest of their watermarks. Of an interval without an end, of `as_of` without a tolerance, of windows that
        count and of `frames`, `retention` says how long rows are kept. A table without a time needs no match. Of
        `version` and `as_of`, `ready` is a time: no row leaves before the right side has reached it. On Spark, `spread`
        sends the rows of one key to several shards, by their times in spans as wide as it says.

        >>> import fanlight as fl
        >>> orders = fl.stream([{"ts": 1, "id": 7, "price": 3}], time="ts", unit="s", name="o")
        >>> paid = fl.stream([{"ts": 40, "id": 7}, {"ts": 90, "id": 7}], time="ts", unit="s", name="p")
        >>> orders.join(paid, fl.interval("0 s", "1 min"), on="id").table().to_pylist()
        [{'ts': 1, 'id': 7, 'price': 3, 'ts_p': 40}]
        """
        if not isinstance(right, StreamWords):
            raise SpecError(
                f"join: {type(right).__name__} is no stream. Make one of it, as in join(stream(…, time='ts'), …)."
            )
        sides = self.as_stream(), right.as_stream()
        corrected = max(side.lateness for side in sides)
        said = {"how": how, "on": on, "where": where, "idle": idle}
        said["lateness"] = corrected if lateness is None else lateness
        greatest = None if combine == "least" else combine
        said |= words_taken(match, combine=greatest, retention=retention, spread=spread, ready=ready)
        return cast("JoinResult", joined(match, *sides, **said))

    def apply(self, spec: type[Spec_], **said: Any) -> RowResult[Spec_]:
        """Run an operator of your own over this stream: `spec` is made of the stream's time, keys and watermark.

        What else it needs is `said`. See `fanlight.extend`.
        """
        given: object = spec
        if not (isinstance(given, type) and issubclass(given, StreamSpec)):
            raise SpecError(
                f"apply: {spec!r} is no spec of an operator. Give a class that derives from fanlight.extend.StreamSpec."
            )
        stream = of_whole_rows(self.as_stream(), ZERO)
        about = {name: getattr(stream, name) for name in ("time", "keys", "watermark", "unit", "ahead")}
        if stream.changes is not None:
            about["changes"] = stream.changes
            if "changes" not in getattr(spec, "__dataclass_fields__", ()):
                raise SpecError(
                    f"apply: {spec.__name__} takes rows, and this stream has changes (`{stream.changes.op}`). "
                    "Sort the stream first, which gives the rows that are left, or give the spec a field `changes`."
                )
        return stream.complete(spec(**about, **said))


@dataclass(frozen=True, slots=True, repr=False)
class Stream(StreamWords):
    """Records with an event time, keyed or not.

    >>> import fanlight as fl
    >>> fl.stream([{"ts": 1, "k": "a"}], time="ts", unit="s").key_by("k").keys
    ('k',)
    """

    origin: Origin
    time: str
    watermark: WatermarkStrategy
    unit: TimeUnit | None
    tick: Duration
    ahead: Duration | None
    keys: tuple[str, ...] = ()
    lateness: Duration = ZERO
    """How far behind the watermark records may be that a stage before has corrected."""
    changes: Changes | None = None
    """How records change earlier ones. None: every record is a row of its own."""

    preparation: Preparation = field(default_factory=Preparation)
    """What is done to records before anything else."""
    first_time: str | None = None
    """What the column of times was called before that, if it was called otherwise."""
    control: str | None = None
    """The column of watermarks, if rows of the stream say them."""
    name: str | None = None
    """What it is called where several streams meet."""

    def as_stream(self) -> Stream:
        """Itself."""
        return self

    def as_whole_rows(self, *columns: str, name: str, kind: WindowKind | None = None) -> Stream:
        """The stream with every record as one struct, in the column `name`, beside what the stream goes by.

        These `columns` stay beside it too, and those that windows of a `kind` go by; all, if a function assigns them.
        What a change does is no part of its record: a delete has the record of its row.
        """
        op = () if self.changes is None else (self.changes.op,)
        unique = () if self.changes is None else self.changes.unique
        own = () if kind is None else kind.columns
        keeps = tuple(dict.fromkeys((self.time, *self.keys, *op, *unique, *own, *columns)))
        whole = WholeRow(None if kind is not None and kind.reads_records else keeps, name, op)
        return replace(self, preparation=self.preparation.then(whole), first_time=self.first_time or self.time)

    def settled(self, spec: WindowSpec) -> Stream:
        """This stream of changes as the windows of `spec` can take it, by a stage before them if one is needed.

        Windows that each key has for itself take rows, those that are left when the watermark has passed them. Others
        take changes of which every delete has its row; those of a user are normalized first.
        """
        assert self.changes is not None  # a stream of rows is taken as it is
        if spec.window.takes_rows_only:
            rows = self.sort().as_stream()
            return replace(rows, keys=self.keys, tick=self.tick)
        return self.in_full(spec.keeps_rows_for)

    def in_full(self, keep: Duration) -> Stream:
        """These changes such that every delete has its row; rows are kept for `keep` to be found again."""
        stream = of_whole_rows(self, keep)
        assert stream.changes is not None  # a stream of rows is taken as it is
        return stream if stream.changes.consistent else normalized(stream, keep)

    @property
    def is_on_spark(self) -> bool:
        """Whether its records are on Spark."""
        return self.origin.is_on_spark

    @property
    def origin_told(self) -> str:
        """Where its records come from, in few words."""
        return "results" if isinstance(self.origin, StreamWords) else repr(self.origin)

    def complete(self, spec: StreamSpec) -> RowResult[Any]:
        """The pipeline of `spec` over this stream."""
        require_clock(spec, self.origin.has_clock)
        return self.origin.complete(spec, Intake(self.preparation, self.first_time or self.time, self.control))

    def __repr__(self) -> str:
        """What is read and how it is keyed, never the data."""
        keyed = f", by {', '.join(f'`{name}`' for name in self.keys)}" if self.keys else ""
        return f"<fanlight stream over {self.origin!r}, time `{self.time}`{keyed}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is read, never the data."""
        return plan_page("fanlight stream", plain_plan(repr(self)), "Say window(…), sort() or over(…) to go on.")

    if not TYPE_CHECKING:  # a checker knows what is missing, and says it before it runs

        def __getattr__(self, name: str) -> NoReturn:
            """Called for what a stream does not have: what comes after `window` is told so."""
            later = f": say window(…) first, as in stream.window(tumbling('1 minute')).{name}(…)"
            raise AttributeError(f"A stream has no {name!r}{later if hasattr(Windowed, name) else ''}.")
