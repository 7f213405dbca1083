"""How the tests of bad input run a pipeline and read its values."""

from __future__ import annotations

import math
from typing import Any

import fanlight as fl

S = 1_000_000
DAY = 86_400 * S
NAN = math.nan


def run(source: Any, keys: tuple[str, ...] = (), window: Any = None, **options: Any) -> fl.Result:
    """Counts by key in windows of ten seconds, and whatever else is asked for."""
    aggregates = options.pop("agg", {"n": fl.count()})
    stream = fl.stream(source, time="ts", unit="s", **{"delay": "0 s", **options})
    keyed = stream.key_by(*keys) if keys else stream
    return keyed.window(window or fl.tumbling("10 s")).agg(**aggregates)


def values(result: fl.Result, name: str = "n") -> list[Any]:
    return result.table().column(name).to_pylist()  # type: ignore[no-any-return]


def same(left: Any, right: Any) -> bool:
    """Equal, and NaN equals NaN."""
    return repr(left) == repr(right)
