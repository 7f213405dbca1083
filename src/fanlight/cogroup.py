"""Several streams merged into one accumulation for each key and window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.cogroup import HERE, TIME, CogroupSpec, CogroupType
from fanlight.model.enum_word import choice
from fanlight.model.given import checked
from fanlight.model.preparation import Select
from fanlight.model.retention import Retention
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.watermarks import Combine, Several
from fanlight.model.windows.kind import WindowKind
from fanlight.result import Result
from fanlight.row_result import Reading
from fanlight.stream import Stream, StreamWords
from fanlight.union import Union
from fanlight.windowed import Windowed


@dataclass(frozen=True, slots=True)
class Cogroup:
    """Several streams to be merged: say `window`.

    >>> import fanlight as fl
    >>> web, shop = (fl.stream([{"ts": 1}], time="ts", unit="s") for _ in range(2))
    >>> fl.cogroup(web=web, shop=shop).window(fl.tumbling("1 min")).agg(n=fl.count()).table()["n"].to_pylist()
    [2]
    """

    streams: Mapping[str, Stream]
    how: CogroupType
    idle: Duration | None

    def window(
        self, kind: WindowKind, *, lateness: DurationLike | None = None, retention: Retention | None = None
    ) -> CogroupWindowed:
        """Cut all streams into the same windows, which stay correctable for `lateness` after they close."""
        plain = self.merged(()).window(kind, lateness=lateness, retention=retention)
        own = {one.name: getattr(plain, one.name) for one in fields(plain)}
        return CogroupWindowed(**own, cogroup=self)

    def merged(self, reads: Iterable[str]) -> Stream:
        """The streams as one, whose records have these columns: `web.price` is the price in the stream called web."""
        first = next(iter(self.streams.values()))
        reads, needs = tuple(reads), self.how.needs(tuple(self.streams))
        given = {name: _as_merged(name, self.streams, reads, needs) for name in self.streams}
        strategies: Any = tuple((name, one.watermark) for name, one in self.streams.items())  # none of them is Several
        together = Several(strategies, Combine.MIN, self.idle)
        ahead = next((one.ahead for one in self.streams.values() if isinstance(one.origin, Reading)), None)
        late = max(one.lateness for one in self.streams.values())
        return Stream(Union(given), TIME, together, first.unit, first.tick, ahead, first.keys, late)


@dataclass(frozen=True, slots=True, repr=False)
class CogroupWindowed(Windowed):
    """Several streams in the same windows: say when they fire and what a firing carries, then `agg`."""

    cogroup: Cogroup = field(kw_only=True)

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each key and window; `sum("web.price")` is over the records of the stream called web."""
        said = [name for _, aggregate in checked(aggregates) for name in _read(aggregate)]
        reads = dict.fromkeys([*said, *self.kind.columns])
        for name in reads:
            self._require_input(name)
        whole = replace(self, stream=self.cogroup.merged(reads))
        return Windowed.agg(whole, **aggregates)

    def top(self, n: int, **_: Any) -> NoReturn:
        """Refused: records of several inputs have no columns in common."""
        raise SpecError(
            f"top: records of several inputs have no columns in common that their first {n} could be told by. Say "
            "agg(…), or use union(…) where all inputs have the same columns."
        )

    def over(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: records of several inputs have no columns in common."""
        raise SpecError(
            "over: records of several inputs have no columns in common. Say agg(…), or use union(…) where all inputs "
            "have the same columns."
        )

    def _spec(self, stream: Stream, aggregates: Mapping[str, Aggregate]) -> WindowSpec:
        spec = Windowed._spec(self, stream, aggregates)  # noqa: SLF001 -- its own class
        needs = self.cogroup.how.needs(tuple(self.cogroup.streams))
        if not needs:
            return spec
        return CogroupSpec(**{one.name: getattr(spec, one.name) for one in fields(spec)}, needs=needs)

    def _require_input(self, name: str) -> None:
        known = self.cogroup.streams
        if name.partition(".")[0] not in known or "." not in name:
            one = next(iter(known))
            raise SpecError(
                f"cogroup: {name!r} is a column of no input. Say of which, as in {f'{one}.{name}'!r}; the inputs are "
                f"{', '.join(known)}."
            )


def cogroup(
    *,
    how: Literal["full", "inner", "left", "right"] = "full",
    idle: DurationLike | None = None,
    **streams: StreamWords,
) -> Cogroup:
    """Merge several streams into one accumulation for each key and window.

    Each stream has its own columns, its own time and its own watermark; their keys are equal in number, and compared
    one by one. `web.price` is the column `price` of the stream called `web`. A window leaves that any of them has
    records for; with `how="inner"` all of them, with `"left"` the first, with `"right"` the last. An input that has
    brought nothing for `idle` of the clock holds the others back no longer.

    >>> import fanlight as fl
    >>> orders = fl.stream([{"ts": 1, "id": 7, "price": 30}], time="ts", unit="s").key_by("id")
    >>> paid = fl.stream([{"at": 9, "order": 7, "cents": 5}], time="at", unit="s").key_by("order")
    >>> hours = fl.cogroup(o=orders, p=paid).window(fl.tumbling("1 h"))
    >>> hours.agg(ordered=fl.sum("o.price"), paid=fl.sum("p.cents")).table().select(["ordered", "paid"]).to_pylist()
    [{'ordered': 30, 'paid': 5}]
    """
    if len(streams) < 2:
        raise SpecError("cogroup: needs at least two streams, each with a name, as in cogroup(o=…, p=…).")
    inputs = {name: _one_of(name, given) for name, given in streams.items()}
    (one, first), *others = inputs.items()
    for name, other in others:
        if len(first.keys) != len(other.keys):
            raise SpecError(
                f"cogroup: {one!r} has {len(first.keys)} keys and {name!r} has {len(other.keys)}, and they are "
                "compared one by one. Say key_by(…) on all with as many columns."
            )
        for what in ("unit", "tick", "ahead", "is_on_spark"):
            is_read = isinstance(first.origin, Reading) and isinstance(other.origin, Reading)
            if getattr(first, what) != getattr(other, what) and (what != "ahead" or is_read):
                raise SpecError(
                    f"cogroup: `{what}` is {getattr(first, what)!r} in {one!r} and {getattr(other, what)!r} in "
                    f"{name!r}, and one accumulation has one. Give both the same."
                )
    return Cogroup(inputs, choice(CogroupType, how, "how"), None if idle is None else Duration.of(idle))


def _one_of(name: str, given: object) -> Stream:
    """One input of a cogroup, as a stream."""
    if not isinstance(given, StreamWords):
        raise SpecError(
            f"cogroup: {name}={type(given).__name__} is no stream. Make one of it, as in {name}=stream(…, time='ts')."
        )
    stream = given.as_stream()
    if isinstance(stream.origin, Union):
        raise SpecError(f"cogroup: {name!r} has several inputs. Put a stage between, such as sort().")
    if isinstance(stream.watermark, Several):
        raise SpecError(f"cogroup: the watermark of {name!r} has several inputs itself. Give it one.")
    if stream.changes is not None:
        raise SpecError(
            f"cogroup: {name!r} has changes (`{stream.changes.op}`), which may take back all that a window has of it. "
            "Sort it first, which gives the rows that are left."
        )
    return stream


def _read(aggregate: Aggregate) -> tuple[str, ...]:
    """The columns that an aggregate reads."""
    if aggregate.needs_whole_records:
        raise SpecError(
            "cogroup: records of several inputs have no columns in common, so nobody knows what a whole record is. "
            "Name the columns of each, as in batch(function, type, 'o.price', 'p.cents')."
        )
    return aggregate.columns


def _as_merged(name: str, streams: Mapping[str, Stream], reads: Iterable[str], needs: Iterable[str]) -> Stream:
    """One stream with the columns of all: its own where they are its own, null elsewhere."""
    stream, first = streams[name], next(iter(streams.values()))
    nobody = pc.scalar(pa.scalar(None))
    mine = {read: pc.field(read.partition(".")[2]) for read in reads if read.partition(".")[0] == name}
    here = {f"{HERE}{one}": pc.scalar(pa.scalar(True if one == name else None, pa.bool_())) for one in needs}
    columns: dict[str, Any] = {TIME: stream.time, **dict(zip(first.keys, stream.keys, strict=True))}
    columns |= {read: mine.get(read, nobody) for read in reads} | here
    return replace(
        stream,
        preparation=stream.preparation.then(Select(tuple(columns.items()))),
        time=TIME,
        first_time=stream.first_time or stream.time,
        keys=(),
    )
