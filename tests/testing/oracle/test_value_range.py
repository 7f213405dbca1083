"""What the oracle says of values that their types cannot hold, worked out by hand."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.firing import Accumulation, Op
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.triggers import after, repeat
from fanlight.model.windows.tumbling import tumbling
from fanlight.model.windows.window import Window
from fanlight.testing import oracle
from fanlight.testing.oracle.value_range import told_exactly
from fanlight.testing.script import Counts, Step, ValueLetter

HALF = 2**62


def test_a_firing_that_cannot_be_shown_is_a_letter_and_moves_nothing() -> None:
    """2**62, twice that, which is beyond int64, and one less: the retraction takes back what was shown."""
    spec = WindowSpec(
        time="ts",
        window=tumbling(Duration(10)),
        aggregates=(("total", agg.sum("v")),),
        trigger=repeat(after(1)),
        accumulation=Accumulation.RETRACTING,
    )
    transcript = oracle.run(spec, [Step(records=({"ts": 1, "v": value},)) for value in (HALF, HALF, -1)])
    assert [(firing.op, firing.values["total"], firing.number) for firing in transcript.firings] == [
        (Op.INSERT, HALF, 0),
        (Op.RETRACT, HALF, 1),
        (Op.UPDATE, 2 * HALF - 1, 1),
    ]
    letters = [outcome.value_letters for outcome in transcript.outcomes]
    assert letters == [(), (ValueLetter((), Window(0, 10), {"total": str(2**63)}, ("total",)),), ()]
    assert transcript.counts == Counts(3, 3, values_out_of_range=1)


@pytest.mark.parametrize(
    ("aggregate", "value", "told"),
    [
        (agg.sum("v"), -(2**63), None),
        (agg.sum("v"), -(2**63) - 1, "-9223372036854775809"),
        (agg.sum("v"), Decimal("9" * 38), None),
        (agg.sum("v"), Decimal("1" + "0" * 36 + ".00"), "1" + "0" * 36 + ".00"),
        (agg.sum("v"), timedelta(microseconds=2**63), str(2**63)),
        (agg.sum("v"), 1e300, None),
        (agg.sum("v"), None, None),
        (agg.avg("v"), 2.0**70, None),
        (agg.composite(a=agg.sum("v"), b=agg.count()), {"a": 2**63, "b": 2}, {"a": str(2**63), "b": 2}),
    ],
    ids=str,
)
def test_what_is_beyond_a_type_is_told_exactly(aggregate: Aggregate, value: object, told: object) -> None:
    assert told_exactly(aggregate, value) == told
