"""Hypothesis strategies for joins: specs of every type, and scripts for both sides.

Times and bounds are a few microseconds, so that ends of intervals, watermarks and rows meet often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several
from fanlight.testing.oracle.join.sides import Holds, JoinStep
from fanlight.testing.script import Record

LEFT, RIGHT = "o", "p"
LEFT_COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "s": pa.string(), "f": pa.float64(), "v": pa.int64()})
RIGHT_COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "s": pa.string(), "g": pa.float64(), "w": pa.int64()})

KEYS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ()),
    (("k",), ("k",)),
    (("s",), ("s",)),
    (("f",), ("g",)),
    (("v",), ("k",)),
    (("k", "s"), ("k", "s")),
    (("s", "f"), ("s", "g")),
)
"""None, whole numbers, text, floats, other names, two columns."""

CONDITIONS: tuple[tuple[Any, Holds] | None, ...] = (
    None,
    None,
    (pc.field("v") < pc.field("w"), lambda left, right: _less(left["v"], right["w"])),
    (pc.field("o.k") == pc.field("p.k"), lambda left, right: _same(left["k"], right["k"])),
    (pc.field("ts_p") != pc.field("ts"), lambda left, right: left["ts"] != right["ts"]),
)
"""A condition as the engine reads it, and as the oracle does."""


@dataclass(frozen=True, slots=True)
class JoinPipeline:
    """What to run, and what to run it on."""

    spec: IntervalJoinSpec
    condition: Holds | None
    steps: list[JoinStep]


def near() -> SearchStrategy[int]:
    """Times that are close together."""
    return st.integers(-5, 24)


def times() -> SearchStrategy[int | None]:
    """Times of records, few of which cannot be read."""
    return st.one_of(near(), near(), near(), near(), st.sampled_from([None, EARLIEST, LATEST, LATEST + 1]))


def records(columns: pa.Schema, when: SearchStrategy[Any] | None = None) -> SearchStrategy[Record]:
    """Records of one side, with few keys, some of which are null."""
    small = st.sampled_from([None, 0, 1])
    kinds = {
        pa.int64(): small,
        pa.string(): st.sampled_from([None, "", "a", "b"]),
        pa.float64(): st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    }
    values = {field.name: kinds[field.type] for field in columns if field.name != "ts"}
    return st.fixed_dictionaries({"ts": times() if when is None else when, **values})


def matches() -> SearchStrategy[Interval]:
    """Intervals around the left row, before it, after it, no longer than an instant, and without an end."""
    bounds = st.integers(-7, 7)

    def ordered(pair: tuple[int, int], closed: Any) -> Interval:
        lower, upper = sorted(pair)
        opens = (closed in ("right", "neither")) + (closed in ("left", "neither"))
        return Interval(Duration(lower), Duration(max(upper, lower + opens)), closed)

    closed = st.sampled_from(["both", "both", "left", "right", "neither"])
    near_by = st.builds(ordered, st.tuples(bounds, bounds), closed)
    lower, upper = (st.builds(Duration, bounds), st.builds(Duration, bounds))
    without_end = st.one_of(
        st.builds(Interval, lower, st.just(Duration.FOREVER), closed),
        st.builds(Interval, st.just(Duration.of("-forever")), upper, closed),
    )
    kept = st.one_of(st.just(Retention()), st.integers(9, 15).map(lambda micros: Retention(Duration(micros))))
    return st.one_of(near_by, near_by, near_by, st.builds(Interval.within, without_end, kept))


def strategies() -> SearchStrategy[Any]:
    """Told, or following the records of the side."""
    delays = st.integers(0, 8).map(Duration)
    return st.one_of(st.just(Explicit()), st.builds(BoundedDisorder, delays))


def semantics(*, late: bool) -> SearchStrategy[JoinSemantics]:
    """Fanlight's own answers, those of peers, and such as no peer gives together. Late ones are taken with `late`."""
    answers = st.booleans()
    any_answers = st.builds(JoinSemantics, answers, answers, answers, answers)
    own = st.just(JoinSemantics())
    found = st.one_of(own, own, st.sampled_from(list(JoinSemantics.PRESETS.values())), any_answers)
    return found if late else found.map(lambda rules: replace(rules, takes_late=False))


