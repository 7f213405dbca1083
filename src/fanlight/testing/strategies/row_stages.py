"""Hypothesis strategies for stages of rows inside a pipeline: `sort`, `over` and `unique_by`, over any columns."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.aggregates import Aggregate
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.functions import Lead, RowFunction
from fanlight.model.over.spec import Computed, OrderBy, OverSpec
from fanlight.model.sort import SortSpec
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.testing.strategies.over_modes import retentions
from fanlight.testing.strategies.overs import (
    FunctionOver,
    can_be_kept,
    forgets,
    needs_forget,
    range_frames,
    row_frames,
    row_functions,
    session_frames,
)
from fanlight.testing.strategies.specs import among, durations
from fanlight.testing.strategies.stage_columns import Columns, computed, keys

_READ = ("time", "unit", "watermark")


def sort_stages(columns: Columns, given: Mapping[str, Any]) -> SearchStrategy[SortSpec]:
    """Rows in order, by time and some of the columns; with keys or without."""
    some = st.lists(st.sampled_from(_others(columns, given)), max_size=2, unique=True).map(tuple)
    read = {**_read(given), "changes": st.just(given.get("changes"))}
    return st.builds(SortSpec, keys=some, ties=some, total=st.booleans(), **read)


def unique_stages(columns: Columns, given: Mapping[str, Any]) -> SearchStrategy[UniqueSpec]:
    """One row of each id, the first or the last; ids are per key, or rows are shared out by the ids."""
    names = st.sampled_from(_others(columns, given))
    ids = st.lists(names, min_size=1, max_size=2, unique=True).map(tuple)
    keyed = st.tuples(keys(columns), ids).map(lambda said: {"keys": said[0] or said[1], "ids": said[1]})
    about = {"within": durations(1, 12), "keep": st.sampled_from(Keep), **_read(given)}
    return st.tuples(keyed, st.fixed_dictionaries(about)).map(lambda said: UniqueSpec(**said[0], **said[1]))


@st.composite
def over_stages(
    draw: DrawFn, columns: Columns, given: Mapping[str, Any], *, last: bool, corrects: bool, calm: bool
) -> OverSpec:
    """Rows with a few new columns, in any mode that can stand here: what `corrects` gives changes.

    In a calm graph rows leave on close, and no value depends on the order in which rows of one time came.
    """
    allowed = [EmissionMode.ON_CLOSE] if calm else [EmissionMode.ON_CLOSE, EmissionMode.ON_CLOSE, EmissionMode.EAGER]
    mode = draw(st.sampled_from([*allowed, EmissionMode.RETRACTING] if corrects and not calm else allowed))
    ahead = mode is not EmissionMode.EAGER
    some = _functions(columns, ahead=ahead, exact=not last, calm=calm)
    taken = draw(st.lists(some, min_size=1, max_size=3))
    names = (name for place in range(len(columns) + len(taken)) if (name := f"c{place}") not in columns)
    named = tuple((name, *one) for name, one in zip(names, taken, strict=False))
    order = st.lists(st.sampled_from(_others(columns, given)), max_size=2, unique=True)
    return OverSpec(
        computed=named,
        keys=draw(keys(columns)),
        order=tuple(OrderBy(name, draw(st.booleans())) for name in draw(order)),
        forget=draw(forgets(needed=any(needs_forget(Computed(*one)) for one in named))),
        mode=mode,
        retention=draw(retentions) if mode is EmissionMode.RETRACTING else None,
        **{name: given[name] for name in _READ},
    )


@st.composite
def _functions(draw: DrawFn, columns: Columns, *, ahead: bool, exact: bool, calm: bool) -> FunctionOver:
    """A frame and a function of it; only with `ahead` they look at rows after their own."""
    aggregate: SearchStrategy[RowFunction | Aggregate] = computed(columns, exact=exact, calm=calm).map(itemgetter(0))
    if calm:
        return draw(st.tuples(range_frames(), aggregate).filter(can_be_kept))
    frames = [row_frames(following=ahead), range_frames(following=ahead), *([session_frames()] if ahead else [])]
    some = st.tuples(among(*frames), among(aggregate, aggregate, row_functions([*columns]))).filter(can_be_kept)
    return draw(some if ahead else some.filter(lambda one: not isinstance(one[1], Lead)))


def _others(columns: Columns, given: Mapping[str, Any]) -> list[str]:
    """The columns besides the time."""
    return [name for name in columns if name != given["time"]]


def _read(given: Mapping[str, Any]) -> dict[str, SearchStrategy[Any]]:
    """What the stage before, or the source, decides."""
    return {name: st.just(given[name]) for name in _READ}
