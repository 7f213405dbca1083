"""N-way joins as they are declared: what is refused, what the watermark handed on is, and their documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import interval
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several

SIDES = tuple(Side(name, "ts", keys=("id",)) for name in ("o", "p", "s"))
SPEC = NWayJoinSpec(SIDES, (interval("-2 s", "5 s"), interval("0 s", "9 s")), (None, None))
TOLD = Several((("p", Explicit()), ("s", Explicit()), ("o", Explicit())))


def test_a_document_holds_it() -> None:
    spec = replace(SPEC, how=JoinType.LEFT, mode=EmissionMode.ON_CLOSE, watermark=TOLD, lateness=Duration(5))
    assert from_document(to_document(spec)) == spec


@pytest.mark.parametrize(
    ("spec", "behind"),
    [
        (SPEC, 9_000_000),
        (replace(SPEC, lateness=Duration(5)), 9_000_005),
        (replace(SPEC, matches=(interval("-2 s", "-1 s"), interval("-9 s", "0 s"))), 0),
    ],
)
def test_a_row_of_the_lead_waits_for_the_latest_match(spec: NWayJoinSpec, behind: int) -> None:
    """What leaves is no further behind; the ends of time stay."""
    assert spec.hands_on(10**12) == 10**12 - behind
    assert (spec.hands_on(START_OF_TIME), spec.hands_on(END_OF_TIME)) == (START_OF_TIME, END_OF_TIME)


def test_its_time_is_that_of_the_lead() -> None:
    assert replace(SPEC, sides=(replace(SIDES[0], time="at"), *SIDES[1:])).continuation.time == "at"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"sides": SIDES[:1], "matches": (), "wheres": ()}, "needs at least two inputs"),
        ({"sides": (*SIDES[:2], SIDES[1])}, "two inputs are called 'p'"),
        ({"sides": (*SIDES[:2], replace(SIDES[2], name="key.0"))}, "as a column that every join has"),
        ({"sides": (*SIDES[:2], replace(SIDES[2], keys=()))}, "'o' has 1 keys and 's' has 0"),
        ({"sides": (*SIDES[:2], replace(SIDES[2], changes=Changes("op")))}, "'s' has changes"),
        ({"matches": SPEC.matches[:1]}, "2 inputs match the first, and there are 1 intervals and 2 conditions"),
        ({"wheres": ()}, "2 intervals and 0 conditions"),
        ({"matches": (interval("0 s", "1 s"), interval("0 s", "forever"))}, "is no bound"),
        ({"how": JoinType.SEMI}, "how='inner' or 'left', not 'semi'"),
        ({"mode": EmissionMode.RETRACTING}, "is not kept up to date"),
        ({"lateness": Duration(-1)}, "must be a duration from 0 up"),
        ({"watermark": replace(TOLD, combine=Combine.MAX)}, "the least of their watermarks counts"),
        ({"watermark": replace(TOLD, inputs=TOLD.inputs[::-1])}, "not of p and s and o"),
        (
            {
                "watermark": replace(
                    TOLD, inputs=(("p", BoundedDisorder(Duration(1), per_record=True)), *TOLD.inputs[1:])
                )
            },
            "follows every single record",
        ),
    ],
)
def test_what_is_refused(said: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        replace(SPEC, **said)
