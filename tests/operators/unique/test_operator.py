"""Deduplication on its host, story by story: who leaves, who is counted as a duplicate, and what is forgotten when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from tests.operators.unique.telling import Telling
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.operators.bind import bind
from fanlight.testing.script import Record

FIRST = UniqueSpec("ts", ("id",), ("id",), Duration(10), watermark=fl.Explicit())
LAST = replace(FIRST, keep=Keep.LAST)
S = 1_000_000
SCHEMA = pa.schema({"ts": pa.int64(), "id": pa.string(), "v": pa.int64()})


def at(time: int, name: str | None = "a", value: int = 0) -> Record:
    return {"ts": time, "id": name, "v": value}


def times(rows: list[Record]) -> list[int]:
    return [row["ts"] for row in rows]


class TestFirst:
    def test_the_first_to_come_leaves_at_once_and_those_in_reach_are_duplicates(self) -> None:
        """10 apart is in reach, on both sides; 11 is not."""
        telling = Telling(FIRST, SCHEMA)
        assert telling.add(at(50, value=1), at(60), at(40), at(51, "b")) == [at(50, value=1), at(51, "b")]
        assert times(telling.add(at(61), at(39), at(49))) == [61, 39]
        assert telling.counted == (7, 4, 3, 0)

    def test_a_duplicate_extends_nothing(self) -> None:
        """15 is in reach of 5 and left out; so it is not 15 but 5 that 16 is compared with."""
        assert times(Telling(FIRST, SCHEMA).add(at(5), at(15), at(16))) == [5, 16]

    def test_rows_leave_in_the_order_they_came(self) -> None:
        assert times(Telling(FIRST, SCHEMA).add(at(90), at(7), at(40), at(8))) == [90, 7, 40]

    def test_a_record_is_expired_when_what_it_repeats_may_be_forgotten(self) -> None:
        telling = Telling(FIRST, SCHEMA)
        telling.advance(50)
        assert times(telling.add(at(39), at(40))) == [40]
        assert telling.take_letters() == [(Reason.EXPIRED, at(39))]
        assert telling.counted == (2, 1, 0, 1)

    def test_the_watermark_that_comes_with_a_bundle_does_not_judge_it(self) -> None:
        assert times(Telling(FIRST, SCHEMA).add(at(1), at(99), watermark=90)) == [1, 99]

    def test_record_by_record_each_is_judged_by_its_own_watermark(self) -> None:
        """99 takes the watermark to 99, and 88 + 10 is below it; 89 is just in time."""
        spec = replace(FIRST, watermark=BoundedDisorder(Duration(0), per_record=True))
        telling = Telling(spec, SCHEMA)
        assert times(telling.add(at(88, "b"), at(99), at(88, "c"), at(89, "d"))) == [88, 99, 89]
        assert telling.take_letters() == [(Reason.EXPIRED, at(88, "c"))]

    def test_null_is_an_id_like_any_other(self) -> None:
        telling = Telling(FIRST, SCHEMA)
        telling.add(at(1, None))
        assert telling.add(at(2, None), at(3, "")) == [at(3, "")]

    def test_an_id_is_remembered_as_long_as_a_record_can_be_in_reach_of_it(self) -> None:
        """At the watermark 121 a record of 61 is in time, and in reach of 1. A slice of 15 s goes as a whole."""
        telling = Telling(replace(FIRST, within=Duration.of("1 min")), SCHEMA)
        telling.add(at(1 * S), watermark=121 * S)
        assert telling.add(at(61 * S)) == []
        assert telling.held == 1
        telling.advance(135 * S)
        assert telling.held == 0

    def test_what_would_be_forgotten_at_once_is_never_stored(self) -> None:
        """A year in one bundle: when it has come, the watermark is at its end, and the last two minutes count."""
        store = WatchedStore("unique")
        telling = Telling(replace(FIRST, within=Duration.of("1 min")), SCHEMA, store=store)
        days = range(0, 365 * 86_400 * S, 86_400 * S)
        assert len(telling.add(*map(at, days), watermark=days[-1])) == 365
        assert len(store.written) == 1

    def test_after_the_end_nothing_remains(self) -> None:
        telling = Telling(FIRST, SCHEMA)
        telling.add(at(1), at(10**15))
        assert telling.end() == []
        assert telling.held == 0

    def test_a_snapshot_goes_on_with_the_ids(self) -> None:
        telling = Telling(FIRST, SCHEMA)
        telling.add(at(1))
        assert telling.restore().add(at(2), at(20)) == [at(20)]

    def test_only_slices_in_reach_are_read(self) -> None:
        """Slices are 25 s long: 1,000 s reaches from 900 to 1,100."""
        store = WatchedStore("unique")
        telling = Telling(replace(FIRST, within=Duration.of("100 s")), SCHEMA, store=store)
        telling.add(*(at(time * S, f"{time}") for time in range(0, 2_000, 10)))
        store.forget()
        assert telling.add(at(1_000 * S, "x")) == [at(1_000 * S, "x")]
        assert sorted(set(store.read)) == list(range(900 // 25, 1_100 // 25 + 1))

    def test_many_small_steps_are_compacted(self) -> None:
        telling = Telling(replace(FIRST, within=Duration(10_000)), SCHEMA)
        for number in range(100):
            assert len(telling.add(at(number, f"{number}"))) == 1
        assert len(telling.store.list("unique")) <= 16
        assert telling.add(*(at(100, f"{number}") for number in range(101))) == [at(100, "100")]

    def test_offsets_that_came_before_are_duplicates_too(self) -> None:
        telling = Telling(FIRST, SCHEMA)
        telling.add(at(1), offset=0)
        assert telling.add(at(1), at(2), at(90), offset=0) == [at(90)]
        assert telling.counted == (4, 2, 2, 0)


class TestLast:
    def test_the_last_by_time_leaves_when_its_group_is_complete(self) -> None:
        """The group of 5 has all up to 15; it is complete when the watermark is beyond."""
        telling = Telling(LAST, SCHEMA)
        assert telling.add(at(12, value=1), at(5), at(15, value=2), at(16), watermark=15) == []
        assert telling.counted == (4, 4, 0, 0)
        assert telling.advance(16) == [at(15, value=2)]
        assert telling.counted == (4, 2, 2, 0)
        assert telling.end() == [at(16)]
        assert telling.counted == (4, 2, 2, 0)
        assert telling.held == 0

    def test_of_one_time_the_last_to_come_is_the_last(self) -> None:
        telling = Telling(LAST, SCHEMA)
        telling.add(at(7, value=1), at(9, value=1))
        telling.add(at(9, value=2), at(7, value=2))
        assert telling.end() == [at(9, value=2)]

    def test_a_row_can_come_before_the_first_as_long_as_the_watermark_lets_it(self) -> None:
        """3 makes a group of 3 to 13, so 14 starts another; without it 14 would be of the group of 5."""
        telling = Telling(LAST, SCHEMA)
        telling.add(at(5), at(14))
        telling.add(at(3))
        assert times(telling.end()) == [5, 14]

    def test_a_record_below_the_watermark_is_expired_and_one_at_it_joins_its_group(self) -> None:
        telling = Telling(LAST, SCHEMA)
        telling.add(at(5), watermark=12)
        assert telling.add(at(11), at(12)) == []
        assert telling.take_letters() == [(Reason.EXPIRED, at(11))]
        assert times(telling.end()) == [12]
        assert telling.counted == (3, 1, 1, 1)

    def test_rows_leave_by_time_then_as_they_came_whatever_their_groups(self) -> None:
        telling = Telling(LAST, SCHEMA)
        telling.add(at(4, "c"), at(1, "b"), at(6, "b"), at(6, "a"), at(2, "d"))
        assert telling.end() == [at(2, "d"), at(4, "c"), at(6, "b"), at(6, "a")]

    def test_a_snapshot_goes_on_with_what_waits(self) -> None:
        """1 is in its group, 8 is ahead of the watermark."""
        telling = Telling(LAST, SCHEMA)
        telling.add(at(1), at(8), watermark=5)
        telling = telling.restore()
        assert telling.add(at(9), watermark=12) == [at(9)]
        assert telling.counted == (3, 1, 2, 0)

    def test_a_column_that_gets_its_type_while_rows_wait(self) -> None:
        telling = Telling(LAST)
        telling.add({"ts": 1, "id": 1, "note": None}, watermark=3)
        telling.add({"ts": 5, "id": 2, "note": "found"})
        assert telling.end() == [{"ts": 1, "id": 1, "note": None}, {"ts": 5, "id": 2, "note": "found"}]


@pytest.mark.parametrize("keep", Keep)
def test_ids_are_per_key(keep: Keep) -> None:
    spec = UniqueSpec("ts", ("shop",), ("id",), Duration(10), keep, fl.Explicit())
    telling = Telling(spec)
    rows = [{"ts": time, "shop": shop, "id": 1} for time, shop in ((1, "x"), (2, "y"), (3, "x"))]
    left = [*telling.add(*rows), *telling.end()]
    assert times(left) == ([1, 2] if keep is Keep.FIRST else [2, 3])


@pytest.mark.parametrize("keep", Keep)
def test_encoded_text_and_decimals_are_ids(keep: Keep) -> None:
    schema = pa.schema({"ts": pa.int64(), "id": pa.dictionary(pa.int8(), pa.string()), "d": pa.decimal128(5, 2)})
    telling = Telling(UniqueSpec("ts", ("id",), ("id", "d"), Duration(10), keep, fl.Explicit()), schema)
    batch = pa.record_batch(
        [
            pa.array([1, 2, 3]),
            pa.array(["a", "b", "a"]).dictionary_encode().cast(schema.types[1]),
            pa.nulls(3, schema.types[2]),
        ],
        schema=schema,
    )
    left = [*telling.add_batch(batch), *telling.end()]
    assert times(left) == ([1, 2] if keep is Keep.FIRST else [2, 3])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (pa.list_(pa.int64()), r"unique_by: column 'id' is list.*Name the fields inside it"),
        (pa.struct({"a": pa.int64()}), r"unique_by: column 'id' is struct.*Name the fields inside it"),
    ],
)
def test_an_id_that_cannot_be_compared_is_refused(kind: pa.DataType, told: str) -> None:
    with pytest.raises(fl.InputError, match=told):
        bind(FIRST, pa.schema({"ts": pa.int64(), "id": kind}))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(fl.InputError, match="Column 'id' is not in the input"):
        bind(FIRST, pa.schema({"ts": pa.int64(), "i": pa.int64()}))


def test_equal_hashes_do_not_make_equal_ids() -> None:
    """Values without a hash all have the same: they are told apart by what they are."""
    telling = Telling(FIRST, pa.schema({"ts": pa.int64(), "id": pa.null()}))
    said: list[Any] = [{"ts": 1, "id": None}, {"ts": 30, "id": None}]
    assert times(telling.add(*said)) == [1, 30]
    assert telling.add({"ts": 31, "id": None}) == []
