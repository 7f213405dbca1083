"""The temporal filter as a value: what it refuses, reads and hands on, and that it is written down and read back."""

from __future__ import annotations

import json

import pytest

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.recent import RecentSpec
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.fingerprint import declared_otherwise

TEN = Duration(10)
WHOLE = Changes("did", ("id",), consistent=True, timed=True)


def test_it_hands_on_its_watermark_and_rows_that_are_late_by_as_much_as_it_shows() -> None:
    spec = RecentSpec("ts", ("k",), TEN, unit=TimeUnit.SECONDS)
    assert spec.hands_on(7) == 7
    onward = spec.continuation
    assert (onward.time, onward.unit, onward.lateness) == ("ts", TimeUnit.SECONDS, TEN)
    assert onward.changes == Changes("op", consistent=True)


def test_changes_keep_the_column_and_the_identity_that_they_came_with() -> None:
    spec = RecentSpec("ts", (), TEN, changes=WHOLE)
    assert spec.columns == ("ts", "did", "id")
    assert spec.continuation.changes == WHOLE


def test_nothing_is_older_than_the_start_of_time() -> None:
    spec = RecentSpec("ts", (), TEN)
    assert [spec.behind(time) for time in (START_OF_TIME, START_OF_TIME + 3, 7)] == [START_OF_TIME, START_OF_TIME, -3]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"keys": ("k", "k")}, r"key_by: the column 'k' is named twice.*Name it once"),
        ({"keys": (7,)}, r"key_by: 7 is no column name. Use text"),
        ({"within": Duration(-1)}, r"recent: the duration \(-1 us\) must be above zero.*such as '1 hour'"),
        ({"changes": Changes("op")}, r"recent: the changes \(`op`\) may delete rows that never came.*Normalize them"),
        ({"ahead": Duration(-1)}, r"stream: `ahead` \(-1 us\) is negative.*from 0 up"),
    ],
)
def test_a_mistake_is_named_with_its_value_and_what_to_do(said: dict[str, object], told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        RecentSpec(**{"time": "ts", "keys": (), "within": TEN, **said})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    [
        RecentSpec("ts", (), TEN),
        RecentSpec("at", ("k",), TEN, fl.fixed_distance("5 s"), TimeUnit.SECONDS, TEN, WHOLE),
    ],
    ids=["usual", "all said"],
)
def test_it_is_written_down_and_read_back_exactly(spec: RecentSpec) -> None:
    document = json.loads(json.dumps(to_document(spec)))
    assert document["is"] == "RecentSpec"
    assert from_document(document) == spec


def test_what_state_it_may_go_on_from() -> None:
    """What is kept depends on how long rows are shown; how long the watermark waits does not matter."""
    before = RecentSpec("ts", (), TEN, fl.bounded_disorder("1 s"))
    slower = RecentSpec("ts", (), TEN, fl.bounded_disorder("9 s"))
    assert declared_otherwise(to_document(before), to_document(slower)) == []
    longer = RecentSpec("ts", (), Duration(20), fl.bounded_disorder("1 s"))
    assert len(declared_otherwise(to_document(before), to_document(longer))) == 1
