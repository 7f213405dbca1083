"""The field `agg`, read as named aggregates of the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.aggregates import (
    Aggregate,
    AllTrue,
    AnyTrue,
    Avg,
    Count,
    CountDistinct,
    First,
    Last,
    Listed,
    Max,
    Min,
    Quantile,
    StdDev,
    Sum,
    Variance,
)
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.derived import SECONDS
from fanlight.testing.vectors.load import Vector

VALUE = "v"
"""The column an aggregate works on unless it names one, and the result of the one aggregate without a name."""
MESSAGES = "n"
"""How many messages a firing carries; every spec counts them, because rows may assert it."""

_CALL = re.compile(
    r"(?:(?P<name>\w+)\s*=\s*)?(?P<function>\w+)(?:\(\s*(?P<distinct>distinct\s+)?(?P<column>\w+|\*)?\s*\))?",
    re.IGNORECASE,
)

_OVER_TIME = re.compile(r"(?P<function>\w+)\(\s*ts\s*\)")

_FUNCTIONS: dict[str, Callable[[str], Aggregate]] = {
    "sum": Sum,
    "min": Min,
    "max": Max,
    "avg": Avg,
    "mean": Avg,
    "first": First,
    "last": Last,
    "list": lambda column: Listed(column, by_arrival=True),
    "sorted_list": lambda column: Listed(column, by_arrival=True),
    "count_distinct": CountDistinct,
    "median": Quantile,
    "stddev": StdDev,
    "stddev_samp": StdDev,
    "stddev_pop": lambda column: StdDev(column, population=True),
    "variance": Variance,
    "var_samp": Variance,
    "var_pop": lambda column: Variance(column, population=True),
    "any": AnyTrue,
    "all": AllTrue,
}


def aggregates_of(vector: Vector) -> tuple[tuple[str, Aggregate], ...]:
    """What the vector computes, by result column; and always `n`, how many messages.

    One aggregate by itself gives the column `v`. A list gives a column for each, called as it says or as it is written.
    Where rows assert `mean_s`, `mean(ts)` is that: over the times in seconds.
    """
    declared = vector.get("agg")
    if isinstance(declared, str):
        named = [(VALUE, read_aggregate(declared)[1])]
    elif isinstance(declared, list):
        asserted = {name for group in vector.expect for row in group.get("rows") or () for name in row}
        named = [_in_seconds(text, asserted) or read_aggregate(text) for text in declared]
    else:
        raise VectorError(f"`agg` ({declared!r}) must be an aggregate or a list of them.")
    if MESSAGES not in dict(named):
        named.append((MESSAGES, Count()))
    return tuple(named)


def _in_seconds(text: Any, asserted: set[str]) -> tuple[str, Aggregate] | None:
    over = _OVER_TIME.fullmatch(str(text).strip())
    if over is None:
        return None
    function = over["function"]
    name = next((name for name in _short(function) if name in asserted), None)
    return None if name is None else (name, read_aggregate(f"{function}({SECONDS})")[1])


def _short(function: str) -> list[str]:
    """What rows may call an aggregate over seconds."""
    return [f"{function}_s", f"{function.removesuffix('_samp').removesuffix('_pop')}_s"]


def read_aggregate(text: Any) -> tuple[str, Aggregate]:
    """One aggregate as written, and what its result is called."""
    match = _CALL.fullmatch(str(text).strip())
    if match is None:
        raise NotAdoptedError(f"aggregate {text}: not built yet")
    function, column = match["function"].lower(), match["column"]
    if function == "count":
        aggregate: Aggregate = _count(column, distinct=match["distinct"] is not None)
    elif function in _FUNCTIONS and column != "*" and not match["distinct"]:
        aggregate = _FUNCTIONS[function](column or VALUE)
    else:
        raise NotAdoptedError(f"aggregate {text}: not built yet")
    return match["name"] or str(text).strip(), aggregate


def _count(column: str | None, *, distinct: bool) -> Aggregate:
    if distinct:
        return CountDistinct(column or VALUE)
    return Count(None if column == "*" else column)
