"""Deduplication as a value: what it refuses, what it reads and hands on, and that it is written down and read back."""

from __future__ import annotations

import json

import pytest

import fanlight as fl
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.operators.fingerprint import declared_otherwise

TEN = Duration(10)


def test_keys_are_part_of_the_id() -> None:
    spec = UniqueSpec("ts", ("shop",), ("id", "shop"), TEN)
    assert spec.identity == ("shop", "id")
    assert spec.columns == ("ts", "shop", "id")
    assert not spec.in_one_shard


def test_the_watermark_that_is_handed_on_stops_at_the_ends_of_time() -> None:
    spec = UniqueSpec("ts", ("id",), ("id",), TEN)
    assert [spec.hands_on(time) for time in (START_OF_TIME, START_OF_TIME + 3, 7, END_OF_TIME)] == [
        START_OF_TIME,
        START_OF_TIME,
        -3,
        END_OF_TIME,
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"ids": ()}, r"unique_by: needs a column.*unique_by\('id', …\)"),
        ({"ids": ("id", "id")}, r"unique_by: the column 'id' is named twice.*Name it once"),
        ({"keys": ("k", "k")}, r"key_by: the column 'k' is named twice.*Name it once"),
        ({"ids": (7,)}, r"unique_by: 7 is no column name. Use text"),
        ({"within": Duration(0)}, r"unique_by: `within` \(0 s\) must be above zero.*such as '10 minutes'"),
        ({"within": Duration(-1)}, r"unique_by: `within` \(-1 us\) must be above zero"),
        ({"within": Duration.FOREVER}, r"unique_by: `within` \(forever\) must be above zero and have an end"),
        ({"ahead": Duration(-1)}, r"stream: `ahead` \(-1 us\) is negative.*from 0 up"),
    ],
)
def test_a_mistake_is_named_with_its_value_and_what_to_do(said: dict[str, object], told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        UniqueSpec(**{"time": "ts", "keys": (), "ids": ("id",), "within": TEN, **said})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    [
        UniqueSpec("ts", ("id",), ("id",), TEN),
        UniqueSpec("at", ("k",), ("a", "b"), TEN, Keep.LAST, fl.fixed_distance("5 s"), TimeUnit.SECONDS, TEN),
    ],
    ids=["usual", "all said"],
)
def test_it_is_written_down_and_read_back_exactly(spec: UniqueSpec) -> None:
    document = json.loads(json.dumps(to_document(spec)))
    assert document["is"] == "UniqueSpec"
    assert from_document(document) == spec


def test_what_state_it_may_go_on_from() -> None:
    """What is kept depends on `within` and on which one leaves; how long the watermark waits does not matter."""
    before = UniqueSpec("ts", ("id",), ("id",), TEN, watermark=fl.bounded_disorder("1 s"))
    slower = UniqueSpec("ts", ("id",), ("id",), TEN, watermark=fl.bounded_disorder("9 s"))
    assert declared_otherwise(to_document(before), to_document(slower)) == []
    for other in (
        UniqueSpec("ts", ("id",), ("id",), Duration(20), watermark=fl.bounded_disorder("1 s")),
        UniqueSpec("ts", ("id",), ("id",), TEN, Keep.LAST, fl.bounded_disorder("1 s")),
    ):
        assert len(declared_otherwise(to_document(before), to_document(other))) == 1
