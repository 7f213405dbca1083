"""The columns that stages of a pipeline can read, and what hypothesis computes of them."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.over.functions import ColumnFunction, RowFunction
from fanlight.model.over.spec import OverSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec

Columns = dict[str, str]
"""The columns that a stage can read, each with what it holds: text, flag, whole, number or time."""

SOURCE: Columns = {"k": "text", "v": "whole", "f": "number", "b": "flag"}
"""The columns of the records, besides their time."""


def keys(columns: Columns) -> SearchStrategy[tuple[str, ...]]:
    """Columns to group by; not the bounds of windows, which the next results have again."""
    some = [name for name, holds in columns.items() if holds in ("text", "flag", "whole")]
    return st.lists(st.sampled_from(some), max_size=2, unique=True).map(tuple) if some else st.just(())


def computed(columns: Columns, *, exact: bool, calm: bool) -> SearchStrategy[list[Aggregate]]:
    """A few aggregates of these columns. Those that look at the order of arrival are none of a calm graph."""
    pool: list[Aggregate] = [agg.count()]
    for name, holds in columns.items():
        pool += [agg.count(name), agg.min(name), agg.max(name)] if holds not in ("flag", "text") else []
        pool += [agg.sum(name)] if holds in ("whole", "number") else []
        pool += [agg.first(name), agg.last(name)] if not calm else []
        pool += [agg.any(name), agg.all(name)] if holds == "flag" else []
        if not exact:
            pool += [agg.count_distinct(name), agg.list(name), agg.top(name, 2)] if holds != "flag" else []
            pool += [agg.avg(name), agg.median(name), agg.variance(name)] if holds in ("whole", "number") else []
    return st.lists(st.sampled_from(pool), min_size=1, max_size=3)


def named(taken: list[Aggregate], columns: Columns) -> tuple[tuple[str, Aggregate], ...]:
    """Aggregates by names that no column has yet, so that any of them can be a key beside these."""
    names = (f"a{place}" for place in range(len(columns) + len(taken)))
    return tuple(zip((name for name in names if name not in columns), taken, strict=False))


def onward(spec: StreamSpec, columns: Columns) -> Columns:
    """The columns of the records that a stage hands on."""
    if isinstance(spec, OverSpec):
        return {**columns, **{one.name: holds(one.function, columns) for one in spec.new_columns}}
    if not isinstance(spec, WindowSpec):
        return columns
    own = {name: columns[name] for name in spec.keys}
    own |= {name: holds(one, columns) for name, one in spec.aggregates}
    return {**own, "window_start": "time", "window_end": "time", "window_time": "time"}


def holds(one: RowFunction | Aggregate, columns: Columns) -> str:
    """What the value of a function holds: that of the column it looks at, or a number of rows."""
    if isinstance(one, Aggregate):
        return "whole" if isinstance(one, agg.Count) else columns[str(one.column)]
    return columns[one.column] if isinstance(one, ColumnFunction) else "whole"