def combines() -> SearchStrategy[Combine]:
    """Mostly the least of both sides, which most joins go by."""
    return st.sampled_from([Combine.MIN, Combine.MIN, Combine.MAX])


def changes() -> SearchStrategy[Changes | None]:
    """None, or changes whose rows are told apart by all columns, or by some; few take many rows for one."""
    return st.sampled_from([None, None, Changes("op", consistent=True), Changes("op", ("k", "s"), consistent=True)])


@st.composite
def specs(
    draw: DrawFn, kinds: Sequence[JoinType] = tuple(JoinType), modes: Sequence[EmissionMode] = tuple(EmissionMode)
) -> tuple[IntervalJoinSpec, Holds | None]:
    """A join of one of these types that leaves in one of these modes, and what its condition says."""
    left, right = draw(st.sampled_from(KEYS))
    how = draw(st.sampled_from(kinds))
    condition = draw(st.sampled_from(CONDITIONS))
    kinds_of_stamp: dict[JoinType, list[Any]] = {
        JoinType.LEFT: ["left", "least", "greatest"],
        JoinType.RIGHT: ["right", "least", "greatest"],
        JoinType.FULL: [None, "least", "greatest"],
        JoinType.INNER: ["left", "right", "least", "greatest"],
    }
    mode = draw(st.sampled_from(modes))
    of_left, of_right = (None if mode is EmissionMode.EAGER else draw(changes()) for _ in range(2))
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    rules = draw(semantics(late=mode is EmissionMode.EAGER))
    spec = IntervalJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, left, of_left),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, right, of_right),
        draw(matches()),
        how,
        mode,
        None if condition is None else Where(condition[0]),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        draw(st.sampled_from(kinds_of_stamp.get(how, ["left"]))),
        Several(((RIGHT, draw(strategies())), (LEFT, draw(strategies()))), draw(combines()), idle),
        draw(st.none() | st.integers(0, 20).map(Duration)),
        rules,
    )
    return spec, None if condition is None else condition[1]


def changing(columns: pa.Schema, said: Changes | None) -> SearchStrategy[tuple[Record, ...]]:
    """Records of one side in one step; of changes, some take back a row that came before them, and some none."""
    some = st.lists(records(columns), max_size=6).map(tuple)
    if said is None:
        return some
    op = st.sampled_from(["+I", "+I", "+I", "+U", "-U", "-D", "-D", "x", None])
    return st.lists(st.builds(lambda record, op: {**record, "op": op}, records(columns), op), max_size=6).map(tuple)


@st.composite
def scripts(draw: DrawFn, spec: JoinSpec) -> list[JoinStep]:
    """Steps of any sort, and the end; a side may end before. Deletes repeat rows that came, most of the time."""
    watermarks = st.one_of(st.none(), st.none(), near(), near(), near(), st.just(END_OF_TIME))
    step = st.builds(
        JoinStep,
        changing(LEFT_COLUMNS, spec.left.changes),
        changing(RIGHT_COLUMNS, spec.right.changes),
        watermarks,
        watermarks,
        st.none() | st.integers(0, 8),
    )
    steps = [*draw(st.lists(step, max_size=7)), JoinStep(end=True)]
    if spec.changes is None:
        return steps
    lefts: list[Record] = []
    rights: list[Record] = []
    return [
        replace(one, left=_repeated(draw, one.left, lefts), right=_repeated(draw, one.right, rights)) for one in steps
    ]


def _repeated(draw: DrawFn, records: tuple[Record, ...], known: list[Record]) -> tuple[Record, ...]:
    """These records; deletes are of rows that came before, as far as there are any, but for one in five."""
    told: list[Record] = []
    for record in records:
        if record.get("op") in ("-U", "-D") and known and draw(st.integers(0, 4)):
            told.append({**draw(st.sampled_from(known)), "op": record["op"]})
            continue
        told.append(record)
        if "op" in record:
            known.append(record)
    return tuple(told)


@st.composite
def pipelines(draw: DrawFn, *kinds: JoinType, modes: Sequence[EmissionMode] = tuple(EmissionMode)) -> JoinPipeline:
    """A join, of one of these types and modes if any are said, and a script for it."""
    spec, condition = draw(specs(kinds or tuple(JoinType), modes))
    return JoinPipeline(spec, condition, draw(scripts(spec)))


def _less(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one < other


def _same(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one == other
