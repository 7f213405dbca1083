"""N-way joins, declared: rows of several streams that match one row of the first, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NoReturn, TypeVar

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.errors import SpecError
from fanlight.joins.sides import Join, require_one_input, side_of
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.enum_word import choice
from fanlight.model.given import checked_columns
from fanlight.model.join.interval import Interval
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import TABLE_TIME, JoinType
from fanlight.model.preparation import Intake, Preparation, Where, where_of
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.watermarks import Several
from fanlight.row_result import Reading, RowResult, completed
from fanlight.stream import Stream, StreamWords

Said = TypeVar("Said")


class NWayJoinResult(RowResult[NWayJoinSpec]):
    """The result of a join of several streams. Say `eager()` or `on_close()` for when its rows leave.

    >>> import fanlight as fl
    >>> o, p, s = (fl.stream([{"ts": 1, "id": 7}], time="ts", unit="s").key_by("id") for _ in range(3))
    >>> fl.join(o=o, p=p, s=s, match=fl.same_time()).on_close().table().to_pylist()
    [{'ts': 1, 'id': 7, 'ts_p': 1, 'ts_s': 1}]
    """

    def eager(self) -> NWayJoinResult:
        """A combination leaves as soon as all its rows are here; nulls are said when no match can come any more."""
        return self._in_mode(EmissionMode.EAGER)

    def on_close(self) -> NWayJoinResult:
        """The combinations of a row of the first stream leave when it is complete, in the order of the first stream."""
        return self._in_mode(EmissionMode.ON_CLOSE)

    def retracting(self) -> NoReturn:
        """Refused: what several streams give at once is not taken back."""
        self._in_mode(EmissionMode.RETRACTING)
        raise AssertionError  # the spec has refused it

    def operator(self, **options: object) -> StandaloneJoin:  # type: ignore[override]  # that of every join
        """The standalone operator of this join, for feeding by hand: `add(records, source="o")` names the input."""
        return StandaloneJoin(self.spec, **self._settings(options))

    def _in_mode(self, mode: EmissionMode) -> NWayJoinResult:
        assert isinstance(self._reading, Join)
        return _declared(self._reading, replace(self.spec, mode=mode))


def join(
    *,
    match: Interval | Mapping[str, Interval],
    how: Literal["inner", "left"] = "inner",
    on: str | tuple[str, ...] | None = None,
    where: Any = None,
    lateness: DurationLike | None = None,
    idle: DurationLike | None = None,
    retention: Retention | None = None,
    **streams: StreamWords,
) -> NWayJoinResult:
    """Join several streams by their keys: rows of the others whose times `match` a row of the first, side by side.

    The first stream leads. Every other one has a `match` with it, the same for all or one by name; a combination is a
    row of the first and a matching row of each other one. With `how="left"` each row of the first leaves, with nulls
    where another stream has no match. Nothing is kept but rows of the streams: no pairs in between. `where` is a
    condition over joined columns, as `p.cents`, that a combination must meet; or there are several by name, each of
    what matches that stream. A stream that has brought nothing
    for `idle` of the clock holds the others back no longer; of an interval without an end, `retention` says how long
    rows are kept.

    >>> import fanlight as fl
    >>> o = fl.stream([{"ts": 1, "id": 7}, {"ts": 2, "id": 8}], time="ts", unit="s").key_by("id")
    >>> p = fl.stream([{"at": 3, "order": 7, "cents": 5}], time="at", unit="s").key_by("order")
    >>> s = fl.stream([{"sent": 9, "id": 7}, {"sent": 9, "id": 8}], time="sent", unit="s").key_by("id")
    >>> fl.join(o=o, p=p, s=s, match=fl.interval("0 s", "1 min")).table().to_pylist()
    [{'ts': 1, 'id': 7, 'at': 3, 'cents': 5, 'sent': 9}]
    """
    inputs = {name: _one_of(name, given) for name, given in streams.items()}
    if len(inputs) < 2:
        raise SpecError("join: needs at least two streams, each with a name, as in join(o=…, p=…, match=…).")
    if on is not None:
        keys = checked_columns("join", (on,) if isinstance(on, str) else tuple(on))
        inputs = {name: replace(stream, keys=keys) for name, stream in inputs.items()}
    _require_together(inputs)
    lead, *others = inputs
    matches = _each(others, match, "match", Interval, lead)
    if retention is not None and not any(one.opens or one.is_endless for one in matches.values()):
        matches[others[0]].within(retention)  # which refuses it
    bounded = [one.within(retention if one.opens or one.is_endless else None) for one in matches.values()]
    arriving = {name: inputs[name] for name in (*others, lead)}
    strategies: Any = tuple((name, one.watermark) for name, one in arriving.items())  # none of them is Several
    corrected = max(stream.lateness for stream in inputs.values())
    kind = choice(JoinType, how, "how")
    spec = NWayJoinSpec(
        tuple(side_of(name, stream) for name, stream in inputs.items()),
        tuple(bounded),
        *_wheres(others, where, lead),
        kind,
        EmissionMode.EAGER if kind is JoinType.INNER else EmissionMode.ON_CLOSE,
        corrected if lateness is None else Duration.of(lateness),
        Several(strategies, idle=None if idle is None else Duration.of(idle)),
        next((one.ahead for one in inputs.values() if isinstance(one.origin, Reading)), None),
    )
    return _declared(Join(arriving), spec)


def _one_of(name: str, given: object) -> Stream:
    """One stream of those that are joined."""
    if not isinstance(given, StreamWords):
        raise SpecError(
            f"join: {name}={type(given).__name__} is no stream. Make one of it, as in {name}=stream(…, time='ts')."
        )
    stream = given.as_stream()
    require_one_input(stream)
    if stream.time == TABLE_TIME:
        raise SpecError(
            f"join: {name!r} is a table without a time, and times decide what matches. Join it afterwards, as in "
            f"join(…).key_by(…).join({name})."
        )
    return replace(stream, name=name)


def _require_together(inputs: Mapping[str, Stream]) -> None:
    """Refuse streams that do not run together."""
    (one, first), *others = inputs.items()
    for name, other in others:
        if first.is_on_spark != other.is_on_spark:
            raise SpecError(
                f"join: {one!r} and {name!r} run on different engines. Read all with Spark, or all in this process."
            )
    read = [(name, stream.ahead) for name, stream in inputs.items() if isinstance(stream.origin, Reading)]
    for name, ahead in read[1:]:
        if ahead != read[0][1]:
            raise SpecError(
                f"join: `ahead` is {read[0][1]} in {read[0][0]!r} and {ahead} in {name!r}. Give all the same."
            )


def _wheres(others: list[str], where: Any, lead: str) -> tuple[tuple[Where | None, ...], Where | None]:
    """The condition of each other stream, None for one that has none; and that of whole combinations."""
    if where is None or not isinstance(where, Mapping):
        whole = None if where is None else where_of(where)
        return ((whole,), None) if len(others) == 1 else ((None,) * len(others), whole)
    _require_names("where", where, others, lead)
    return tuple(where_of(where[name]) if name in where else None for name in others), None


def _each(others: list[str], said: Any, word: str, kind: type[Said], lead: str) -> dict[str, Said]:
    """What is said of each other stream: the same of all, or by name."""
    found = dict(said) if isinstance(said, Mapping) else dict.fromkeys(others, said)
    _require_names(word, found, others, lead)
    for name in others:
        if not isinstance(found.get(name), kind):
            raise SpecError(
                f"join: `{word}` of {name!r} is {found.get(name)!r}, and it must say when its rows match those of "
                f"{lead!r}. Give it an interval, as in match={{{name!r}: interval('0 s', '5 min')}}."
            )
    return {name: found[name] for name in others}


def _require_names(word: str, said: Mapping[str, Any], others: list[str], lead: str) -> None:
    for name in said:
        if name not in others:
            what = "leads: the others match it" if name == lead else "is no stream of this join"
            raise SpecError(f"join: `{word}` has {name!r}, which {what}. Use names of {', '.join(others)}.")


def _declared(streams: Join, spec: NWayJoinSpec) -> NWayJoinResult:
    result = streams.complete(spec, Intake(Preparation(), spec.time))
    assert isinstance(result, NWayJoinResult)
    return result


@completed.register
def _of_n_way_join(spec: NWayJoinSpec, run: Any, **read: Any) -> NWayJoinResult:
    return NWayJoinResult(spec, run, **read)
