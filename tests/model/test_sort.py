"""A sort as a value: what it refuses, what it reads, and that it is written down and read back."""

from __future__ import annotations

import json

import pytest

import fanlight as fl
from fanlight.model.sort import SortSpec
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.fingerprint import declared_otherwise


def test_it_reads_its_time_its_keys_and_what_orders_ties_each_once() -> None:
    spec = SortSpec("ts", keys=("account", "id"), ties=("id", "n"))
    assert spec.columns == ("ts", "account", "id", "n")
    assert spec.domain is TimeDomain.EVENT


def test_keys_share_rows_out_unless_the_order_is_total() -> None:
    assert SortSpec("ts").in_one_shard
    assert not SortSpec("ts", keys=("k",)).in_one_shard
    assert SortSpec("ts", keys=("k",), total=True).in_one_shard


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"ties": ("id", "id")}, r"sort: the column 'id' is named twice.*Name it once"),
        ({"keys": ("k", "k")}, r"key_by: the column 'k' is named twice.*Name it once"),
        ({"ties": ("id", "ts")}, r"sort: 'ts' is the time.*Leave it out"),
        ({"ties": (7,)}, r"sort: 7 is no column name. Use text, as in sort\('id'\)"),
        ({"ahead": Duration(-1)}, r"stream: `ahead` \(-1 us\) is negative.*from 0 up"),
    ],
)
def test_a_mistake_is_named_with_its_value_and_what_to_do(said: dict[str, object], told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        SortSpec("ts", **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    [
        SortSpec("ts"),
        SortSpec("at", ("k",), ("id", "n"), True, fl.fixed_distance("5 s"), TimeUnit.SECONDS, Duration.of("1 day")),
        SortSpec("at", watermark=fl.several({"a": fl.bounded_disorder("1 s"), "b": fl.stream_time()}), unit=None),
    ],
    ids=["usual", "all said", "several inputs"],
)
def test_it_is_written_down_and_read_back_exactly(spec: SortSpec) -> None:
    document = json.loads(json.dumps(to_document(spec)))
    assert document["is"] == "SortSpec"
    assert from_document(document) == spec


def test_what_state_it_may_go_on_from() -> None:
    """How long the watermark waits and how far ahead a time may be is a matter of records to come; the order is not."""
    before = SortSpec("ts", ties=("id",), watermark=fl.bounded_disorder("1 s"))
    slower = SortSpec("ts", ties=("id",), watermark=fl.bounded_disorder("9 s"), ahead=Duration.of("1 day"))
    assert declared_otherwise(to_document(before), to_document(slower)) == []
    other = SortSpec("ts", ties=("n", "m"), watermark=fl.bounded_disorder("1 s"))
    (change,) = declared_otherwise(to_document(before), to_document(other))
    assert change.told == "ties: id before, n, m now"
