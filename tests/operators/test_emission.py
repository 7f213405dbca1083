"""What a firing says about itself where the law has a special word for it."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl
from fanlight.model.spec import TimeUnit


def tens(times: Any, _: Any) -> Any:
    starts = times // 10 * 10
    return starts, starts + 10


@pytest.mark.parametrize("trigger", [fl.at_expiry(), fl.never()])
@pytest.mark.parametrize("kind", [fl.custom(tens), fl.tumbling("10 us")], ids=["custom", "tumbling"])
def test_a_pane_that_fires_once_is_on_time_also_where_it_expires_before_it_closes(kind: Any, trigger: Any) -> None:
    """With `closes_after_end` a window [0, 10) closes at 11; without lateness it has expired at 10, and fires then."""
    operator = fl.WindowOperator(
        fl.WindowSpec(
            time="ts",
            unit=TimeUnit.MICROSECONDS,
            window=kind,
            aggregates=(("n", fl.count()),),
            trigger=trigger,
            watermark=fl.Explicit(),
            semantics=fl.Semantics(closes_after_end=True),
        )
    )
    operator.add([{"ts": 3}], watermark=10)
    (row,) = operator.take().to_pylist()
    assert (row["n"], row["pane"]["timing"], row["pane"]["revision"]) == (1, "ON_TIME", 0)
